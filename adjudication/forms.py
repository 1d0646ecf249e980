"""What the lead enters: a ruling on a dispute, the words that go with it, and a freeze."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from adjudication.masking import Proposal
from adjudication.models import CriticalRole, Decision, Guess, Rules
from adjudication.services.decisions import Consulted, KeyCorrection
from adjudication.services.rules import LARGEST_SEED
from adjudication.services.rulings import InvalidDecision

CONSULTED_ROWS = 3
RIGHT_OR_WRONG = [("right", "right"), ("wrong", "wrong")]


class RulingForm(forms.Form):
    """A ruling: a proposal by its mark, a range, another step, no error, or an unusable question."""

    ruling = forms.CharField(error_messages={"required": "Choose a ruling."})
    final_correct = forms.ChoiceField(choices=RIGHT_OR_WRONG, required=False)
    first_error_step = forms.IntegerField(required=False)
    first_error_step_min = forms.IntegerField(required=False)
    first_error_step_max = forms.IntegerField(required=False)
    other_step = forms.IntegerField(required=False)
    exclusion = forms.CharField(required=False, max_length=500)
    rationale = forms.CharField(
        error_messages={"required": "Say in a sentence why: the rationale is kept with the decision."}
    )
    corrected_answer = forms.CharField(required=False)
    correction_reason = forms.CharField(required=False)
    expected_revision = forms.IntegerField(widget=forms.HiddenInput)
    seen = forms.CharField(widget=forms.HiddenInput)

    FIELD_OF_SERVICE = {"choice": "ruling", "consulted": None}

    def __init__(self, *args: Any, shown: Sequence[Proposal] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shown = shown
        for number in range(1, CONSULTED_ROWS + 1):
            self.fields[f"consulted_who_{number}"] = forms.CharField(required=False, max_length=100)
            self.fields[f"consulted_why_{number}"] = forms.CharField(required=False, max_length=500)

    @property
    def consulted_rows(self) -> list[tuple[int, forms.BoundField, forms.BoundField]]:
        """Return (number, who, why) of each row."""
        return [
            (number, self[f"consulted_who_{number}"], self[f"consulted_why_{number}"])
            for number in range(1, CONSULTED_ROWS + 1)
        ]

    @property
    def has_key_words(self) -> bool:
        """Whether the fold about the key must stand open."""
        return bool(self["corrected_answer"].value() or self["correction_reason"].value())

    @property
    def has_consulted_words(self) -> bool:
        """Whether the fold about who was asked must stand open."""
        return any(who.value() or why.value() for _, who, why in self.consulted_rows)

    def decision(self) -> dict[str, Any]:
        """Return the keyword arguments of services.decide from the cleaned data."""
        data = self.cleaned_data
        ruling = data["ruling"]
        right = {"right": True, "wrong": False}.get(data["final_correct"])
        values: dict[str, Any]
        if ruling == "both":
            steps = ("first_error_step", "first_error_step_min", "first_error_step_max")
            values = {"choice": Decision.Choice.BOTH, "final_correct": right} | {
                name: data[name] for name in steps
            }
        elif ruling == "other":
            if data["other_step"] is None:
                raise InvalidDecision("Name the step, or choose “no error”.", field="other_step")
            values = {
                "choice": Decision.Choice.OTHER,
                "final_correct": right,
                "first_error_step": data["other_step"],
            }
        elif ruling == "none":
            values = {"choice": Decision.Choice.OTHER, "final_correct": right}
        elif ruling == "unusable":
            values = {"choice": Decision.Choice.UNUSABLE, "exclusion": data["exclusion"]}
        else:
            values = {"choice": Decision.Choice.PROPOSAL, "mark": ruling}
        return values | {
            "rationale": data["rationale"],
            "consulted": self._consulted(),
            "key_correction": self._key_correction(),
            "expected_revision": data["expected_revision"],
            "seen": data["seen"],
        }

    def refuse(self, error: InvalidDecision) -> None:
        """Show a service's refusal beside the field that it is about."""
        field = self.FIELD_OF_SERVICE.get(error.field, error.field)
        if self.data.get("ruling") == "other" and field == "first_error_step":
            field = "other_step"
        self.add_error(field if field in self.fields else None, str(error))

    def _consulted(self) -> list[Consulted]:
        rows = [
            (self.cleaned_data[f"consulted_who_{number}"], self.cleaned_data[f"consulted_why_{number}"])
            for number in range(1, CONSULTED_ROWS + 1)
        ]
        return [Consulted(who, why) for who, why in rows if who or why]

    def _key_correction(self) -> KeyCorrection | None:
        text, reason = (self.cleaned_data[name] for name in ("corrected_answer", "correction_reason"))
        return KeyCorrection(text, reason) if text or reason else None


class UndoForm(forms.Form):
    """Taking a ruling back."""

    expected_revision = forms.IntegerField(widget=forms.HiddenInput)
    rationale = forms.CharField(required=False)


class GapForm(forms.Form):
    """Stating that expected labels will not come."""

    reason = forms.CharField(max_length=500, error_messages={"required": "Say why the labels will not come."})


class GuessForm(forms.Form):
    """What a lead takes proposal A for, before the sources are shown."""

    guess = forms.ChoiceField(choices=[*Guess.Source.choices, ("", "rather not")], required=False)


class RulesForm(forms.Form):
    """A study's rules of adjudication."""

    one_arm = forms.ChoiceField(choices=Rules.OneArm.choices)
    sample_percent = forms.IntegerField(min_value=1, max_value=100)
    sample_seed = forms.IntegerField(min_value=0, max_value=LARGEST_SEED)
    debate_expected = forms.ChoiceField(choices=Rules.Expected.choices)
    arguments_open = forms.BooleanField(required=False)
    own_labels = forms.BooleanField(required=False)


class RoleForm(forms.Form):
    """What a critical trace's error has to do with its conclusion."""

    kind = forms.ChoiceField(
        choices=CriticalRole.Kind.choices, error_messages={"required": "Choose one of the four."}
    )
    expected_revision = forms.IntegerField(widget=forms.HiddenInput)


class FreezeForm(forms.Form):
    """Freezing a standard."""

    note = forms.CharField(required=False, max_length=2000)
    allow_open = forms.BooleanField(required=False)
