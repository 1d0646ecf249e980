"""Arguments before the decision, rewritten; sources after it, and only then; a guess that is scored."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from adjudication import sources
from adjudication.arguments import rewritten
from adjudication.models import Dispute, Guess, OpenedArguments
from adjudication.services.blindness import (
    ArgumentsClosed,
    InvalidGuess,
    NotDecided,
    Unblinded,
    open_arguments,
    reveal_sources,
)
from adjudication.services.decisions import undo_decision
from adjudication.services.disputes import recompute_disputes
from adjudication.services.rules import NewRules, set_rules
from annotation.models import DebateRound, Study
from core.models import AuditEntry, User
from tests.adjudication.build import both, make_dispute, settle
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db

PERSON = (
    "I read this twice. **Step 2** divides by zero – so the limit does not exist. GPT was wrong here. "
    "The sign of the second term is lost, which changes the answer."
)
DEBATE = (
    "Round 2 disagreed with the prior verdict.\n\n- Step 4 uses $a = b$ where only $a^2 = b^2$ is known. "
    "At 12:30 this was settled. The first steps are fine, and the boundary term vanishes as claimed."
)


def _argued(study: Study, *, exchanged: bool = False) -> Dispute:
    """A dispute whose two sides wrote comments; the comments stay with their values."""
    trace = make_trace(make_question(study))
    arms = ("debate", "human") if exchanged else ("human", "debate")
    make_label(trace, arm=arms[0], labeller="ana", first_error_step=2, comment=PERSON)
    make_label(trace, arm=arms[1], labeller="debate", first_error_step=4, comment=DEBATE)
    recompute_disputes(study=study)
    return Dispute.objects.get(trace=trace)


def _allow(study: Study) -> None:
    set_rules(study=study, new=NewRules(arguments_open=True))


def test_arguments_stay_closed_unless_the_study_allows_it(study: Study, adam: User) -> None:
    dispute = _argued(study)
    with pytest.raises(ArgumentsClosed, match="keeps arguments closed"):
        open_arguments(dispute=dispute, lead=adam)
    assert not AuditEntry.objects.filter(action="arguments opened").exists()


def test_opening_is_recorded_once_and_stands_in_the_audit_of_the_ruling(study: Study, adam: User) -> None:
    _allow(study)
    dispute = _argued(study)
    assert open_arguments(dispute=dispute, lead=adam) == open_arguments(dispute=dispute, lead=adam)
    assert AuditEntry.objects.filter(action="arguments opened", actor=adam).count() == 1
    settle(dispute, adam)
    assert AuditEntry.objects.get(action="dispute decided").payload["arguments_opened"] is True


def test_what_is_opened_hides_names_arms_rounds_times_and_length(study: Study, adam: User) -> None:
    _allow(study)
    found = sources.arguments_on(_argued(study))
    assert found is not None
    assert len({len(one.text.split()) for one in found}) == 1
    for one in found:
        for word in ("GPT", "Round", "prior", "12:30", "**", "–", "\n", "twice."):
            assert word not in one.text or word == "twice."
    texts = " ".join(one.text for one in found)
    assert "divides by zero" in texts
    assert "uses $a = b$" in texts


def test_names_of_the_study_are_left_out_with_their_sentence() -> None:
    words = rewritten(["As Ana says, no. The sum diverges."], names={"Ana"})
    assert " ".join(words) == "The sum diverges."
    assert rewritten(["Analysis shows it."], names={"Ana"}) == ["Analysis", "shows", "it."]


def test_several_texts_come_in_an_order_of_their_own() -> None:
    assert rewritten(["B is false.", "A is false."], names=()) == rewritten(
        ["A is false.", "B is false."], names=()
    )


def test_a_proposal_without_an_argument_keeps_all_closed(study: Study, adam: User) -> None:
    _allow(study)
    trace = make_trace(make_question(study))
    make_label(trace, first_error_step=2, comment=PERSON)
    make_label(trace, arm="debate", labeller="debate", first_error_step=4)
    recompute_disputes(study=study)
    with pytest.raises(ArgumentsClosed, match="not every proposal has an argument"):
        open_arguments(dispute=Dispute.objects.get(trace=trace), lead=adam)


def test_arguments_are_not_opened_on_what_is_decided(study: Study, adam: User) -> None:
    _allow(study)
    dispute = _argued(study)
    settle(dispute, adam)
    with pytest.raises(ArgumentsClosed):
        open_arguments(dispute=dispute, lead=adam)


def test_the_page_opens_them_for_the_lead_who_asked_alone(study: Study, adam: User, client: Client) -> None:
    _allow(study)
    dispute = _argued(study)
    address = reverse("dispute", args=[study.slug, dispute.token])
    client.force_login(adam)
    assert b"divides by zero" not in client.get(address).content
    client.post(reverse("open_arguments", args=[study.slug, dispute.token]))
    page = client.get(address).content.decode()
    assert "divides by zero" in page
    assert "a way of writing cannot be hidden" in page.lower()
    client.force_login(make_person("lea", study=study, roles=["lead"]))
    assert b"divides by zero" not in client.get(address).content


def test_nobody_sees_a_source_before_the_decision(study: Study, adam: User, client: Client) -> None:
    dispute = _argued(study)
    with pytest.raises(NotDecided):
        reveal_sources(dispute=dispute, lead=adam, guess="human")
    client.force_login(adam)
    assert client.post(reverse("reveal_sources", args=[study.slug, dispute.token])).status_code == 409
    assert not Guess.objects.exists()


def test_after_the_decision_a_guess_is_asked_first(study: Study, adam: User, client: Client) -> None:
    dispute = _argued(study)
    settle(dispute, adam)
    client.force_login(adam)
    address = reverse("dispute", args=[study.slug, dispute.token])
    page = client.get(address).content.decode()
    assert "who made proposal A?" in page
    assert "Proposed by" not in page
    bad = client.post(reverse("reveal_sources", args=[study.slug, dispute.token]), {"guess": "olga"})
    assert bad.status_code == 302
    assert not Guess.objects.exists()
    client.post(reverse("reveal_sources", args=[study.slug, dispute.token]), {"guess": "debate"})
    page = client.get(address).content.decode()
    assert "Proposed by" in page
    assert "the debate</td>" in page
    assert ">ana</td>" in page


def test_the_first_guess_stands(study: Study, adam: User) -> None:
    dispute = _argued(study)
    settle(dispute, adam)
    with pytest.raises(InvalidGuess):
        reveal_sources(dispute=dispute, lead=adam, guess="model")
    reveal_sources(dispute=dispute, lead=adam)
    reveal_sources(dispute=dispute, lead=adam, guess="human")
    assert Guess.objects.get().source == ""


def test_who_has_seen_the_sources_can_neither_undo_nor_rule_again(study: Study, adam: User) -> None:
    lea = make_person("lea", study=study, roles=["lead"])
    dispute = _argued(study)
    settle(dispute, adam)
    reveal_sources(dispute=dispute, lead=adam, guess="human")
    with pytest.raises(Unblinded):
        undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    undo_decision(dispute=dispute, lead=lea, expected_revision=1)
    dispute.refresh_from_db()
    with pytest.raises(Unblinded):
        settle(dispute, adam)
    settle(dispute, lea)


def test_a_lead_does_not_settle_what_they_labelled(study: Study, adam: User, client: Client) -> None:
    trace = make_trace(make_question(study))
    make_label(trace, labeller="adam", person=adam, first_error_step=2)
    make_label(trace, arm="debate", labeller="debate", first_error_step=4)
    recompute_disputes(study=study)
    dispute = Dispute.objects.get(trace=trace)
    with pytest.raises(Unblinded, match="labelled this solution yourself"):
        settle(dispute, adam)
    client.force_login(adam)
    page = client.get(reverse("dispute", args=[study.slug, dispute.token])).content.decode()
    assert "You labelled this solution yourself" in page
    set_rules(study=study, new=NewRules(own_labels=True))
    settle(dispute, adam)


def test_sources_are_those_of_the_time_of_the_ruling(study: Study, adam: User) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(True, 4))
    decision = settle(dispute, adam)
    old = dispute.trace.labels.get(arm="human")
    make_label(dispute.trace, first_error_step=4, revision=2, supersedes=old)
    by_step = {one.first_error_step: one for one in sources.sources_of(decision)}
    assert by_step[2].people == ("ana",)
    assert (by_step[4].people, by_step[4].debate) == ((), True)


def _guessed(study: Study, lead: User, right: bool | None) -> None:
    dispute = make_dispute(study)
    decision = settle(dispute, lead)
    truth = sources.sources_of(decision)[0].arm
    assert truth is not None
    other = {"human": "debate", "debate": "human"}
    guess = "" if right is None else truth if right else other[truth]
    reveal_sources(dispute=dispute, lead=lead, guess=guess)


def test_the_guess_rate_is_measured_against_one_half(study: Study, adam: User) -> None:
    assert not sources.measured_blindness(study).defined
    for right in (True, True, False, None):
        _guessed(study, adam, right)
    found = sources.measured_blindness(study)
    assert (found.share.hits, found.share.n, found.declined, found.unclear) == (2, 3, 1, 0)
    assert found.share.low < 0.5 < found.share.high


def test_a_proposal_that_both_arms_made_is_scored_for_neither(study: Study, adam: User) -> None:
    trace = make_trace(make_question(study))
    both(trace, (True, 2), (True, 2))
    make_label(trace, labeller="ben", first_error_step=5)
    make_label(trace, arm="debate", labeller="other", first_error_step=5)
    recompute_disputes(study=study)
    dispute = Dispute.objects.get()
    settle(dispute, adam)
    reveal_sources(dispute=dispute, lead=adam, guess="human")
    found = sources.measured_blindness(study)
    assert (found.share.n, found.unclear) == (0, 1)


@pytest.mark.parametrize("who", ["adam", "olga"])
def test_a_debate_is_read_only_once_its_trace_is_decided(
    study: Study, adam: User, olga: User, client: Client, who: str
) -> None:
    dispute = _argued(study)
    DebateRound.objects.create(
        trace=dispute.trace,
        name="R1",
        model="maker/model-9",
        given={"hint": "none"},
        said={"is_correct": 1, "notes": "It $x^2$ holds."},
        source="test",
    )
    client.force_login({"adam": adam, "olga": olga}[who])
    address = reverse("debate", args=[study.slug, dispute.token])
    listing = reverse("debates", args=[study.slug])
    assert client.get(address).status_code == 404
    assert client.get(listing).context["rows"] == []
    settle(dispute, adam)
    if who == "adam":
        assert client.get(address).status_code == 403
        reveal_sources(dispute=dispute, lead=adam)
    page = client.get(address).content.decode()
    for part in ("maker/model-9", "First reading", "holds.", "<math"):
        assert part in page
    assert dispute.trace.question.external_id in client.get(listing).content.decode()
    if who == "adam":
        shown = client.get(reverse("dispute", args=[study.slug, dispute.token])).content.decode()
        assert address in shown


def test_an_annotator_reads_no_debate(study: Study, ana: User, adam: User, client: Client) -> None:
    dispute = _argued(study)
    settle(dispute, adam)
    client.force_login(ana)
    assert client.get(reverse("debate", args=[study.slug, dispute.token])).status_code == 403


def test_opening_twice_in_the_page_is_harmless(study: Study, adam: User, client: Client) -> None:
    _allow(study)
    dispute = _argued(study)
    client.force_login(adam)
    for _ in range(2):
        client.post(reverse("open_arguments", args=[study.slug, dispute.token]))
    assert OpenedArguments.objects.count() == 1


def _marks(found: Any) -> list[tuple[str, str]]:
    return [(one.mark, one.text) for one in found]


def test_arguments_belong_to_values_whatever_the_arm(study: Study) -> None:
    first, second = sources.arguments_on(_argued(study)), sources.arguments_on(_argued(study, exchanged=True))
    assert first is not None and second is not None
    assert {text for _, text in _marks(first)} == {text for _, text in _marks(second)}
