"""What is entered to ask for concerns."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Study
from monitoring.concerns.queries import askable
from monitoring.forms import budget_field


class ConcernsForm(forms.Form):
    """Which models to ask about every solution, for how much at most."""

    monitors = forms.MultipleChoiceField(error_messages={"required": "Choose at least one model."})
    max_cost = budget_field()

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        monitors = self.fields["monitors"]
        assert isinstance(monitors, forms.MultipleChoiceField)
        monitors.choices = [(one.slug, one.slug) for one in askable(study)]
