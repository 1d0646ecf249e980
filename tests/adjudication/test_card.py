"""The card of a standard: counts, provenance, agreement, who was consulted, what stays open, blindness."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from adjudication import queries, sources
from adjudication.services.blindness import open_arguments, reveal_sources
from adjudication.services.decisions import Consulted
from adjudication.services.rules import NewRules, set_rules
from adjudication.services.standards import freeze_standard
from annotation.models import Label, Study
from core.models import User
from tests.adjudication.build import DEBATE, HUMAN, both, label_trace, make_dispute, make_standard, settle
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


def test_agreement_is_what_the_arms_said_and_symmetric(study: Study) -> None:
    pairs = [((True, 2), (True, 2)), ((True, None), (True, None)), ((False, 1), (False, 1))]
    for human, debate in pairs:
        both(make_trace(make_question(study)), human, debate)
    label_trace(make_trace(make_question(study)), [(HUMAN, "ana", True, None)])
    found = queries.agreement_of(make_standard(study))
    assert (found.joint, found.one_arm_only) == (3, 1)
    values = {measure.name: measure.value for measure in found.measures}
    assert values["final answer right or wrong: agreement"] == 1.0
    assert values["an error or none: Cohen's kappa"] == 1.0
    assert values["the same step, where both named one"] == 1.0
    assert values["the same step by chance"] == pytest.approx(0.2)


def test_either_arm_alone_is_told_as_one(study: Study) -> None:
    label_trace(make_trace(make_question(study)), [(HUMAN, "ana", True, None)])
    label_trace(make_trace(make_question(study)), [(DEBATE, "debate", True, None)])
    assert queries.card_of(make_standard(study)).provenance == {"one_arm_only": 2}


def test_consulted_and_opened_rulings_are_those_of_the_freeze(study: Study, adam: User) -> None:
    set_rules(study=study, new=NewRules(arguments_open=True))
    first, second = make_dispute(study), make_dispute(study)
    comment = "The second step loses a sign and the limit is then wrong."
    for label in first.trace.labels.all():
        Label.objects.create(
            trace=label.trace,
            arm=label.arm,
            labeller=label.labeller,
            final_correct=label.final_correct,
            first_error_step=label.first_error_step,
            comment=comment,
            revision=2,
            supersedes=label,
            source="test",
        )
    open_arguments(dispute=first, lead=adam)
    settle(first, adam, consulted=[Consulted("a model", "the limit"), Consulted("Eva")])
    settle(second, adam, consulted=[Consulted("a model")])
    standard = freeze_standard(study=study).standard
    later = make_dispute(study)
    settle(later, adam, consulted=[Consulted("too late")])
    assert queries.consulted_for(standard) == [("Eva", 1), ("a model", 2)]
    assert queries.opened_before(standard) == (2, 1)


def test_the_card_page_tells_it_all(study: Study, adam: User, client: Client) -> None:
    dispute, left = make_dispute(study), make_dispute(study)
    both(make_trace(make_question(study)), (True, 2), (True, 2))
    decision = settle(dispute, adam, consulted=[Consulted("a colleague")])
    truth = sources.sources_of(decision)[0].arm
    reveal_sources(dispute=dispute, lead=adam, guess=truth or "")
    freeze_standard(study=study, allow_open=True)
    client.force_login(adam)
    page = client.get(reverse("standard", args=[study.slug, 1])).content.decode()
    for part in (
        "a colleague for 1 ruling",
        "1 of 1 guesses",
        "95% interval 0.025 to 1.000",
        "1 trace stays open as a stratum of its own",
        "both arms agree",
        "Krippendorff",
        "open dispute: step",
        "Read and code them",
    ):
        assert part in page, part
    assert left.token not in page


def test_a_standard_without_two_arms_says_so(study: Study, adam: User, client: Client) -> None:
    label_trace(make_trace(make_question(study)), [(HUMAN, "ana", True, None)])
    make_standard(study)
    client.force_login(adam)
    page = client.get(reverse("standard", args=[study.slug, 1])).content.decode()
    assert "No ready trace was judged by both arms." in page
    assert "no guess to score yet" in page
