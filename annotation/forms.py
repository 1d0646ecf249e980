"""Forms of the desk: they read what a page sends and say in words what is missing."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Coherence, ErrorType, Study
from annotation.pilot import NO_PILOT, PilotValues
from annotation.services.drafts import DraftContent
from annotation.services.labels import COMMENT_LENGTH
from annotation.services.queue import HIGHEST
from annotation.services.sharing import MOST_LABELS
from annotation.services.training import MOST_ATTEMPTS

RIGHT, WRONG = "right", "wrong"
NONE, STEP = "none", "step"


class JudgementForm(forms.Form):
    """The two judgements."""

    final = forms.ChoiceField(
        choices=[(RIGHT, "right"), (WRONG, "wrong")],
        error_messages={"required": "Choose whether the final answer is right or wrong."},
    )
    first_error = forms.ChoiceField(
        choices=[(NONE, "none"), (STEP, "step")],
        error_messages={"required": "Choose the first false step, or that there is none."},
    )
    step = forms.IntegerField(required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("first_error") == STEP and values.get("step") is None and "step" not in self.errors:
            self.add_error("step", "Choose which step is the first false one.")
        return values

    @property
    def first_error_step(self) -> int | None:
        """The step, None for no error; of a valid form."""
        return self.cleaned_data["step"] if self.cleaned_data["first_error"] == STEP else None


class LabelForm(JudgementForm):
    """The two judgements, the comment, and what tells a double click from a change."""

    comment = forms.CharField(required=False, max_length=COMMENT_LENGTH)
    revision = forms.IntegerField(min_value=0)
    draft_version = forms.IntegerField(min_value=0, required=False)
    active_seconds = forms.IntegerField(min_value=0, required=False)

    @property
    def pilot(self) -> PilotValues:
        """What the richer form of a pilot study says; nothing here."""
        return NO_PILOT


class PilotForm(LabelForm):
    """The form of a pilot study: coherence and the kind of error beside the two judgements."""

    coherence = forms.ChoiceField(
        choices=Coherence.choices, error_messages={"required": "Choose how coherent the solution is."}
    )
    error_type = forms.ChoiceField(choices=ErrorType.choices, required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        kind = values.get("error_type")
        if values.get("first_error") == STEP and not kind and "error_type" not in self.errors:
            self.add_error("error_type", "Choose the kind of error.")
        if values.get("first_error") == NONE and kind:
            self.add_error(
                "error_type", "A kind of error is chosen, yet no false step: clear one of the two."
            )
        return values

    @property
    def pilot(self) -> PilotValues:
        """What a valid form says."""
        return PilotValues(self.cleaned_data["coherence"], self.cleaned_data["error_type"])


def label_form(study: Study) -> type[LabelForm]:
    """Return the form that a study's annotators fill in."""
    return PilotForm if study.kind == Study.Kind.PILOT else LabelForm


class GateForm(JudgementForm):
    """The two judgements of a solution whose judgement is known, and the attempt they belong to."""

    attempt = forms.IntegerField(min_value=1)


class DraftForm(LabelForm):
    """The same form unfinished: every judgement may be missing."""

    final = forms.ChoiceField(choices=[(RIGHT, "right"), (WRONG, "wrong")], required=False)
    first_error = forms.ChoiceField(choices=[(NONE, "none"), (STEP, "step")], required=False)

    coherence = forms.ChoiceField(choices=Coherence.choices, required=False)
    error_type = forms.ChoiceField(choices=ErrorType.choices, required=False)
    writer = forms.CharField(required=False, max_length=40)
    sequence = forms.IntegerField(min_value=0, required=False)
    after = forms.CharField(required=False, max_length=40)
    started = forms.IntegerField(min_value=0, required=False)

    def clean(self) -> dict[str, Any]:
        return forms.Form.clean(self) or {}

    def content(self) -> DraftContent:
        """Return the draft of a valid form."""
        data = self.cleaned_data
        return DraftContent(
            final_correct={RIGHT: True, WRONG: False}.get(data["final"]),
            first_error=data["first_error"],
            first_error_step=data["step"],
            comment=data["comment"],
            coherence=data["coherence"],
            error_type=data["error_type"],
            active_seconds=data["active_seconds"] or 0,
            based_on=data["revision"],
            writer=data["writer"],
            sequence=data["sequence"] or 0,
            after=data["after"],
            started=data["started"] or 0,
        )


class MarksForm(forms.Form):
    """What the gate asks: the shares of right judgements in percent, and how often one may try."""

    answer_mark = forms.IntegerField(
        min_value=0, max_value=100, label="Right final answers to pass, in percent"
    )
    step_mark = forms.IntegerField(
        min_value=0, max_value=100, label="Right first false steps to pass, in percent"
    )
    attempts = forms.IntegerField(min_value=1, max_value=MOST_ATTEMPTS, label="Attempts for each person")


class QueueForm(forms.Form):
    """The rules of a study's queue."""

    overlap = forms.IntegerField(min_value=1, max_value=MOST_LABELS)
    coverage = forms.ChoiceField(choices=Study.Coverage.choices)
    share = forms.IntegerField(min_value=1, max_value=100)
    sharing = forms.ChoiceField(choices=Study.Sharing.choices)
    show_reference_answer = forms.BooleanField(required=False)


class PriorityForm(forms.Form):
    """Questions, one a line or with commas, and how early their traces are handed out."""

    questions = forms.CharField(
        max_length=100_000, error_messages={"required": "Name the questions, one a line."}
    )
    priority = forms.IntegerField(min_value=0, max_value=HIGHEST)

    def clean_questions(self) -> list[str]:
        names = self.cleaned_data["questions"].replace(",", "\n").split("\n")
        return [name.strip() for name in names if name.strip()]
