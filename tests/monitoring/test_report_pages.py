"""The report's page: who reads it, what GET and POST do, what it never shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from adjudication.models import StandardLabel
from annotation.models import Study
from core.models import AuditEntry, User
from monitoring.models import StoredReport
from monitoring.report import queries, services, tasks
from monitoring.report.build import build
from stats.report import Options
from tests.monitoring.report_build import make_monitor, make_run, make_standard, small_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """What was sent to the broker, which stays out of these tests."""
    found: list[tuple[str, list[Any]]] = []
    monkeypatch.setattr(
        services.current_app, "send_task", lambda name, args, **_: found.append((name, args)), raising=False
    )
    return found


@pytest.fixture
def scored(study: Study) -> Any:
    """A study with a standard, and two monitors that ran under two conditions."""
    _, standard, traces = small_study(study)
    for slug in ("careful", "<b>&bold"):
        monitor = make_monitor(study, slug)
        for condition in ("BLIND", "CERT"):
            said = {
                trace: ("ok", True, 2, 80.0) if n >= 4 or n == len(slug) % 4 else ("ok", False, None, 5.0)
                for n, trace in enumerate(traces)
            }
            make_run(monitor, condition, standard, said)
    return standard


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def url(name: str, study: Study, *args: Any) -> str:
    return reverse(name, args=[study.slug, *args])


def test_lead_and_administrator_read_it_and_no_one_else(
    study: Study, scored: Any, adam: User, olga: User, ana: User, eve: User
) -> None:
    for name, args in (
        ("report_latest", ()),
        ("report", (1,)),
        ("report_json", (1,)),
        ("report_compute", (1,)),
    ):
        address = url(name, study, *args)
        verb = "post" if name == "report_compute" else "get"
        assert getattr(signed_in(ana), verb)(address).status_code == 403
        assert getattr(signed_in(eve), verb)(address).status_code == 404
        assert getattr(Client(), verb)(address).status_code == 302
    for reader in (adam, olga):
        assert signed_in(reader).get(url("report", study, 1)).status_code == 200


def test_wrong_verbs_and_missing_standards_are_refused(study: Study, scored: Any, olga: User) -> None:
    client = signed_in(olga)
    assert client.get(url("report_compute", study, 1)).status_code == 405
    assert client.post(url("report", study, 1)).status_code == 405
    assert client.get(url("report", study, 9)).status_code == 404
    assert client.post(url("report_compute", study, 9)).status_code == 404
    assert client.get(url("report_json", study, 1)).status_code == 404


def test_without_a_standard_it_says_who_makes_one(study: Study, olga: User) -> None:
    page = signed_in(olga).get(url("report_latest", study)).content.decode()
    assert "No reference standard is frozen." in page


def test_the_newest_standard_is_where_latest_leads(study: Study, scored: Any, olga: User) -> None:
    make_standard(study, {}, parent=scored, note="again")
    response = signed_in(olga).get(url("report_latest", study))
    assert response["Location"] == url("report", study, 2)


def test_reading_computes_nothing_and_writes_nothing(study: Study, scored: Any, olga: User) -> None:
    page = signed_in(olga).get(url("report", study, 1)).content.decode()
    assert "The numbers are not computed yet." in page
    assert not StoredReport.objects.exists()
    assert not AuditEntry.objects.exists()


def test_ordering_wakes_a_worker_once_the_order_is_stored(
    study: Study,
    scored: Any,
    olga: User,
    sent: list[tuple[str, list[Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    client = signed_in(olga)
    with django_capture_on_commit_callbacks() as callbacks:
        client.post(url("report_compute", study, 1))
    assert sent == []
    for callback in callbacks:
        callback()
    assert sent == [("monitoring.compute_report", [scored.pk, 2000, 0, "own", olga.pk, {}])]
    page = client.get(url("report", study, 1)).content.decode()
    assert "Being computed" in page
    assert 'hx-trigger="every 3s"' in page
    assert AuditEntry.objects.get().action == "report ordered"


def test_the_task_computes_what_was_ordered_and_the_page_shows_it(
    study: Study, scored: Any, olga: User, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    client = signed_in(olga)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(url("report_compute", study, 1))
    polled = client.get(url("report", study, 1), headers={"HX-Request": "true"})
    assert (polled.status_code, b"Being computed" in polled.content) == (200, True)
    for _ in range(2):  # a second delivery is harmless
        tasks.compute_report_task(*sent[0][1])
    assert [entry.action for entry in AuditEntry.objects.order_by("sequence")] == [
        "report ordered",
        "report computed",
    ]
    polled = client.get(url("report", study, 1), headers={"HX-Request": "true"})
    assert (polled.status_code, polled["HX-Refresh"]) == (204, "true")
    page = client.get(url("report", study, 1)).content.decode()
    for words in (
        "8 traces of 4 questions",
        "Detection under BLIND",
        "Localisation under CERT",
        "95%, percentiles of 2000 resamples of the 4 questions",
        scored.sha256,
        "fewer than 10 clusters",
        'class="figure"',
    ):
        assert words in page, words
    assert "Compute</button>" not in page


def test_the_page_has_no_inline_style_or_script_and_escapes_names(
    study: Study, scored: Any, olga: User
) -> None:
    services.compute_report(study=study, standard=scored)
    page = signed_in(olga).get(url("report", study, 1)).content.decode()
    assert "style=" not in page
    assert "<b>&bold" not in page
    assert "&lt;b&gt;&amp;bold" in page
    assert "<script>" not in page


def test_new_verdicts_make_the_shown_numbers_older_ones(study: Study, scored: Any, olga: User) -> None:
    services.compute_report(study=study, standard=scored)
    client = signed_in(olga)
    assert "Older numbers" not in client.get(url("report", study, 1)).content.decode()
    trace = study.traces.first()
    assert trace is not None
    make_run(study.monitors.get(slug="careful"), "HINT", scored, {trace: ("ok", False, None)})
    page = client.get(url("report", study, 1)).content.decode()
    assert "Older numbers" in page
    assert "Detection under BLIND" in page


def test_a_failure_is_told_and_may_be_ordered_again(
    study: Study, scored: Any, olga: User, sent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.order_report(study=study, standard=scored, options=Options(), actor=olga)

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("too little")

    monkeypatch.setattr(services, "build", fail)
    with pytest.raises(MemoryError):
        tasks.compute_report_task(scored.pk, 2000, 0, "own", olga.pk)
    page = signed_in(olga).get(url("report", study, 1)).content.decode()
    assert "The last attempt failed:" in page
    assert "MemoryError: too little" in page
    monkeypatch.setattr(services, "build", build)
    tasks.compute_report_task(scored.pk, 2000, 0, "own", olga.pk)
    assert "The last attempt failed:" not in signed_in(olga).get(url("report", study, 1)).content.decode()


def test_a_report_that_is_there_is_not_computed_again(
    study: Study, scored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = services.compute_report(study=study, standard=scored)
    monkeypatch.setattr(services, "build", lambda *_: pytest.fail("computed again"))
    assert services.compute_report(study=study, standard=scored) == first


def test_other_options_make_another_report(study: Study, scored: Any) -> None:
    reports = [
        services.compute_report(study=study, standard=scored, **options)
        for options in ({}, {"resamples": 10}, {"seed": 1}, {"convention": "published"})
    ]
    assert len({report.key for report in reports}) == 4
    assert queries.standing_of(study, scored, Options()).ready == reports[0]


def test_the_document_is_handed_out_as_it_was_computed(study: Study, scored: Any, olga: User) -> None:
    stored = services.compute_report(study=study, standard=scored)
    response = signed_in(olga).get(url("report_json", study, 1))
    assert json.loads(response.content) == queries.document_of(stored)
    assert list(json.loads(response.content)["detection"]) == ["BLIND", "CERT"]
    assert 'filename="optics-standard-1.json"' in response["Content-Disposition"]


def test_the_page_is_the_same_when_the_arms_are_exchanged(study: Study, scored: Any, olga: User) -> None:
    """A lead with open disputes may read it: nothing in it tells the arms apart."""
    pages = []
    traces = list(study.traces.order_by("pk"))
    for human, debate in (("human", "debate"), ("debate", "human")):
        standard = make_standard(study, {}, sha256="3" * 64)
        StandardLabel.objects.bulk_create(
            StandardLabel(
                standard=standard,
                trace=trace,
                status="ready",
                final_correct=True,
                first_error_step=2 if n > 3 else None,
                provenance=f"{human}_only" if n == 0 else "adjudicated",
                **{
                    f"{human}_final_correct": n != 4,
                    f"{human}_first_error_step": 2 if n > 3 else None,
                    f"{debate}_final_correct": True if n else None,
                    f"{debate}_first_error_step": 3 if n > 4 else None,
                },
            )
            for n, trace in enumerate(traces)
        )
        services.compute_report(study=study, standard=standard, resamples=2000)
        page = signed_in(olga).get(url("report", study, standard.version)).content.decode()
        assert "Agreement of the two arms" in page
        body = page[page.index("<h1>Results") :].replace(f"version {standard.version},", "")
        body = body.replace(f"report/{standard.version}/", "")
        pages.append(body)
    assert pages[0] == pages[1]


def test_the_page_takes_a_fixed_number_of_queries(
    study: Study, scored: Any, olga: User, django_assert_max_num_queries: Any
) -> None:
    services.compute_report(study=study, standard=scored)
    client = signed_in(olga)
    with django_assert_max_num_queries(13):
        client.get(url("report", study, 1))
