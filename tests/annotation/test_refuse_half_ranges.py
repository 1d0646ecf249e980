"""A label with one end of a range is refused by the database, whatever wrote it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from annotation.models import Study
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "fields",
    [
        {"first_error_step": 2, "first_error_step_max": 2},
        {"first_error_step": 2, "first_error_step_min": 2},
        {"first_error_step_max": 2},
        {"first_error_step_min": 2, "first_error_step_max": 3},
        {"first_error_step": 2, "first_error_step_min": 3, "first_error_step_max": 4},
    ],
)
def test_a_range_without_both_ends_about_its_step_is_refused(study: Study, fields: dict[str, Any]) -> None:
    trace = make_trace(make_question(study))
    values = {"arm": "human", "labeller": "ana", "final_correct": True, "first_error_step": None, **fields}
    with pytest.raises(IntegrityError, match="label range holds its step"), transaction.atomic():
        make_label(trace, **values)
