"""Drafts: kept on the server, and never on top of something newer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation import queries
from annotation.models import Draft, Reservation, Study, Trace
from annotation.services.drafts import DraftContent, save_draft
from annotation.services.labels import InvalidLabel, submit_label
from core.errors import Conflict
from core.models import User
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace(study: Study) -> Trace:
    return make_trace(make_question(study), n_steps=4)


def test_a_draft_is_kept_and_grows_by_versions(trace: Trace, ana: User) -> None:
    first = save_draft(trace=trace, person=ana, content=DraftContent(comment="a"), expected_version=0)
    second = save_draft(
        trace=trace,
        person=ana,
        content=DraftContent(final_correct=False, first_error="step", first_error_step=3, comment="ab"),
        expected_version=first.version,
    )
    assert (first.version, second.version) == (1, 2)
    found = queries.draft_of(trace, ana, based_on=0)
    assert found is not None
    assert found.content["first_error_step"] == 3


def test_a_second_tab_cannot_overwrite_the_first(trace: Trace, ana: User) -> None:
    save_draft(trace=trace, person=ana, content=DraftContent(comment="one"), expected_version=0)
    for version in (0, 2):
        with pytest.raises(Conflict, match="Another tab"):
            save_draft(trace=trace, person=ana, content=DraftContent(comment="two"), expected_version=version)
    assert Draft.objects.get().content["comment"] == "one"


@pytest.mark.parametrize("version", [0, 1])
def test_a_late_draft_never_comes_after_a_submission(trace: Trace, ana: User, version: int) -> None:
    if version:
        save_draft(trace=trace, person=ana, content=DraftContent(comment="one"), expected_version=0)
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    with pytest.raises(Conflict, match="submitted"):
        save_draft(trace=trace, person=ana, content=DraftContent(comment="late"), expected_version=version)
    assert not Draft.objects.exists()


def test_a_revision_has_a_draft_of_its_own(trace: Trace, ana: User) -> None:
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    save_draft(
        trace=trace,
        person=ana,
        content=DraftContent(comment="second thoughts", based_on=1),
        expected_version=0,
    )
    assert queries.draft_of(trace, ana, based_on=1) is not None
    assert queries.draft_of(trace, ana, based_on=0) is None


def test_what_a_race_left_from_before_a_submission_is_ignored_and_replaced(trace: Trace, ana: User) -> None:
    Draft.objects.create(trace=trace, person=ana, content={"based_on": 0, "comment": "stale"}, version=7)
    submit = submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    Draft.objects.create(trace=trace, person=ana, content={"based_on": 0, "comment": "stale"}, version=7)
    assert queries.draft_of(trace, ana, based_on=submit.revision) is None
    save_draft(trace=trace, person=ana, content=DraftContent(comment="new", based_on=1), expected_version=0)
    assert Draft.objects.get().content["comment"] == "new"


@pytest.fixture
def save(trace: Trace, ana: User) -> Callable[..., Draft]:
    def save_(comment: str, version: int, **sent: Any) -> Draft:
        content = DraftContent(comment=comment, **sent)
        return save_draft(trace=trace, person=ana, content=content, expected_version=version)

    return save_


def test_a_page_may_overtake_itself_in_order(save: Callable[..., Draft]) -> None:
    assert save("first", 0, writer="page-1", sequence=5).version == 1
    assert save("second", 0, writer="page-1", sequence=6).version == 2
    assert save("an earlier one, late", 2, writer="page-1", sequence=4).content["comment"] == "second"
    with pytest.raises(Conflict):
        save("other", 1, writer="page-2", sequence=9)


def test_a_page_may_overtake_the_one_it_took_the_place_of(save: Callable[..., Draft]) -> None:
    """Sent on leaving, a draft may arrive after the page was loaded again, which then has an old version."""
    save("on leaving", 0, writer="page-1", sequence=5)
    after = {"writer": "page-2", "after": "page-1", "started": 6}
    assert save("after the reload", 0, sequence=7, **after).version == 2
    with pytest.raises(Conflict):  # it arrives later still, and nothing becomes of it
        save("on leaving, again", 1, writer="page-1", sequence=5)


def test_a_duplicated_tab_overtakes_nothing_that_was_saved_since_it_began(save: Callable[..., Draft]) -> None:
    """It says of itself that it comes after the first tab, which goes on."""
    second = {"writer": "page-2", "after": "page-1", "started": 6}
    save("first", 0, writer="page-1", sequence=5)
    save("the first tab goes on", 1, writer="page-1", sequence=6)
    with pytest.raises(Conflict, match="Another tab"):
        save("the second", 1, sequence=7, **second)
    assert (
        save("the second, reloaded", 2, sequence=8, writer="page-3", after="page-2", started=8).version == 3
    )
    with pytest.raises(Conflict, match="Another tab"):
        save("the first tab again", 2, writer="page-1", sequence=9)


def test_the_same_entries_from_another_page_are_no_change(trace: Trace, ana: User) -> None:
    first = save_draft(
        trace=trace, person=ana, content=DraftContent(comment="a", writer="x"), expected_version=0
    )
    again = DraftContent(comment="a", writer="y", active_seconds=9)
    assert save_draft(trace=trace, person=ana, content=again, expected_version=0).version == first.version


def test_saving_renews_the_hold(trace: Trace, ana: User) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    Reservation.objects.create(trace=trace, person=ana, expires_at=soon)
    save_draft(trace=trace, person=ana, content=DraftContent(), expected_version=0)
    assert Reservation.objects.get().expires_at > soon + timedelta(minutes=60)


def test_it_refuses_what_no_form_sends(trace: Trace, ana: User) -> None:
    with pytest.raises(InvalidLabel, match="comment"):
        save_draft(trace=trace, person=ana, content=DraftContent(comment="x" * 20_001), expected_version=0)
    with pytest.raises(InvalidLabel, match="first false step"):
        save_draft(trace=trace, person=ana, content=DraftContent(first_error="all"), expected_version=0)
