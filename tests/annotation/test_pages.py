"""The desk's pages, endpoint by endpoint: works, foreigner, wrong role, wrong method, missing, twice; and blind."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation import stages
from annotation.models import Draft, KeyReport, Label, Reservation, Role, Skip, Study, Trace
from annotation.services.labels import submit_label
from core.models import User
from tests.annotation.build import make_traces
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db

FORM = {"final": "right", "first_error": "step", "step": "2", "comment": "sign", "revision": "0"}


@pytest.fixture
def trace(study: Study) -> Trace:
    question = make_question(study, answer="$42\\,\\mathrm{N}$")
    return make_trace(
        question,
        steps=["(1) Take $a<b$.\n", "(2) So $\\frac{1}{2}$.\n", "(3) Done, \\boxed{3}."],
        generator="secret-model-9",
        response_label="Response Zeta",
    )


@pytest.fixture
def as_ana(client: Client, ana: User) -> Client:
    client.force_login(ana)
    return client


def address(name: str, trace: Trace) -> str:
    return reverse(name, args=[trace.study.slug, trace.token])


# ---- the gates: every endpoint of the desk, the same rules ------------------------------------------------

TRACE_PAGES = [
    ("annotate", "get"),
    ("annotate", "post"),
    ("draft", "post"),
    ("report_key", "post"),
    ("skip", "post"),
]
STUDY_PAGES = [("queue", "get"), ("queue_next", "post")]


def call(client: Client, name: str, method: str, trace: Trace, *, token: str | None = None) -> Any:
    args = [trace.study.slug] if name in ("queue", "queue_next") else [trace.study.slug, token or trace.token]
    return getattr(client, method)(reverse(name, args=args), FORM if method == "post" else {})


@pytest.mark.parametrize(("name", "method"), TRACE_PAGES + STUDY_PAGES)
def test_a_stranger_finds_nothing(client: Client, eve: User, trace: Trace, name: str, method: str) -> None:
    client.force_login(eve)
    assert call(client, name, method, trace).status_code == 404


@pytest.mark.parametrize(("name", "method"), TRACE_PAGES + STUDY_PAGES)
def test_a_lead_who_does_not_annotate_is_refused(
    client: Client, adam: User, trace: Trace, name: str, method: str
) -> None:
    client.force_login(adam)
    assert call(client, name, method, trace).status_code == 403
    assert not Label.objects.exists()


@pytest.mark.parametrize(("name", "method"), TRACE_PAGES + STUDY_PAGES)
def test_who_is_signed_out_is_sent_to_sign_in(client: Client, trace: Trace, name: str, method: str) -> None:
    response = call(client, name, method, trace)
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("login"))


@pytest.mark.parametrize(("name", "method"), TRACE_PAGES)
def test_a_trace_that_does_not_exist_is_not_found(
    as_ana: Client, trace: Trace, name: str, method: str
) -> None:
    assert call(as_ana, name, method, trace, token="0" * 20).status_code == 404


@pytest.mark.parametrize("name", ["draft", "report_key", "skip", "queue_next"])
def test_what_changes_something_refuses_get(as_ana: Client, trace: Trace, name: str) -> None:
    assert call(as_ana, name, "get", trace).status_code == 405


def test_a_trace_of_another_study_is_not_found_through_mine(as_ana: Client, study: Study) -> None:
    other = make_trace(make_question(Study.objects.create(slug="other", name="Other")))
    assert as_ana.get(reverse("annotate", args=[study.slug, other.token])).status_code == 404


# ---- the page -------------------------------------------------------------------------------------------


def test_the_page_shows_question_key_steps_and_guideline(as_ana: Client, trace: Trace) -> None:
    html = as_ana.get(address("annotate", trace)).content.decode()
    assert 'alttext="x_{' in html
    assert 'alttext="42\\,\\mathrm{N}"' in html
    assert html.count('<li class="step"') == 3
    assert "What counts as an error" in html
    assert re.search(r'id="step-1".*?Take <span class="tied"><math', html, re.DOTALL)
    assert "(1) Take $a&lt;b$." in html  # the source, as it came


def test_nothing_is_preselected(as_ana: Client, trace: Trace) -> None:
    html = as_ana.get(address("annotate", trace)).content.decode()
    assert " checked" not in html
    assert " selected" not in html
    assert "is-first-false" not in html


def test_reading_a_page_writes_nothing(as_ana: Client, trace: Trace) -> None:
    as_ana.get(address("annotate", trace))
    as_ana.get(reverse("queue", args=[trace.study.slug]))
    assert not trace.study.guideline_versions.exists()
    assert not Reservation.objects.exists()


def test_it_never_tells_the_generator_the_stored_label_or_other_labels(
    as_ana: Client, ana: User, adam: User, trace: Trace
) -> None:
    page, queue = address("annotate", trace), reverse("queue", args=[trace.study.slug])
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=1)

    def shown() -> list[str]:
        return [
            re.sub(r'value="[A-Za-z0-9]{64}"', "", as_ana.get(url).content.decode()) for url in (page, queue)
        ]

    before = shown()
    make_label(
        trace, labeller="adam", final_correct=False, first_error_step=3, comment="other people's words"
    )
    make_label(trace, arm=Label.Arm.DEBATE, labeller="debate", final_correct=False, first_error_step=3)
    # A second human label fills the trace; beyond the study's own count nothing may change.
    after = shown()
    assert before == after
    for html in after:
        for secret in (
            "secret-model-9",
            "Response Zeta",
            "other people",
            "debate",
            f"/{trace.pk}/",
        ):
            assert secret not in html


def test_the_key_is_hidden_where_the_study_hides_it(as_ana: Client, trace: Trace) -> None:
    Study.objects.update(show_reference_answer=False)
    html = as_ana.get(address("annotate", trace)).content.decode()
    assert "Reference answer" not in html
    assert "42\\,\\mathrm{N}" not in html


def test_no_style_or_script_stands_in_the_page(as_ana: Client, trace: Trace) -> None:
    for url in (address("annotate", trace), reverse("queue", args=[trace.study.slug]), reverse("home")):
        html = as_ana.get(url).content.decode()
        assert " style=" not in html
        assert "<style" not in html
        assert not re.search(r"<script(?![^>]*\ssrc=)", html)
        assert not re.search(r"\son[a-z]+=", html)


def test_the_page_takes_a_constant_number_of_queries(
    as_ana: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    small = make_trace(make_question(study), n_steps=2)
    large = make_trace(make_question(study), n_steps=80)
    make_traces(study, 9)
    for trace in (small, large):
        with django_assert_max_num_queries(16):
            as_ana.get(address("annotate", trace))


# ---- submitting --------------------------------------------------------------------------------------------


def test_submitting_records_the_label_and_goes_to_the_next_trace(
    as_ana: Client, ana: User, trace: Trace
) -> None:
    (other,) = make_traces(trace.study, 1)
    response = as_ana.post(address("annotate", trace), {**FORM, "then": "next"})
    assert response["Location"] == address("annotate", other)
    label = Label.objects.get()
    assert (label.person, label.final_correct, label.first_error_step, label.comment) == (
        ana,
        True,
        2,
        "sign",
    )


def test_the_last_submission_returns_to_the_queue(as_ana: Client, trace: Trace) -> None:
    response = as_ana.post(address("annotate", trace), FORM, follow=True)
    assert response.redirect_chain[-1][0] == reverse("queue", args=[trace.study.slug])
    assert "last trace for you" in response.content.decode()


def test_a_double_submission_is_one_label(as_ana: Client, trace: Trace) -> None:
    for _ in range(2):
        assert as_ana.post(address("annotate", trace), FORM).status_code == 302
    assert Label.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"final": ""}, "Choose whether the final answer is right or wrong."),
        ({"first_error": ""}, "Choose the first false step, or that there is none."),
        ({"step": ""}, "Choose which step is the first false one."),
        ({"step": "4"}, "Step 4 is not in this trace"),
        ({"step": "0"}, "Step 0 is not in this trace"),
        ({"step": "2.5"}, "Enter a whole number"),
        ({"final": "maybe"}, "not one of the available choices"),
        ({"comment": "x" * 20_001}, "20000"),
    ],
)
def test_an_incomplete_label_is_refused_in_words_and_keeps_what_was_entered(
    as_ana: Client, trace: Trace, changes: dict[str, str], words: str
) -> None:
    response = as_ana.post(address("annotate", trace), {**FORM, "comment": "kept", **changes})
    html = response.content.decode()
    assert response.status_code == 422
    assert words in html
    if "comment" not in changes:
        assert ">kept</textarea>" in html
    assert not Label.objects.exists()


def test_another_tab_is_told_what_stands_and_keeps_its_entries(
    as_ana: Client, ana: User, trace: Trace
) -> None:
    submit_label(trace=trace, person=ana, final_correct=False, first_error_step=3)
    response = as_ana.post(address("annotate", trace), {**FORM, "comment": "from the late tab"})
    html = response.content.decode()
    assert response.status_code == 409
    assert "first false step 3" in html
    assert "from the late tab" in html
    assert Label.objects.count() == 1
    revision = re.search(r'name="revision" value="(\d+)"', html)
    assert revision is not None
    again = as_ana.post(address("annotate", trace), {**FORM, "revision": revision[1]})
    assert again.status_code == 302
    assert Label.objects.count() == 2


def test_what_was_submitted_can_be_opened_and_changed(as_ana: Client, trace: Trace) -> None:
    as_ana.post(address("annotate", trace), FORM)
    html = as_ana.get(address("annotate", trace)).content.decode()
    assert 'value="right" checked' in html
    assert "<option selected>2</option>" in html
    as_ana.post(address("annotate", trace), {**FORM, "first_error": "none", "step": "", "revision": "1"})
    assert Label.objects.order_by("-revision").values_list("first_error_step", flat=True)[0] is None


# ---- drafts, reports, skips ---------------------------------------------------------------------------------


def test_a_draft_is_kept_and_shown_again(as_ana: Client, trace: Trace) -> None:
    response = as_ana.post(
        address("draft", trace),
        {"final": "wrong", "first_error": "", "comment": "so far", "revision": "0", "draft_version": "0"},
    )
    assert response.json()["version"] == 1
    html = as_ana.get(address("annotate", trace)).content.decode()
    assert 'value="wrong" checked' in html
    assert ">so far</textarea>" in html
    assert 'name="draft_version" value="1"' in html


def test_a_late_draft_is_refused_with_409(as_ana: Client, trace: Trace) -> None:
    as_ana.post(address("annotate", trace), FORM)
    response = as_ana.post(
        address("draft", trace), {"comment": "late", "revision": "0", "draft_version": "0"}
    )
    assert response.status_code == 409
    assert "submitted" in response.json()["error"]
    assert not Draft.objects.exists()


def test_a_draft_that_no_form_sends_is_refused(as_ana: Client, trace: Trace) -> None:
    for fields in ({}, {"revision": "x"}, {"revision": "0", "final": "maybe"}, {"revision": "-1"}):
        assert as_ana.post(address("draft", trace), fields).status_code == 422


def test_a_key_report_returns_to_the_trace_and_shows_there(as_ana: Client, trace: Trace) -> None:
    for _ in range(2):
        response = as_ana.post(address("report_key", trace), {"reason": "a factor 2"}, follow=True)
    assert "You reported this key: “a factor 2”" in response.content.decode()
    assert KeyReport.objects.count() == 1
    refused = as_ana.post(address("report_key", trace), {"reason": ""}, follow=True)
    assert "Say in a sentence what is wrong" in refused.content.decode()


def test_skipping_goes_to_the_next_trace(as_ana: Client, trace: Trace) -> None:
    (other,) = make_traces(trace.study, 1)
    assert as_ana.post(address("skip", trace), {"reason": "no"})["Location"] == address("annotate", other)
    assert Skip.objects.get().trace == trace
    assert as_ana.post(address("skip", trace), {"reason": " "})["Location"] == address("annotate", trace)


# ---- queue, home, study ---------------------------------------------------------------------------------------


def test_the_queue_lists_what_is_mine_under_its_letter(
    as_ana: Client, ana: User, study: Study, trace: Trace
) -> None:
    make_traces(study, 3)
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=2)
    html = as_ana.get(reverse("queue", args=[study.slug])).content.decode()
    assert "1 of 4 traces" in html
    assert "3 left for you" in html
    assert address("annotate", trace) in html
    assert "step 2" in html


def test_the_queue_says_who_holds_the_rest_until_when(as_ana: Client, study: Study, adam: User) -> None:
    make_traces(study, 2)
    bea = make_person("bea", study=study, roles=[Role.ANNOTATOR])
    other = Client()
    other.force_login(bea)
    other.post(reverse("queue_next", args=[study.slug]))
    cara = make_person("cara", study=study, roles=[Role.ANNOTATOR])
    other.force_login(cara)
    other.post(reverse("queue_next", args=[study.slug]))
    html = as_ana.get(reverse("queue", args=[study.slug])).content.decode()
    assert "2 left, held by others until" in html
    assert "bea" not in html.lower()
    response = as_ana.post(reverse("queue_next", args=[study.slug]), follow=True)
    assert response.redirect_chain[-1][0] == reverse("queue", args=[study.slug])


def test_an_empty_queue_says_what_will_be_there(as_ana: Client, study: Study) -> None:
    assert "There is nothing to read yet." in as_ana.get(reverse("queue", args=[study.slug])).content.decode()


@pytest.mark.parametrize("page", ["9", "-1", "x", ""])
def test_a_page_number_out_of_range_is_no_error(as_ana: Client, study: Study, page: str) -> None:
    assert as_ana.get(reverse("queue", args=[study.slug]), {"page": page}).status_code == 200


def test_home_says_what_waits_and_links_what_the_role_may_open(
    as_ana: Client, study: Study, trace: Trace
) -> None:
    html = as_ana.get(reverse("home")).content.decode()
    assert "1 trace to read" in html
    assert reverse("queue", args=[study.slug]) in html
    assert reverse("arm", args=[study.slug]) not in html
    assert reverse("questions", args=[study.slug]) not in html


def test_home_of_somebody_in_no_study_says_so(client: Client, eve: User, study: Study) -> None:
    client.force_login(eve)
    html = client.get(reverse("home")).content.decode()
    assert "You are in no study yet." in html
    assert study.name not in html


def test_the_debate_arm_is_not_counted_for_annotators(as_ana: Client, study: Study, ana: User) -> None:
    lines = stages.line(study, ana, frozenset({Role.ANNOTATOR}))
    assert next(item for item in lines if item.stage.key == "debate").count is None


@pytest.mark.parametrize("name", ["questions", "arm"])
def test_overseers_see_counts_and_no_judgement(
    client: Client, study: Study, trace: Trace, ana: User, adam: User, eve: User, name: str
) -> None:
    submit_label(trace=trace, person=ana, final_correct=False, first_error_step=3, comment="why it is false")
    url = reverse(name, args=[study.slug])
    for person, status in ((adam, 200), (ana, 403), (eve, 404)):
        client.force_login(person)
        response = client.get(url)
        assert response.status_code == status
    client.force_login(adam)
    html = client.get(url).content.decode()
    for secret in ("why it is false", "secret-model-9", "Response Zeta", "✗ wrong"):
        assert secret not in html


def test_a_reported_key_waits_for_the_lead_until_it_is_corrected(
    client: Client, study: Study, trace: Trace, ana: User, adam: User
) -> None:
    client.force_login(ana)
    client.post(address("report_key", trace), {"reason": "a factor 2"})
    client.force_login(adam)
    assert "1 reference answer is reported as wrong" in client.get(reverse("home")).content.decode()
    trace.question.reference_answers.create(version=2, text="84", reason="a factor 2")
    assert "reported as wrong" not in client.get(reverse("home")).content.decode()


def test_the_guideline_has_a_page_for_every_member(
    client: Client, study: Study, adam: User, eve: User
) -> None:
    client.force_login(adam)
    assert "First false step." in client.get(reverse("guideline", args=[study.slug])).content.decode()
    client.force_login(eve)
    assert client.get(reverse("guideline", args=[study.slug])).status_code == 404


def test_drafts_answer_json(as_ana: Client, trace: Trace) -> None:
    response = as_ana.post(address("draft", trace), {"revision": "0"})
    assert set(json.loads(response.content)) == {"version", "saved_at"}
