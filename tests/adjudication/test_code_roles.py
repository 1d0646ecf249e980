"""Coding the roles of critical errors: after the freeze, superseding, taken back."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from adjudication import queries
from adjudication.models import CriticalRole, ReferenceStandard
from adjudication.services.roles import NotCritical, RoleMoved, code_role, take_back_role
from annotation.models import Study, Trace
from core.errors import Conflict, UserError
from core.models import AuditEntry, User
from tests.adjudication.build import both, make_standard
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def critical(study: Study) -> list[Trace]:
    traces = [make_trace(make_question(study)) for _ in range(3)]
    for trace in traces:
        both(trace, (True, 2), (True, 2))
    both(make_trace(make_question(study)), (False, 2), (False, 2))
    both(make_trace(make_question(study)), (True, None), (True, None))
    return sorted(traces, key=lambda trace: trace.token)


@pytest.fixture
def standard(study: Study, critical: list[Trace]) -> ReferenceStandard:
    return make_standard(study)


def _code(standard: ReferenceStandard, trace: Trace, lead: User, kind: str, seen: int = 0) -> CriticalRole:
    return code_role(standard=standard, trace=trace, kind=kind, lead=lead, expected_revision=seen)


def test_a_role_is_coded_changed_and_taken_back(
    standard: ReferenceStandard, critical: list[Trace], adam: User
) -> None:
    first = _code(standard, critical[0], adam, "substantive")
    assert _code(standard, critical[0], adam, "substantive") == first
    second = _code(standard, critical[0], adam, "supplementary_claim", 1)
    assert (second.revision, second.supersedes) == (2, first)
    take_back_role(standard=standard, trace=critical[0], lead=adam, expected_revision=2)
    assert queries.roles_of([critical[0].pk]) == {}
    assert queries.role_counts(standard)[-1] == ("uncoded", "Uncoded", 3)
    _code(standard, critical[0], adam, "substantive", 3)
    assert CriticalRole.objects.filter(trace=critical[0]).count() == 4
    actions = AuditEntry.objects.filter(subject=f"trace {critical[0].token}").values_list("action", flat=True)
    assert list(actions.order_by("sequence")) == ["role coded", "role coded", "role taken back", "role coded"]


def test_what_is_not_critical_has_no_role(standard: ReferenceStandard, study: Study, adam: User) -> None:
    for label in standard.labels.all():
        if label.cell != "critical":
            with pytest.raises(NotCritical):
                _code(standard, label.trace, adam, "substantive")


def test_a_kind_that_is_none_of_the_four_is_refused(
    standard: ReferenceStandard, critical: list[Trace], adam: User
) -> None:
    for kind in ("", "other"):
        with pytest.raises(UserError):
            _code(standard, critical[0], adam, kind)
    with pytest.raises(Conflict, match="nothing to take back"):
        take_back_role(standard=standard, trace=critical[0], lead=adam, expected_revision=0)


def test_who_comes_second_is_told(standard: ReferenceStandard, critical: list[Trace], adam: User) -> None:
    _code(standard, critical[0], adam, "substantive")
    with pytest.raises(RoleMoved, match="Substantive"):
        _code(standard, critical[0], adam, "supplementary_claim")


def test_the_lead_codes_one_after_the_other(
    standard: ReferenceStandard, critical: list[Trace], study: Study, adam: User, client: Client
) -> None:
    client.force_login(adam)
    listing = reverse("critical_roles", args=[study.slug, 1])
    assert len(client.get(listing).context["rows"]) == 3
    for number, trace in enumerate(critical):
        address = reverse("critical_role", args=[study.slug, 1, trace.token])
        assert "first false step" in client.get(address).content.decode()
        answer = client.post(
            reverse("code_role", args=[study.slug, 1, trace.token]),
            {"kind": "substantive", "expected_revision": 0},
        )
        last = number == len(critical) - 1
        following = (
            [] if last else [reverse("critical_role", args=[study.slug, 1, critical[number + 1].token])]
        )
        assert answer.headers["Location"] == (following or [listing])[0]
    assert len(client.get(listing + "?kind=substantive").context["rows"]) == 3
    assert client.get(listing + "?kind=uncoded").context["rows"] == []
    back = reverse("take_back_role", args=[study.slug, 1, critical[0].token])
    assert client.post(back, {"expected_revision": "x"}).status_code == 409
    assert client.post(back, {"expected_revision": "1"}).status_code == 302
    assert len(client.get(listing + "?kind=uncoded").context["rows"]) == 1


def test_the_pages_refuse_what_does_not_hold(
    standard: ReferenceStandard, critical: list[Trace], study: Study, adam: User, olga: User, client: Client
) -> None:
    client.force_login(adam)
    code = reverse("code_role", args=[study.slug, 1, critical[0].token])
    assert client.post(code, {"kind": "other", "expected_revision": 0}).status_code == 422
    assert client.post(code, {"kind": "substantive", "expected_revision": 5}).status_code == 409
    assert client.get(reverse("critical_role", args=[study.slug, 1, "0" * 20])).status_code == 404
    assert client.get(code).status_code == 405
    client.force_login(olga)
    assert client.post(code, {"kind": "substantive", "expected_revision": 0}).status_code == 403
    assert client.get(reverse("critical_roles", args=[study.slug, 1])).status_code == 200
    assert (
        "The lead codes."
        in client.get(reverse("critical_role", args=[study.slug, 1, critical[0].token])).content.decode()
    )
