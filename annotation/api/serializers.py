"""What the desk's API takes and gives, field by field; nothing here names a generator, an arm or another's label."""

from __future__ import annotations

from rest_framework import serializers

from annotation.models import Coherence, ErrorType, Question, Role, Study
from annotation.services.keys import REASON_LENGTH
from annotation.services.labels import COMMENT_LENGTH, LONGEST_SITTING
from core.api.fields import Input, StrictBoolean, StrictInteger, StrictText


class ProgressSerializer(serializers.Serializer):
    """Counts of traces: the study's (total, complete, labelled) and the person's own."""

    total = serializers.IntegerField(help_text="traces that people label")
    complete = serializers.IntegerField(help_text="with all the labels wanted")
    labelled = serializers.IntegerField(help_text="with at least one label")
    mine = serializers.IntegerField(help_text="labelled by you")
    skipped = serializers.IntegerField(help_text="skipped by you")
    left = serializers.IntegerField(help_text="open to you now")
    held_elsewhere = serializers.IntegerField(help_text="would be open to you if nobody else held them")
    free_at = serializers.DateTimeField(allow_null=True, help_text="when the first of those holds ends")


class StudySerializer(serializers.Serializer):
    """A study and the person's roles in it."""

    slug = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Study.Kind.choices)
    roles = serializers.ListField(child=serializers.ChoiceField(choices=Role.choices))


class StageSerializer(serializers.Serializer):
    """A stage of the study as its page shows it; number is null before it began."""

    key = serializers.CharField()
    title = serializers.CharField()
    number = serializers.IntegerField(allow_null=True)
    note = serializers.CharField()
    done = serializers.BooleanField()
    current = serializers.BooleanField()


class StudyDetailSerializer(StudySerializer):
    """A study with its settings; `progress` for annotators, `stages` for leads and administrators."""

    overlap = serializers.IntegerField(help_text="labels wanted per trace")
    show_reference_answer = serializers.BooleanField()
    progress = ProgressSerializer(allow_null=True)
    stages = StageSerializer(many=True, allow_null=True)


class StepSerializer(serializers.Serializer):
    """A step, numbered from 1: its text as it came; `html` only when asked for."""

    number = serializers.IntegerField()
    text = serializers.CharField()
    html = serializers.CharField(required=False)


class ReferenceAnswerSerializer(serializers.Serializer):
    """The reference answer in force; version 1 is the original."""

    version = serializers.IntegerField()
    text = serializers.CharField()


class LabelSerializer(serializers.Serializer):
    """The person's own label as it stands; `first_error_step` null: no error."""

    revision = serializers.IntegerField()
    final_correct = serializers.BooleanField()
    first_error_step = serializers.IntegerField(allow_null=True)
    comment = serializers.CharField()
    guideline_version = serializers.IntegerField(source="guideline.version", default=None, allow_null=True)
    submitted_at = serializers.DateTimeField(source="created_at")


FIRST_ERROR = [("none", "none"), ("step", "step")]


class DraftSerializer(serializers.Serializer):
    """What the person entered and has not submitted; every judgement may be missing."""

    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()
    final_correct = serializers.BooleanField(allow_null=True)
    first_error = serializers.ChoiceField(choices=FIRST_ERROR, allow_blank=True)
    first_error_step = serializers.IntegerField(allow_null=True)
    comment = serializers.CharField()
    coherence = serializers.CharField()
    error_type = serializers.CharField()
    active_seconds = serializers.IntegerField()
    based_on = serializers.IntegerField(help_text="the revision of the label it began from, 0: none")


class KeyReportSerializer(serializers.Serializer):
    """The person's own word that the reference answer looks wrong."""

    reference_version = serializers.IntegerField()
    reason = serializers.CharField()
    reported_at = serializers.DateTimeField(source="created_at")


class TraceSerializer(serializers.Serializer):
    """A trace to be labelled, under the letter by which this person knows it."""

    token = serializers.CharField()
    letter = serializers.CharField()
    subject = serializers.CharField()
    question = serializers.CharField()
    question_html = serializers.CharField(required=False)
    reference_answer = ReferenceAnswerSerializer(allow_null=True)
    preamble = serializers.CharField(help_text="what stands before step 1")
    n_steps = serializers.IntegerField(allow_null=True)
    steps = StepSerializer(many=True)
    guideline_version = serializers.IntegerField()
    revision = serializers.IntegerField(help_text="of your label, 0: none; send it with the next label")
    label = LabelSerializer(allow_null=True)
    draft = DraftSerializer(allow_null=True)
    key_report = KeyReportSerializer(allow_null=True)


class ClaimSerializer(serializers.Serializer):
    """The claimed trace, null when none is open to the person: `progress` says why."""

    trace = TraceSerializer(allow_null=True)
    progress = ProgressSerializer()


class OwnTraceSerializer(serializers.Serializer):
    """One line of the person's own list."""

    token = serializers.CharField()
    letter = serializers.CharField()
    title = serializers.CharField()
    subject = serializers.CharField()
    n_steps = serializers.IntegerField(allow_null=True)
    at = serializers.DateTimeField()


class OwnLabelSerializer(OwnTraceSerializer):
    """One line of the person's own labels."""

    label = LabelSerializer()


class GuidelineSerializer(serializers.Serializer):
    """The guideline in force, as Markdown."""

    version = serializers.IntegerField()
    text = serializers.CharField()
    published_at = serializers.DateTimeField(allow_null=True)


class SkipSerializer(serializers.Serializer):
    """A trace given back, with the reason."""

    reason = serializers.CharField()
    skipped_at = serializers.DateTimeField(source="created_at")


class QuestionSerializer(serializers.Serializer):
    """A question with its key in force; how its solutions were judged is not told."""

    question_id = serializers.CharField(source="external_id")
    statement = serializers.CharField()
    subject = serializers.CharField()
    status = serializers.ChoiceField(choices=Question.Status.choices)
    exclusion_reason = serializers.CharField()
    reference_answer = serializers.CharField(source="answer", allow_null=True)
    reference_version = serializers.IntegerField(source="answer_version", allow_null=True)
    traces = serializers.IntegerField(source="trace_count")
    key_reports = serializers.IntegerField(
        source="report_count",
        allow_null=True,
        help_text="null to a lead until the question's traces are settled",
    )


class ReportedKeySerializer(KeyReportSerializer):
    """A report that a question's reference answer looks wrong; who reported is not told."""

    question_id = serializers.CharField(source="question.external_id")


class TraceQuery(Input):
    """Options of reading a trace."""

    rendered = serializers.BooleanField(
        default=False, help_text="add the question and each step as safe HTML"
    )


class LabelInput(Input):
    """Two judgements; `first_error_step` must be there, null for no error."""

    final_correct = StrictBoolean()
    first_error_step = StrictInteger(min_value=1, allow_null=True)
    comment = StrictText(allow_blank=True, default="", max_length=COMMENT_LENGTH, trim_whitespace=False)
    expected_revision = StrictInteger(
        default=0, help_text="the revision you had before you; 409 if another one stands"
    )
    active_seconds = StrictInteger(allow_null=True, default=None, max_value=LONGEST_SITTING)
    coherence = serializers.ChoiceField(
        choices=Coherence.choices, allow_blank=True, default="", help_text="in a pilot study only"
    )
    error_type = serializers.ChoiceField(
        choices=ErrorType.choices,
        allow_blank=True,
        default="",
        help_text="in a pilot study, with a false step",
    )


class DraftInput(Input):
    """A form as it stands, every judgement may be missing."""

    final_correct = StrictBoolean(allow_null=True, default=None)
    first_error = serializers.ChoiceField(choices=FIRST_ERROR, allow_blank=True, default="")
    first_error_step = StrictInteger(min_value=1, allow_null=True, default=None)
    comment = StrictText(allow_blank=True, default="", max_length=COMMENT_LENGTH, trim_whitespace=False)
    coherence = serializers.ChoiceField(choices=Coherence.choices, allow_blank=True, default="")
    error_type = serializers.ChoiceField(choices=ErrorType.choices, allow_blank=True, default="")
    active_seconds = StrictInteger(default=0, max_value=LONGEST_SITTING)
    based_on = StrictInteger(default=0, help_text="the revision of the label that it began from")
    expected_version = StrictInteger(default=0, help_text="the version saved or loaded before, 0: none")


class KeyReportInput(Input):
    """What is wrong with the reference answer."""

    reason = StrictText(max_length=REASON_LENGTH)


class SkipInput(Input):
    """Why the trace is given back."""

    reason = StrictText(max_length=500)
