"""What the lead's API takes and gives: values and marks, never who, which arm or which model said them."""

from __future__ import annotations

from rest_framework import serializers

from adjudication.models import Decision, Dispute
from adjudication.queries import IN_STATE, KINDS
from annotation.api.serializers import ReferenceAnswerSerializer, StepSerializer
from core.api.fields import LARGEST, Input, StrictBoolean, StrictInteger, StrictText

STATES = list(IN_STATE)
RULINGS = [choice for choice in Decision.Choice.values if choice != Decision.Choice.UNDO]


class JudgementSerializer(serializers.Serializer):
    """Two judgements and a defensible range; `first_error_step` null: no error."""

    final_correct = serializers.BooleanField(allow_null=True)
    first_error_step = serializers.IntegerField(allow_null=True)
    first_error_step_min = serializers.IntegerField(allow_null=True)
    first_error_step_max = serializers.IntegerField(allow_null=True)


class ProposalSerializer(JudgementSerializer):
    """A distinct judgement under its mark, in masked order."""

    mark = serializers.CharField()


class ConsultedSerializer(serializers.Serializer):
    """A model or person that the lead asked."""

    who = serializers.CharField()
    why = serializers.CharField()


class DecisionSerializer(JudgementSerializer):
    """A ruling as it stands."""

    revision = serializers.IntegerField()
    choice = serializers.ChoiceField(choices=Decision.Choice.choices)
    chosen_mark = serializers.CharField()
    rationale = serializers.CharField()
    corrected_answer = ReferenceAnswerSerializer(allow_null=True)
    consulted = ConsultedSerializer(many=True, source="consultations")
    decided_by = serializers.CharField(source="decided_by.username")
    decided_at = serializers.DateTimeField(source="created_at")


class RulingSerializer(JudgementSerializer):
    """A ruling in the list."""

    choice = serializers.ChoiceField(choices=Decision.Choice.choices)
    decided_by = serializers.CharField(source="decided_by.username")


class DisputeRowSerializer(serializers.Serializer):
    """A dispute in the list; the order is that of random tokens."""

    token = serializers.CharField()
    state = serializers.ChoiceField(choices=Dispute.Status.choices, source="status")
    awaits_labels = serializers.BooleanField(help_text="labels are still expected: it cannot be decided yet")
    kinds = serializers.ListField(child=serializers.ChoiceField(choices=KINDS))
    question_id = serializers.CharField(source="trace.question.external_id")
    subject = serializers.CharField(source="trace.question.subject")
    ruling = RulingSerializer(allow_null=True)


class DisputeSerializer(serializers.Serializer):
    """One dispute, masked. Send `seen` and `revision` back with the ruling."""

    token = serializers.CharField()
    state = serializers.ChoiceField(choices=Dispute.Status.choices)
    awaits_labels = serializers.BooleanField(help_text="labels are still expected: it cannot be decided yet")
    kinds = serializers.ListField(child=serializers.ChoiceField(choices=KINDS))
    letter = serializers.CharField(help_text="by which you know the solution")
    question_id = serializers.CharField()
    subject = serializers.CharField()
    question = serializers.CharField()
    rationale = serializers.CharField(help_text="that came with the question")
    reference_answer = ReferenceAnswerSerializer(allow_null=True)
    preamble = serializers.CharField()
    n_steps = serializers.IntegerField(allow_null=True)
    steps = StepSerializer(many=True)
    proposals = ProposalSerializer(many=True)
    seen = serializers.CharField(help_text="the fingerprint of the proposals")
    revision = serializers.IntegerField(help_text="rulings so far, those taken back included")
    decision = DecisionSerializer(allow_null=True)
    frozen_in = serializers.IntegerField(allow_null=True, help_text="the first standard that rests on it")
    next = serializers.CharField(allow_null=True, help_text="the token of the next open dispute")


class RecomputedSerializer(serializers.Serializer):
    """What comparing the labels again did."""

    opened = serializers.IntegerField()
    withdrawn = serializers.IntegerField()
    open = serializers.IntegerField(source="standing_open")


class StandardSerializer(serializers.Serializer):
    """A version of the reference standard."""

    version = serializers.IntegerField()
    sha256 = serializers.CharField()
    parent = serializers.IntegerField(source="parent.version", default=None, allow_null=True)
    note = serializers.CharField()
    guideline_version = serializers.IntegerField(source="guideline.version", default=None, allow_null=True)
    frozen_by = serializers.CharField(source="frozen_by.username", default=None, allow_null=True)
    frozen_at = serializers.DateTimeField(source="created_at")


class NotReadySerializer(serializers.Serializer):
    """Traces of a standard that are not scored, and why."""

    status = serializers.CharField()
    reason = serializers.CharField()
    traces = serializers.IntegerField()


class CardSerializer(serializers.Serializer):
    """A standard's numbers, in traces."""

    traces = serializers.IntegerField()
    ready = serializers.IntegerField()
    questions = serializers.IntegerField()
    cells = serializers.DictField(child=serializers.IntegerField())
    provenance = serializers.DictField(child=serializers.IntegerField())
    not_ready = NotReadySerializer(many=True)
    second_look = serializers.IntegerField()


class StandardCardSerializer(StandardSerializer):
    """A standard with its card."""

    card = CardSerializer()


class ConditionSerializer(serializers.Serializer):
    """What a freeze would find now."""

    name = serializers.CharField()
    count = serializers.IntegerField()
    blocks = serializers.BooleanField()
    text = serializers.CharField()


class ConditionsSerializer(serializers.Serializer):
    """What a freeze would find now: first what stands in the way."""

    blocked = serializers.BooleanField()
    conditions = ConditionSerializer(many=True)


class FrozenSerializer(serializers.Serializer):
    """The standard that holds the content; `created` is false when a version said exactly this already."""

    created = serializers.BooleanField()
    standard = StandardSerializer()


class ChangeSerializer(serializers.Serializer):
    """One field of one solution's label in two versions, in words."""

    question_id = serializers.CharField()
    letter = serializers.CharField()
    field = serializers.CharField(source="name")
    before = serializers.CharField()
    after = serializers.CharField()


class DisputesQuery(Input):
    """Which disputes to list."""

    state = serializers.ChoiceField(choices=STATES, default=STATES[0])
    kind = serializers.ChoiceField(choices=KINDS, default=None, allow_null=True)


class ConsultedInput(Input):
    """A model or person that was asked, and why."""

    who = StrictText(max_length=100)
    why = StrictText(max_length=500, allow_blank=True, default="")


class KeyCorrectionInput(Input):
    """A better reference answer, and what is wrong with the old one."""

    text = StrictText(max_length=20_000)
    reason = StrictText(max_length=5_000)


def _step() -> StrictInteger:
    return StrictInteger(min_value=1, max_value=LARGEST, allow_null=True, default=None)


class RulingInput(Input):
    """A ruling: `proposal` with its mark; `both` and `other` with values; `unusable` with the reason."""

    choice = serializers.ChoiceField(choices=RULINGS)
    mark = StrictText(max_length=2, allow_blank=True, default="")
    final_correct = StrictBoolean(allow_null=True, default=None)
    first_error_step = _step()
    first_error_step_min = _step()
    first_error_step_max = _step()
    exclusion = StrictText(max_length=500, allow_blank=True, default="")
    rationale = StrictText(max_length=20_000)
    consulted = ConsultedInput(many=True, default=list)
    key_correction = KeyCorrectionInput(allow_null=True, default=None)
    expected_revision = StrictInteger(help_text="`revision` of the dispute as you read it")
    seen = StrictText(max_length=64, help_text="`seen` of the dispute as you read it")


class UndoInput(Input):
    """Taking a ruling back."""

    expected_revision = StrictInteger()
    rationale = StrictText(max_length=20_000, allow_blank=True, default="")


class FreezeInput(Input):
    """Freezing the next version."""

    note = StrictText(max_length=2000, allow_blank=True, default="")
    allow_open = StrictBoolean(default=False, help_text="leave open disputes in it as unresolved")
