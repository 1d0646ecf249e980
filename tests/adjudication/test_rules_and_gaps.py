"""One-arm traces sent by rule, expected labels and stated gaps."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from adjudication import queries
from adjudication.models import Dispute, Rules, StatedGap
from adjudication.services.decisions import LabelsExpected
from adjudication.services.disputes import recompute_disputes
from adjudication.services.rules import InvalidRules, NewRules, set_rules, state_gap
from adjudication.services.rulings import InvalidDecision
from adjudication.services.standards import FreezeRefused, freeze_standard
from adjudication.services.states import in_sample
from annotation.models import Study, Trace
from core.errors import Conflict
from core.models import AuditEntry, User
from tests.adjudication.build import DEBATE, HUMAN, both, label_trace, make_dispute, settle
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db


def _one_arm(study: Study, said: tuple[bool, int | None] = (True, 3), *, arm: str = HUMAN) -> Trace:
    trace = make_trace(make_question(study))
    label_trace(trace, [(arm, "ana" if arm == HUMAN else "debate", *said)])
    return trace


def _states(study: Study) -> dict[int, str]:
    return {one.trace_id: one.by_rule for one in Dispute.objects.filter(study=study, status="open")}


def test_without_a_rule_a_trace_of_one_arm_is_no_dispute(study: Study) -> None:
    _one_arm(study)
    assert recompute_disputes(study=study).opened == 0


def test_all_or_the_critical_ones_are_sent(study: Study) -> None:
    critical, wrong, clean = (_one_arm(study, said) for said in ((True, 3), (False, 3), (True, None)))
    set_rules(study=study, new=NewRules(one_arm="critical"))
    assert _states(study) == {critical.pk: "critical"}
    set_rules(study=study, new=NewRules(one_arm="all"))
    assert _states(study) == {critical.pk: "all", wrong.pk: "all", clean.pk: "all"}
    set_rules(study=study, new=NewRules(one_arm="none"))
    assert _states(study) == {}


def test_a_seeded_sample_does_not_depend_on_arrival(study: Study) -> None:
    traces = [_one_arm(study) for _ in range(60)]
    set_rules(study=study, new=NewRules(one_arm="sample", sample_percent=30, sample_seed=7))
    wanted = {
        trace.pk
        for trace in traces
        if in_sample(trace.question.external_id, trace.response_label, seed=7, percent=30)
    }
    assert _states(study).keys() == wanted
    assert 0 < len(wanted) < 60
    for trace in traces:
        recompute_disputes(study=study, question=trace.question)
    assert _states(study).keys() == wanted


def test_the_share_of_a_sample_is_what_was_asked() -> None:
    drawn = sum(in_sample(f"q{n}", "Response A", seed=1, percent=25) for n in range(4000))
    assert 0.22 < drawn / 4000 < 0.28
    assert all(in_sample(f"q{n}", "A", seed=1, percent=100) for n in range(50))


def test_the_second_arm_turns_it_into_a_dispute_or_settles_it(study: Study) -> None:
    one, other = _one_arm(study), _one_arm(study)
    set_rules(study=study, new=NewRules(one_arm="all"))
    label_trace(one, [(DEBATE, "debate", True, 3)])
    label_trace(other, [(DEBATE, "debate", True, 4)])
    recompute_disputes(study=study)
    dispute = Dispute.objects.get(study=study, status="open")
    assert (dispute.trace_id, dispute.by_rule, dispute.kinds) == (other.pk, "", ["step"])


def test_a_sent_trace_blocks_the_freeze_until_it_is_decided(study: Study, adam: User) -> None:
    both(make_trace(make_question(study)), (True, None), (True, None))
    trace = _one_arm(study)
    set_rules(study=study, new=NewRules(one_arm="all", debate_expected="no"))
    with pytest.raises(FreezeRefused, match="1 open disputes"):
        freeze_standard(study=study)
    settle(Dispute.objects.get(trace=trace), adam)
    label = freeze_standard(study=study).standard.labels.get(trace=trace)
    assert (label.provenance, label.first_error_step) == ("adjudicated", 3)


def test_a_dispute_waits_for_the_labels_that_the_study_expects(study: Study, adam: User) -> None:
    study.overlap = 2
    study.save(update_fields=["overlap"])
    dispute = make_dispute(study)
    assert dispute.awaits_labels
    with pytest.raises(LabelsExpected):
        settle(dispute, adam)
    make_label(dispute.trace, labeller="ben", first_error_step=2)
    recompute_disputes(study=study)
    dispute.refresh_from_db()
    assert not dispute.awaits_labels
    settle(dispute, adam)


@pytest.mark.parametrize(("expected", "waits"), [("auto", False), ("yes", True), ("no", False)])
def test_the_debate_is_expected_as_the_rules_say(study: Study, expected: str, waits: bool) -> None:
    set_rules(study=study, new=NewRules(debate_expected=expected))
    trace = make_trace(make_question(study))
    label_trace(trace, [(HUMAN, "ana", True, 1), (HUMAN, "ben", True, 2)])
    recompute_disputes(study=study)
    assert Dispute.objects.get().awaits_labels is waits


def test_once_the_debate_has_begun_it_is_expected_everywhere(study: Study) -> None:
    trace = make_trace(make_question(study))
    label_trace(trace, [(HUMAN, "ana", True, 1), (HUMAN, "ben", True, 2)])
    _one_arm(study, arm=DEBATE)
    recompute_disputes(study=study)
    assert Dispute.objects.get().awaits_labels


def test_a_stated_gap_opens_what_waited_and_is_recorded(study: Study, adam: User) -> None:
    study.overlap = 2
    study.save(update_fields=["overlap"])
    first, second = make_dispute(study), make_dispute(study)
    gap = state_gap(study=study, trace=first.trace, reason="ben has left", actor=adam)
    assert set(Dispute.objects.filter(awaits_labels=True)) == {second}
    assert state_gap(study=study, trace=first.trace, reason="ben has left", actor=adam) == gap
    with pytest.raises(Conflict, match="ben has left"):
        state_gap(study=study, trace=first.trace, reason="another reason", actor=adam)
    state_gap(study=study, reason="one reader for all", actor=adam)
    assert not Dispute.objects.filter(awaits_labels=True).exists()
    told = AuditEntry.objects.filter(action="gap stated").values_list("payload__reason", flat=True)
    assert list(told) == ["ben has left", "one reader for all"]
    with pytest.raises(InvalidDecision):
        state_gap(study=study, reason="  ")


@pytest.mark.parametrize(
    "bad",
    [
        {"one_arm": "some"},
        {"debate_expected": "soon"},
        {"sample_percent": 0},
        {"sample_percent": 101},
        {"sample_seed": -1},
    ],
)
def test_rules_that_do_not_hold_together_are_refused(study: Study, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidRules) as refused:
        set_rules(study=study, new=NewRules(**bad))
    assert refused.value.field in bad
    assert not Rules.objects.exists()


def test_the_same_rules_again_change_nothing(study: Study, adam: User) -> None:
    set_rules(study=study, new=NewRules(arguments_open=True), actor=adam)
    set_rules(study=study, new=NewRules(arguments_open=True), actor=adam)
    assert AuditEntry.objects.filter(action="adjudication rules set").count() == 1


def test_the_waiting_page_hides_the_proposals_and_takes_the_gap(
    study: Study, adam: User, client: Client
) -> None:
    study.overlap = 2
    study.save(update_fields=["overlap"])
    dispute = make_dispute(study)
    client.force_login(adam)
    address = reverse("dispute", args=[study.slug, dispute.token])
    page = client.get(address).content.decode()
    assert "Labels are still expected" in page
    assert "What was proposed" not in page
    assert "first false step of proposal" not in page
    client.post(reverse("state_gap", args=[study.slug, dispute.token]), {"reason": ""})
    assert not StatedGap.objects.exists()
    client.post(reverse("state_gap", args=[study.slug, dispute.token]), {"reason": "ben has left"})
    assert "What was proposed" in client.get(address).content.decode()


def test_the_list_is_filtered_and_ordered(study: Study, adam: User, client: Client) -> None:
    client.force_login(adam)
    step = make_dispute(study, question=make_question(study, external_id="zz-optics", subject="optics"))
    answer = make_dispute(
        study,
        human=(True, None),
        debate=(False, None),
        question=make_question(study, external_id="aa-heat", subject="heat"),
    )
    _one_arm(study)
    set_rules(study=study, new=NewRules(one_arm="all", debate_expected="no"))

    def listed(query: str) -> list[str]:
        page = client.get(reverse("disputes", args=[study.slug]) + query)
        return [dispute.token for dispute, _ in page.context["rows"]]

    assert listed("?kind=answer") == [answer.token]
    assert listed("?words=OPTICS") == [step.token]
    assert len(listed("?kind=single")) == 1
    assert listed("?order=question")[:2] == [answer.token, *listed("?order=question")[1:2]]
    assert listed("?order=weight")[0] == answer.token
    assert listed("?order=nonsense&state=nonsense&kind=nonsense") == listed("")
    assert listed("?state=waiting") == []
    counts = queries.dispute_counts(study)
    assert counts["open"] == {"all": 3, "answer": 1, "presence": 0, "step": 1, "single": 1}


def test_the_rules_page_sets_and_refuses(study: Study, adam: User, olga: User, client: Client) -> None:
    client.force_login(olga)
    address = reverse("adjudication_rules", args=[study.slug])
    rules = {"one_arm": "sample", "sample_percent": 10, "sample_seed": 3, "debate_expected": "no"}
    assert client.post(address, {**rules, "sample_percent": 0}).status_code == 422
    assert client.post(address, rules).status_code == 302
    assert Rules.objects.get().sample_seed == 3
    gap = reverse("state_study_gap", args=[study.slug])
    assert client.post(gap, {"reason": "x"}).status_code == 403
    client.force_login(adam)
    assert client.post(gap, {"reason": " "}).status_code == 422
    assert client.post(gap, {"reason": "x"}).status_code == 302
    assert client.post(gap, {"reason": "y"}).status_code == 409
    assert b"the whole study" in client.get(address).content


@pytest.mark.parametrize("said", [(True, 3), (False, None)])
def test_the_page_of_a_sent_trace_does_not_tell_which_arm_spoke(
    study: Study, adam: User, client: Client, said: tuple[bool, int | None]
) -> None:
    client.force_login(adam)
    both(make_trace(make_question(study)), (True, None), (True, None))
    trace = make_trace(make_question(study))
    token = "0123456789abcdef0123"
    addresses = [
        reverse("disputes", args=[study.slug]),
        reverse("dispute", args=[study.slug, token]),
        reverse("standards", args=[study.slug]),
        reverse("adjudication_rules", args=[study.slug]),
    ]

    def pages(arm: str) -> list[bytes]:
        found: list[bytes] = []
        with pytest.raises(RuntimeError), transaction.atomic():
            label_trace(trace, [(arm, "somebody", *said)])
            set_rules(study=study, new=NewRules(one_arm="all", debate_expected="no"))
            state_gap(study=study, trace=trace, reason="no more")
            Dispute.objects.update(token=token)
            for address in addresses:
                answer = client.get(address)
                assert answer.status_code == 200
                found.append(re.sub(rb'csrfmiddlewaretoken" value="\w+"', b"", answer.content))
            raise RuntimeError("taken out again")
        return found

    assert pages(HUMAN) == pages(DEBATE)
