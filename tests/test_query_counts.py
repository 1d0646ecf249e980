"""List pages and the pages they lead to take a fixed number of queries; the numbers are a checked-in file.

A number that changes on purpose is changed in tests/query_counts.json, where a review sees it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from adjudication.models import Dispute
from adjudication.services.blindness import reveal_sources
from adjudication.services.patches import Change, patch_standard
from adjudication.services.rules import NewRules, set_rules
from adjudication.services.standards import freeze_standard
from annotation.models import DebateRound, Role, Study, Trace
from core.models import User
from tests.adjudication.build import HUMAN, both, label_trace, make_dispute, settle
from tests.build import make_person, make_question, make_trace

pytestmark = pytest.mark.django_db

COUNTS: dict[str, int] = json.loads((Path(__file__).parent / "query_counts.json").read_text(encoding="utf-8"))
# name: (address, its arguments after the study's slug, query)
PAGES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "home": ("home", (), ""),
    "study": ("study", (), ""),
    "questions": ("questions", (), ""),
    "queue": ("queue", (), ""),
    "disputes": ("disputes", (), ""),
    "disputes, waiting": ("disputes", (), "?state=waiting"),
    "disputes, decided": ("disputes", (), "?state=decided"),
    "disputes, by words": ("disputes", (), "?words=q&order=question"),
    "dispute": ("dispute", ("open",), ""),
    "dispute, decided": ("dispute", ("decided",), ""),
    "debates": ("debates", (), ""),
    "debate": ("debate", ("decided",), ""),
    "rules": ("adjudication_rules", (), ""),
    "standards": ("standards", (), ""),
    "standard": ("standard", ("1",), ""),
    "standard difference": ("standard_difference", ("1", "2"), ""),
    "critical roles": ("critical_roles", ("1",), ""),
    "critical role": ("critical_role", ("1", "critical"), ""),
    "monitors": ("monitors", (), ""),
    "batches": ("batches", (), ""),
}


@pytest.fixture
def person(study: Study) -> User:
    return make_person("all", study=study, roles=list(Role))


def _fill(study: Study, person: User, size: int) -> Dispute:
    """Make `size` of everything; return a decided dispute whose sources the person has seen."""
    set_rules(study=study, new=NewRules(one_arm="all", debate_expected="no"))
    decided = None
    for number in range(size):
        question = make_question(study)
        both(make_trace(question), (True, 2), (True, 2))
        both(make_trace(question), (True, None), (True, None))
        label_trace(make_trace(question), [(HUMAN, "ana", True, 1)])
        decided = make_dispute(study, response_label="Response D", question=question)
        DebateRound.objects.create(trace=decided.trace, name="R1", model="m", source="test")
        settle(decided, person)
        reveal_sources(dispute=decided, lead=person)
        waits = make_trace(make_question(study))
        label_trace(waits, [("debate", f"d{number}", True, 1), ("debate", f"e{number}", True, 2)])
        make_dispute(study)
    freeze_standard(study=study, allow_open=True)
    critical = Trace.objects.filter(study=study, standard_labels__first_error_step=2).first()
    assert critical is not None and decided is not None
    patch_standard(
        study=study,
        from_version=1,
        changes=[Change(*critical.natural_key(), {"first_error_step": 3})],
        reason="slip",
    )
    return decided


def _addresses(study: Study, decided: Dispute) -> dict[str, str]:
    first_open = Dispute.objects.filter(study=study, status="open", awaits_labels=False, by_rule="").first()
    critical = Trace.objects.filter(
        study=study, standard_labels__final_correct=True, standard_labels__first_error_step=2
    ).first()
    assert first_open is not None and critical is not None
    words = {"open": first_open.token, "decided": decided.token, "critical": critical.token}

    def address(name: str, arguments: tuple[str, ...], query: str) -> str:
        slug = [] if name == "home" else [study.slug]
        return reverse(name, args=[*slug, *(words.get(word, word) for word in arguments)]) + query

    return {page: address(*parts) for page, parts in PAGES.items()}


def _count(client: Client, address: str) -> int:
    client.get(address)  # what is kept after the first reading is no query of the page
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200, address
    return len(captured)


def _counts(study: Study, person: User, client: Client, size: int) -> dict[str, int]:
    cache.clear()
    client.force_login(person)
    decided = _fill(study, person, size)
    return {page: _count(client, address) for page, address in _addresses(study, decided).items()}


@pytest.mark.parametrize("size", [2, 12])
def test_pages_keep_their_numbers_of_queries(study: Study, person: User, client: Client, size: int) -> None:
    assert _counts(study, person, client, size) == COUNTS


def test_the_file_names_every_page_that_is_counted() -> None:
    assert set(COUNTS) == set(PAGES)


def test_the_count_notices_a_query_per_row(
    study: Study, person: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    original: Callable[[Dispute], Any] = Dispute.kinds.fget  # type: ignore[attr-defined]

    def costly(dispute: Dispute) -> Any:
        Dispute.objects.filter(pk=dispute.pk).exists()
        return original(dispute)

    monkeypatch.setattr(Dispute, "kinds", property(costly))
    found = _counts(study, person, client, 3)
    assert found["disputes"] > COUNTS["disputes"]
