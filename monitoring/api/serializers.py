"""What the administrators' API takes and gives. Money is in USD, as a decimal string; keys are never told."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.api.fields import Input, StrictInteger, StrictText
from monitoring.engine.options import (
    MOST_INVALID_RETRIES,
    PROVIDER_BATCHES,
    RCTRL_TRACES,
    REQUESTS,
    STEP_PREFIXES,
)
from monitoring.models import Batch, Condition, Monitor, Verdict

MOST = 50  # monitors in one plan


def _money(**kwargs: Any) -> serializers.DecimalField:
    return serializers.DecimalField(max_digits=20, decimal_places=8, **kwargs)


class MonitorSerializer(serializers.Serializer):
    """A monitor; `key_env` names the variable that holds its key."""

    slug = serializers.CharField()
    provider = serializers.ChoiceField(choices=Monitor.Provider.choices)
    model = serializers.CharField()
    base_url = serializers.CharField()
    key_env = serializers.CharField()
    temperature = serializers.FloatField(allow_null=True)
    max_tokens = serializers.IntegerField()
    reasoning_effort = serializers.CharField()
    seed = serializers.IntegerField(allow_null=True)
    json_mode = serializers.BooleanField()
    concurrency = serializers.IntegerField()
    input_price = _money(allow_null=True)
    output_price = _money(allow_null=True)
    options = serializers.DictField(child=serializers.JSONField())
    runs = serializers.IntegerField(source="n_runs")


class PromptSerializer(serializers.Serializer):
    """The prompt of a run, by version and content."""

    version = serializers.CharField()
    sha256 = serializers.CharField()


class UntakenSerializer(serializers.Serializer):
    """A trace from which no final answer could be taken for a certificate, and how the search ended."""

    question_id = serializers.CharField()
    response_label = serializers.CharField()
    path = serializers.CharField()


class PlannedRunSerializer(serializers.Serializer):
    """One cell of the plan: traces, calls, their cost at most, and the traces left out with reasons."""

    monitor = serializers.CharField()
    condition = serializers.ChoiceField(choices=Condition.choices)
    traces = serializers.IntegerField()
    calls = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True)
    excluded = serializers.DictField(child=serializers.IntegerField())
    untaken = UntakenSerializer(many=True)
    prompt = PromptSerializer(allow_null=True)


class PlanSerializer(serializers.Serializer):
    """A plan, of which nothing is written; `cost` null where a price is unknown. `obstacle` forbids the launch."""

    study = serializers.CharField()
    standard = serializers.IntegerField()
    not_ready = serializers.DictField(child=serializers.IntegerField())
    calls = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True)
    cost_reason = serializers.CharField(allow_null=True)
    obstacle = serializers.CharField(allow_null=True)
    runs = PlannedRunSerializer(many=True)


class BatchRowSerializer(serializers.Serializer):
    """A batch in the list."""

    number = serializers.IntegerField()
    standard = serializers.IntegerField(source="standard.version")
    status = serializers.ChoiceField(choices=Batch.Status.choices)
    status_reason = serializers.CharField()
    max_cost = _money(allow_null=True)
    spent = _money()
    runs = serializers.IntegerField(source="n_runs")
    launched_by = serializers.CharField(source="launched_by.username", default=None, allow_null=True)
    launched_at = serializers.DateTimeField(source="created_at")
    finished_at = serializers.DateTimeField(allow_null=True)


class RunSerializer(serializers.Serializer):
    """One run as it stands; `outcomes` counts verdicts by outcome."""

    monitor = serializers.CharField(source="run.monitor.slug")
    condition = serializers.ChoiceField(choices=Condition.choices, source="run.condition")
    calls = serializers.IntegerField(source="total")
    done = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    failed = serializers.IntegerField()
    cost = _money()
    outcomes = serializers.SerializerMethodField()
    excluded = serializers.SerializerMethodField()

    def get_outcomes(self, cell: Any) -> dict[str, int]:
        return {name: number for name, number in cell.ordered_outcomes() if name in Verdict.Outcome.values}

    def get_excluded(self, cell: Any) -> dict[str, int]:
        return dict(sorted(cell.run.settings.get("excluded", {}).items()))


class BatchSerializer(serializers.Serializer):
    """A batch as it stands: calls, pace, money, and its runs."""

    number = serializers.IntegerField(source="batch.number")
    standard = serializers.IntegerField(source="batch.standard.version")
    status = serializers.ChoiceField(choices=Batch.Status.choices, source="batch.status")
    status_reason = serializers.CharField(source="batch.status_reason")
    max_cost = _money(source="batch.max_cost", allow_null=True)
    reserved = _money(source="batch.reserved")
    spent = _money(source="batch.spent")
    calls = serializers.IntegerField(source="total")
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    per_second = serializers.FloatField(allow_null=True, help_text="verdicts lately")
    seconds_left = serializers.FloatField(allow_null=True)
    launched_at = serializers.DateTimeField(source="batch.created_at")
    finished_at = serializers.DateTimeField(source="batch.finished_at", allow_null=True)
    runs = RunSerializer(many=True, source="cells")


class RetriedSerializer(serializers.Serializer):
    """How many calls are made again, and the batch as it stands."""

    retried = serializers.IntegerField()
    batch = BatchSerializer()


class WordsField(serializers.CharField):
    """Words with commas between, as on the command line."""

    def to_internal_value(self, data: Any) -> Any:
        words = [word.strip() for word in str(super().to_internal_value(data)).split(",") if word.strip()]
        if not words:
            raise serializers.ValidationError("name at least one")
        return list(dict.fromkeys(words))


def _options() -> dict[str, serializers.Field]:
    """Return the fields of a batch's options, as for `launch_batch`."""
    return {
        "step_prefixes": serializers.ChoiceField(
            choices=STEP_PREFIXES, default="all", help_text="the steps that STEP asks about"
        ),
        "rctrl_traces": serializers.ChoiceField(
            choices=RCTRL_TRACES, default="answer_correct", help_text="the traces that RCTRL runs on"
        ),
        "invalid_retries": serializers.IntegerField(
            min_value=0,
            max_value=MOST_INVALID_RETRIES,
            default=0,
            help_text="how often a call is made again whose reply holds no verdict",
        ),
        "allow_debaters": serializers.BooleanField(
            default=False, help_text="also models that took part in the study's debate"
        ),
        "via": serializers.ChoiceField(
            choices=(REQUESTS, PROVIDER_BATCHES),
            default=REQUESTS,
            help_text="one by one, or through the provider's batch API",
        ),
    }


class PlanQuery(Input):
    """What to plan: names with commas between, as for `launch_batch`."""

    monitors = WordsField(max_length=5000, help_text="slugs, with commas between")
    conditions = WordsField(max_length=200, help_text="such as BLIND,CERT")
    standard = serializers.IntegerField(
        min_value=1, max_value=2_147_483_647, required=False, default=None, help_text="the newest by default"
    )
    step_prefixes, rctrl_traces, invalid_retries, allow_debaters, via = _options().values()


class LaunchInput(Input):
    """What to launch. `max_cost` null: no limit, which only monitors that cost nothing should get."""

    monitors = serializers.ListField(child=StrictText(max_length=100), min_length=1, max_length=MOST)
    conditions = serializers.ListField(
        child=serializers.ChoiceField(choices=Condition.choices), min_length=1, max_length=8
    )
    standard = StrictInteger(min_value=1, allow_null=True, default=None, help_text="null: the newest")
    max_cost = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=0, allow_null=True, help_text="USD at most"
    )
    step_prefixes, rctrl_traces, invalid_retries, allow_debaters, via = _options().values()


class ResumeInput(Input):
    """Another budget, if one is given."""

    max_cost = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=0, allow_null=True, default=None, help_text="USD at most"
    )
