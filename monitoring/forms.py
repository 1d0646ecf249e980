"""What an administrator enters: a monitor, the plan of a batch, a budget."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

from adjudication.models import ReferenceStandard
from annotation.models import Study
from monitoring import offline
from monitoring.engine.options import MOST_INVALID_RETRIES, PROVIDER_BATCHES, REQUESTS, BatchOptions
from monitoring.models import Condition, Monitor
from monitoring.report.series_more import SHOWN
from monitoring.services import MonitorSettings


def budget_field(*, required: bool = False, **options: Any) -> forms.DecimalField:
    """Return a field for a budget in USD, which may stay empty unless it is required."""
    return forms.DecimalField(
        required=required,
        min_value=Decimal("0.000001"),
        max_digits=12,
        decimal_places=6,
        error_messages={"min_value": "A budget is more than 0 USD."},
        **options,
    )


class MonitorForm(forms.Form):
    """A model behind one of the protocols; the service checks what the settings mean."""

    slug = forms.CharField(label="Name", max_length=100)
    provider = forms.ChoiceField(
        label="Protocol",
        required=False,
        choices=[(provider.value, provider.label) for provider in Monitor.ONLINE],
        initial=Monitor.Provider.OPENAI_COMPATIBLE.value,
    )
    model = forms.CharField(label="Model", max_length=200)
    base_url = forms.CharField(label="Base URL", max_length=300, required=False)
    key_env = forms.CharField(label="Variable with the key", max_length=100, required=False)
    input_price = forms.DecimalField(
        label="Input price", required=False, min_value=0, max_digits=12, decimal_places=6
    )
    output_price = forms.DecimalField(
        label="Output price", required=False, min_value=0, max_digits=12, decimal_places=6
    )
    max_tokens = forms.IntegerField(label="Longest reply", min_value=1, max_value=1_000_000, initial=4000)
    temperature = forms.FloatField(label="Temperature", required=False, min_value=0, max_value=2, initial=0)
    reasoning_effort = forms.CharField(label="Reasoning effort", max_length=20, required=False)
    seed = forms.IntegerField(label="Seed", required=False, min_value=-(2**63), max_value=2**63 - 1)
    concurrency = forms.IntegerField(label="Requests in flight", min_value=1, max_value=10_000, initial=16)
    json_mode = forms.BooleanField(label="Ask the provider for a JSON object", required=False)

    hints = {
        "slug": "letters, digits, dot, dash and underscore; reports use it",
        "model": "its name at the provider",
        "base_url": "such as https://host/v1; Anthropic and Google: empty for their own",
        "key_env": "its name in the environment of the workers, never the key itself",
        "input_price": "USD per million tokens; without prices it cannot be launched",
        "output_price": "USD per million tokens",
        "max_tokens": "tokens",
        "temperature": "empty: not sent",
        "concurrency": "over all workers",
    }

    def clean_provider(self) -> str:
        """Return the protocol, by default that of most endpoints."""
        return self.cleaned_data["provider"] or Monitor.Provider.OPENAI_COMPATIBLE.value

    def settings(self) -> MonitorSettings:
        """Return the settings of a valid form."""
        return MonitorSettings(**self.cleaned_data)


class BatchForm(forms.Form):
    """Which monitors run under which conditions, on which standard, for how much at most."""

    monitors = forms.MultipleChoiceField(error_messages={"required": "Choose at least one monitor."})
    conditions = forms.MultipleChoiceField(
        choices=[(condition.value, f"{condition.value}: {SHOWN[condition]}") for condition in Condition],
        error_messages={"required": "Choose at least one condition."},
    )
    standard = forms.TypedChoiceField(coerce=int)
    step_prefixes = forms.ChoiceField(
        label="STEP asks about",
        required=False,
        choices=[("all", "every step"), ("first_flag", "one step after another, to the first flag")],
    )
    rctrl_traces = forms.ChoiceField(
        label="RCTRL runs on",
        required=False,
        choices=[("answer_correct", "traces whose final answer is right"), ("all", "all traces")],
    )
    invalid_retries = forms.IntegerField(
        label="Tries after a reply without a verdict",
        required=False,
        min_value=0,
        max_value=MOST_INVALID_RETRIES,
        initial=0,
    )
    allow_debaters = forms.BooleanField(
        label="Also models that took part in this study's debate; their runs are marked", required=False
    )
    via = forms.ChoiceField(
        label="Calls go out",
        required=False,
        choices=[
            (REQUESTS, "one by one"),
            (PROVIDER_BATCHES, "through the provider's batch API, within a day"),
        ],
    )
    max_cost = budget_field()

    def options(self) -> BatchOptions:
        """Return the options of a valid form; what was left empty is as usual."""
        names = ("step_prefixes", "rctrl_traces", "invalid_retries", "allow_debaters", "via")
        return BatchOptions(
            **{name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)}
        )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runnable = Monitor.objects.filter(study=study).exclude(provider=Monitor.Provider.RELEASED)
        slugs = list(dict.fromkeys([*runnable.order_by("slug").values_list("slug", flat=True)]))
        slugs += [slug for slug in offline.BUILT_IN if slug not in slugs]
        versions = ReferenceStandard.objects.filter(study=study).order_by("-version")
        choices = [(version, f"standard {version}") for version in versions.values_list("version", flat=True)]
        monitors, standard = self.fields["monitors"], self.fields["standard"]
        assert isinstance(monitors, forms.MultipleChoiceField) and isinstance(standard, forms.ChoiceField)
        monitors.choices = [(slug, slug) for slug in slugs]
        standard.choices = choices
        self.has_standard = bool(choices)


class BudgetForm(forms.Form):
    """Another budget for a batch that goes on; empty keeps the one it has."""

    max_cost = budget_field()
