"""The report's page: who reads it, what GET and POST do, what it never shows."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from adjudication.models import Dispute, StandardLabel
from annotation.models import Membership, Role, Study
from core.models import AuditEntry, User
from monitoring.models import StoredReport
from monitoring.report import queries, services, tasks
from monitoring.report.access import is_blind
from monitoring.report.build import build
from stats.report import Options
from tests.build import make_question, make_trace
from tests.monitoring.report_build import make_monitor, make_run, make_standard, small_study, store_standard

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


def said(page: str) -> str:
    """The words of a page without its tags."""
    return re.sub(r"<[^>]+>", "", page)


def url(name: str, study: Study, *args: Any) -> str:
    return reverse(name, args=[study.slug, *args])


def test_lead_and_administrator_read_it_and_no_one_else(
    study: Study, scored: Any, adam: User, olga: User, ana: User, eve: User
) -> None:
    for name, args in (
        ("report_latest", ()),
        ("report", (1,)),
        ("report_json", (1,)),
        ("report_methods", (1,)),
        ("report_traces", (1,)),
        ("standard_figures", (1, 1)),
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
        assert words in page or words in said(page), words
    assert "Compute</button>" not in page


def test_the_page_has_no_inline_style_or_script_and_escapes_names(
    study: Study, scored: Any, olga: User
) -> None:
    services.compute_report(study=study, standard=scored)
    page = signed_in(olga).get(url("report", study, 1)).content.decode()
    assert "style=" not in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
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


def exchanged_standards(study: Study, scored: Any) -> list[Any]:
    """Two standards that differ in which arm said what; their traces have been judged by monitors."""
    traces = list(study.traces.order_by("pk"))
    made = []
    for human, debate in (("human", "debate"), ("debate", "human")):
        rows = (
            StandardLabel(
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
        standard = store_standard(study, rows)
        services.compute_report(study=study, standard=standard)
        made.append(standard)
    return made


def body_of(client: Client, study: Study, version: int, name: str = "report") -> str:
    page = client.get(url(name, study, version)).content.decode()
    page = page[page.index("<h1>Results") :] if name == "report" else page
    for words in (f"version {version}", f"standard {version}", f"report/{version}/", f'"version": {version}'):
        page = page.replace(words, words.rstrip("0123456789/"))
    for digest in study.standards.values_list("sha256", flat=True):  # it is over who said what as well
        page = page.replace(digest, "sha256").replace(digest[:12], "sha256").replace(digest[:8], "sha256")
    return page


def test_a_lead_with_an_open_dispute_reads_the_same_when_the_arms_are_exchanged(
    study: Study, scored: Any, adam: User, olga: User
) -> None:
    standards = exchanged_standards(study, scored)
    Dispute.objects.create(study=study, trace=study.traces.all()[3], differs_in_step=True)
    lead, administrator = signed_in(adam), signed_in(olga)
    for name in ("report", "report_json", "report_methods"):
        first, second = (body_of(lead, study, s.version, name) for s in standards)
        assert first == second, name
        assert "the human arm" not in first
    page = body_of(lead, study, standards[0].version)
    assert "Agreement of the two arms" in page
    assert "are shown when no dispute of the study is open" in page
    assert "by_arm" not in body_of(lead, study, standards[0].version, "report_json")
    theirs = [body_of(administrator, study, s.version) for s in standards]
    assert "Under the labels of the human arm alone" in theirs[0]
    assert theirs[0] != theirs[1]


def test_the_arms_are_shown_to_a_lead_when_no_dispute_is_open(study: Study, scored: Any, adam: User) -> None:
    standard = exchanged_standards(study, scored)[0]
    client = signed_in(adam)
    dispute = Dispute.objects.create(study=study, trace=study.traces.all()[3], differs_in_step=True)
    assert "the human arm alone" not in body_of(client, study, standard.version)
    assert client.get(url("report_traces", study, standard.version)).status_code == 403
    Dispute.objects.filter(pk=dispute.pk).update(status=Dispute.Status.DECIDED)
    assert "the human arm alone" in body_of(client, study, standard.version)
    assert client.get(url("report_traces", study, standard.version)).status_code == 200


def test_an_administrator_who_also_leads_is_as_blind_as_a_lead(
    study: Study, scored: Any, adam: User, olga: User
) -> None:
    Dispute.objects.create(study=study, trace=study.traces.all()[3], differs_in_step=True)
    assert not is_blind(olga, study)
    for role in (Role.LEAD, Role.ANNOTATOR):
        membership = Membership.objects.create(study=study, person=olga, role=role)
        assert is_blind(olga, study), role
        membership.delete()
    assert is_blind(adam, study)


def test_a_number_leads_to_the_traces_behind_it(study: Study, scored: Any, olga: User) -> None:
    services.compute_report(study=study, standard=scored)
    client = signed_in(olga)
    page = client.get(url("report", study, 1)).content.decode()
    links = {unescape(found) for found in re.findall(r'href="([^"]+/traces/\?[^"]+)"', page)}
    assert len(links) > 40
    for link in links:
        assert client.get(link).status_code == 200, link
    document = queries.document_of(queries.standing_of(study, scored, Options()).ready)  # type: ignore[arg-type]
    monitor = "careful"
    located = document["localisation"]["BLIND"]["monitors"][monitor]
    address = url("report_traces", study, 1)
    for asked, number in (
        ({"cell": "error", "place": "exact"}, located["exact"]),
        ({"cell": "error", "place": "missed"}, located["missed"]),
        ({"cell": "error", "place": "early"}, located["early"]),
        ({"cell": "clean"}, document["reference"]["clean"]),
        ({"said": "failed"}, document["detection"]["BLIND"]["monitors"][monitor]["failures"]),
        ({}, document["detection"]["BLIND"]["monitors"][monitor]["n"]),
    ):
        found = client.get(address, {"condition": "BLIND", "monitor": monitor, **asked})
        assert found.context["page"].paginator.count == number, asked
    assert client.get(address, {"cell": "critical"}).context["page"].paginator.count == 1
    assert client.get(address, {"cell": "no such cell", "page": "x"}).context["page"].paginator.count == 8


def test_the_traces_on_which_the_arms_differ_are_those_of_the_report(
    study: Study, scored: Any, olga: User
) -> None:
    standard = exchanged_standards(study, scored)[0]
    client = signed_in(olga)
    address = url("report_traces", study, standard.version)
    arms = queries.document_of(queries.standing_of(study, standard, Options()).ready)["arms"]  # type: ignore[arg-type]
    assert client.get(address, {"arms": "both"}).context["page"].paginator.count == arms["joint"] == 7
    assert client.get(address, {"arms": "differ"}).context["page"].paginator.count == 4


def test_a_part_of_the_standard_has_a_report_of_its_own(
    study: Study, scored: Any, olga: User, adam: User, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    subjects = [make_question(study, subject=subject) for subject in ("optics", "heat")]
    traces = [make_trace(q, n_steps=n, generator="model-x") for q in subjects for n in (5, 6, 12)]
    scored = make_standard(study, dict.fromkeys([*traces, *study.traces.all()], (True, None)))
    services.compute_report(study=study, standard=scored)
    client = signed_in(olga)
    chosen = {"generator": "model-x", "length": "1-8"}
    page = client.get(url("report", study, 2), chosen).content.decode()
    assert "The numbers are not computed yet." in page
    assert "Only traces of model-x, traces of up to 8 steps" in page
    with django_capture_on_commit_callbacks(execute=True):
        response = client.post(url("report_compute", study, 2), chosen)
    assert response["Location"].endswith("?generator=model-x&length=1-8")
    tasks.compute_report_task(*sent[0][1])
    shown = client.get(url("report", study, 2), chosen).content.decode()
    assert "4 traces of 2 questions" in said(shown)
    found = json.loads(client.get(url("report_json", study, 2), chosen).content)
    assert found["reference"]["selection"] == chosen
    assert "4 traces of 2 questions" not in said(client.get(url("report", study, 2)).content.decode())
    # A lead with a dispute to decide is not told who wrote what, nor may ask for it.
    lead = signed_in(adam)
    assert "model-x" in lead.get(url("report", study, 2)).content.decode()
    Dispute.objects.create(study=study, trace=traces[3], differs_in_step=True)
    response = lead.get(url("report", study, 2), chosen)
    assert response.context["selection"].parts == {"length": "1-8"}
    assert response.context["choices"].generators == []
    assert "model-x" not in lead.get(url("report", study, 2)).content.decode()
    assert "optics" in response.content.decode()


def test_two_standards_are_shown_in_two_columns(study: Study, scored: Any, olga: User) -> None:
    other = make_standard(study, dict.fromkeys(study.traces.all(), (True, None)), parent=scored, note="again")
    client = signed_in(olga)
    services.compute_report(study=study, standard=scored)
    page = client.get(url("standard_figures", study, 1, 2)).content.decode()
    assert "not computed yet" in page
    assert "Compute standard 2" in page
    services.compute_report(study=study, standard=other)
    page = client.get(url("standard_figures", study, 1, 2)).content.decode()
    assert "4 labels differ" in said(page)
    assert '<th scope="col" class="num">standard 1</th>' in page
    everything = client.get(url("standard_figures", study, 1, 2), {"figures": "all"}).content.decode()
    assert everything.count("<tr") > page.count("<tr"), "what does not move is shown when asked for"
    assert client.get(url("standard_figures", study, 1, 9)).status_code == 404


def test_progress_is_told_on_the_order(
    study: Study, scored: Any, olga: User, monkeypatch: Any, sent: Any
) -> None:
    order = services.order_report(study=study, standard=scored, options=Options(), actor=olga)
    clock = iter(range(1000))
    monkeypatch.setattr(services.time, "monotonic", lambda: next(clock))
    said = []

    def listen(section: str) -> None:
        said.append(section)
        order.refresh_from_db()
        if len(said) == 4:
            polled = signed_in(olga).get(url("report", study, 1), headers={"HX-Request": "true"})
            assert b"part 3, bootstrap" in polled.content

    services.compute_report(study=study, standard=scored, progress=listen)
    assert len(said) > 20
    order.refresh_from_db()
    assert queries.is_ready(order)


def test_the_page_takes_a_fixed_number_of_queries(
    study: Study, scored: Any, olga: User, django_assert_max_num_queries: Any
) -> None:
    services.compute_report(study=study, standard=scored)
    client = signed_in(olga)
    with django_assert_max_num_queries(16):
        client.get(url("report", study, 1))


def test_head_is_answered_like_get_without_the_body(study: Study, scored: Any, olga: User) -> None:
    services.compute_report(study=study, standard=scored)
    client = signed_in(olga)
    for name in ("report", "report_json", "report_methods", "report_traces"):
        address = url(name, study, 1)
        read, asked = client.get(address), client.head(address)
        assert (asked.status_code, asked.content) == (200, b""), name
        assert int(asked["Content-Length"]) == len(read.content), name
        assert asked["Content-Type"] == read["Content-Type"]
    assert client.head(url("report_compute", study, 1)).status_code == 405
    assert signed_in(olga).head(url("report", study, 9)).status_code == 404
