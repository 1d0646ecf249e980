"""What people enter on the pages of verification."""

from __future__ import annotations

import json
import re
from typing import Any

from django import forms

from verification.comparators import BadComparator
from verification.comparators.sentences import Rule, builtin_rules, read_rule
from verification.models import ExpertRuling, Status

WHY = {"required": "Say why, in a sentence."}


class ReasonForm(forms.Form):
    """A reason."""

    reason = forms.CharField(max_length=5_000, error_messages=WHY)


class RulingForm(forms.Form):
    """What an expert says of an item."""

    outcome = forms.ChoiceField(
        choices=ExpertRuling.Outcome.choices, error_messages={"required": "Choose one of the three."}
    )
    step = forms.IntegerField(required=False, min_value=1)
    reason = forms.CharField(max_length=5_000, error_messages=WHY)


class MappingForm(forms.Form):
    """Which steps discharge an obligation, and how it stands."""

    obligation = forms.CharField(max_length=60)
    steps = forms.CharField(required=False, max_length=500)
    status = forms.ChoiceField(choices=Status.choices)
    reason = forms.CharField(required=False, max_length=5_000)

    def clean_steps(self) -> list[int]:
        """Read "1, 3-5" as steps."""
        text = str(self.cleaned_data["steps"])
        steps: list[int] = []
        for part in filter(None, re.split(r"[,\s]+", text)):
            match = re.fullmatch(r"(\d{1,4})(?:[-–](\d{1,4}))?", part)
            if match is None:
                raise forms.ValidationError(f"“{part}” is no step; write 1, 3-5")
            first, last = int(match.group(1)), int(match.group(2) or match.group(1))
            if last < first or last - first > 500:
                raise forms.ValidationError(f"“{part}” is no range of steps")
            steps += range(first, last + 1)
        return steps


class AuditForm(forms.Form):
    """An audit of one subject of the study's own keys."""

    title = forms.CharField(max_length=200, error_messages={"required": "Give the audit a title."})
    domain = forms.CharField(max_length=200, error_messages={"required": "Choose a subject."})
    rule = forms.CharField(required=False, max_length=60)
    rule_text = forms.CharField(required=False, max_length=100_000)

    def clean(self) -> dict[str, Any]:
        """Read the rule: a built-in one, or the text of one."""
        data = super().clean() or self.cleaned_data
        data["rule_made"] = self._rule(data)
        return data

    def _rule(self, data: dict[str, Any]) -> Rule | None:
        text = (data.get("rule_text") or "").strip()
        try:
            if text:
                return read_rule(json.loads(text))
            if data.get("rule") in builtin_rules():
                return read_rule(data["rule"])
        except BadComparator as error:
            self.add_error("rule_text", str(error))
        except (ValueError, RecursionError):
            self.add_error("rule_text", "This is not JSON.")
        else:
            self.add_error("rule", "Choose a rule, or write one.")
        return None


class DecisionForm(forms.Form):
    """Accepting or rejecting an audit."""

    decision = forms.ChoiceField(
        choices=[("accept", "accept"), ("reject", "reject")],
        error_messages={"required": "Accept it or reject it."},
    )
    reason = forms.CharField(max_length=5_000, error_messages=WHY)


class KeyReportForm(forms.Form):
    """A key that an audit finds wrong."""

    item = forms.CharField(max_length=200)
    reason = forms.CharField(max_length=5_000, error_messages=WHY)
