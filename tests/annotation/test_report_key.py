"""Reporting a key that looks wrong."""

from __future__ import annotations

import pytest

from annotation.models import KeyReport, ReferenceAnswer, Study, Trace
from annotation.services.keys import InvalidReport, report_key
from core.errors import Conflict
from core.models import AuditEntry, User
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace(study: Study) -> Trace:
    return make_trace(make_question(study))


def test_a_report_names_the_version_and_the_reason(trace: Trace, ana: User) -> None:
    report = report_key(trace=trace, person=ana, reason=" factor 2 is missing ")
    assert (report.reference_version, report.reason, report.reporter) == (1, "factor 2 is missing", ana)
    assert AuditEntry.objects.get(action="key reported").subject == f"question {trace.question.external_id}"


def test_the_same_report_again_is_no_change_and_another_is_told(trace: Trace, ana: User) -> None:
    first = report_key(trace=trace, person=ana, reason="factor 2")
    assert report_key(trace=trace, person=ana, reason="factor 2") == first
    with pytest.raises(Conflict):
        report_key(trace=trace, person=ana, reason="factor 3")
    assert KeyReport.objects.count() == 1


def test_a_corrected_key_may_be_reported_anew(trace: Trace, ana: User) -> None:
    report_key(trace=trace, person=ana, reason="factor 2")
    ReferenceAnswer.objects.create(question=trace.question, version=2, text="84", reason="factor 2")
    assert report_key(trace=trace, person=ana, reason="now a sign").reference_version == 2


@pytest.mark.parametrize("reason", ["", "  \n", "x" * 5001, "a\0b"])
def test_it_refuses_a_report_without_a_fair_reason(trace: Trace, ana: User, reason: str) -> None:
    with pytest.raises(InvalidReport):
        report_key(trace=trace, person=ana, reason=reason)


def test_it_refuses_where_no_key_is_shown(trace: Trace, ana: User) -> None:
    trace.study.show_reference_answer = False
    trace.study.save(update_fields=["show_reference_answer"])
    with pytest.raises(InvalidReport):
        report_key(trace=trace, person=ana, reason="factor 2")
