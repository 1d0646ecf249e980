"""The run viewer: administrators see what was sent and said; the standard only when nothing is theirs to judge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Label, Membership, Study, Trace
from core.models import AuditEntry, User
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Batch, Condition, Run
from tests.build import make_question, make_trace
from tests.monitoring.build import make_batch, make_scripted, make_small_standard, make_standard

pytestmark = pytest.mark.django_db(transaction=True)

SAID = '{"has_error": 1, "first_error_step": 2, "error_confidence": 80, "reason": "a sign is lost"}'
FINE = '{"has_error": 0, "first_error_step": null, "error_confidence": 3, "reason": "all holds"}'


@pytest.fixture
def run(study: Study) -> Run:
    standard = make_small_standard(study)
    replies = [SAID, SAID, FINE, FINE, "no idea", SAID]
    lines = {
        f"{label.trace.question.external_id}/{label.trace.response_label}": reply
        for label, reply in zip(
            standard.labels.select_related("trace__question").order_by("trace_id"), replies, strict=True
        )
    }
    batch = make_batch(standard, [make_scripted(study, by_key=lines)])
    drive(batch_id=batch.pk, owner=identity.owner())
    return batch.runs.get()


def _url(name: str, run: Run, *more: str) -> str:
    return reverse(
        name, args=[run.batch.study.slug, run.batch.number, run.monitor.slug, run.condition, *more]
    )


def _body(client: Client, person: User, url: str, **query: str) -> str:
    client.force_login(person)
    response = client.get(url, query)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def _make_blind(study: Study, olga: User) -> Trace:
    """Make the administrator a lead too, with a dispute that waits for her."""
    Membership.objects.create(study=study, person=olga, role="lead")
    trace = make_trace(make_question(study))
    for arm, step in (("human", None), ("debate", 1)):
        Label.objects.create(
            trace=trace, arm=arm, labeller=arm, final_correct=True, first_error_step=step, source="x"
        )
    return trace


def test_the_batch_page_leads_to_its_runs(client: Client, run: Run, olga: User) -> None:
    page = _body(client, olga, reverse("batch", args=[run.batch.study.slug, run.batch.number]))
    assert _url("run", run) in page


def test_a_run_shows_its_verdicts_beside_the_standard(client: Client, run: Run, olga: User) -> None:
    page = _body(client, olga, _url("run", run))
    assert "6 verdicts" in page and "a sign is lost" in page and "Standard's step" in page


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"outcome": "invalid"}, 1),
        ({"flag": "yes"}, 3),
        ({"flag": "no"}, 2),
        ({"beside": "exact"}, 1),
        ({"beside": "elsewhere"}, 1),
        ({"beside": "false_alarm"}, 1),
        ({"beside": "missed"}, 1),
        ({"beside": "agreed_clean"}, 1),
        ({"q": "no idea"}, 1),
        ({"q": "SIGN is"}, 3),
        ({"q": "nowhere to be found"}, 0),
        ({"outcome": "nonsense", "page": "99"}, 6),
    ],
)
def test_verdicts_are_filtered_and_searched(
    query: dict[str, str], number: int, client: Client, run: Run, olga: User
) -> None:
    page = _body(client, olga, _url("run", run), **query)
    assert f"{number} verdict" in page
    assert page.count("/traces/") == number


def test_a_trace_shows_the_very_messages_the_reply_and_how_it_was_read(
    client: Client, run: Run, olga: User
) -> None:
    verdict = run.verdicts.filter(outcome="invalid").get()
    page = _body(client, olga, _url("run_trace", run, verdict.trace.token))
    assert verdict.attempt is not None
    assert "no idea" in page and "no verdict" in page
    assert "You are an expert physicist" in page and "First false step" in page
    assert client.get(_url("run_trace", run, "0" * 20)).status_code == 404


def test_the_standard_is_not_shown_while_the_batch_runs(client: Client, run: Run, olga: User) -> None:
    Batch.objects.update(status=Batch.Status.RUNNING)
    page = _body(client, olga, _url("run", run), beside="exact")
    assert "when the batch is over" in page and "Standard's step" not in page and "6 verdicts" in page
    trace = run.verdicts.filter(outcome="ok").first()
    assert trace is not None
    assert "when the batch is over" in _body(client, olga, _url("run_trace", run, trace.trace.token))
    assert client.post(_url("run_download", run)).status_code == 403


def test_an_administrator_with_an_open_dispute_sees_neither_standard_nor_generator(
    client: Client, run: Run, olga: User, study: Study
) -> None:
    _make_blind(study, olga)
    verdict = run.verdicts.filter(outcome="ok").first()
    assert verdict is not None
    pages = [
        _body(client, olga, _url("run", run)),
        _body(client, olga, _url("run_trace", run, verdict.trace.token)),
    ]
    for page in pages:
        assert "until it is made you must not know" in page
        assert "Standard's step" not in page
        for trace in Trace.objects.filter(study=study):
            assert trace.response_label not in page
            assert not trace.generator or trace.generator not in page
    assert client.post(_url("run_download", run)).status_code == 403
    assert not AuditEntry.objects.filter(action="run downloaded").exists()


def test_a_trace_that_is_to_be_judged_is_not_listed(client: Client, study: Study, olga: User) -> None:
    trace = _make_blind(study, olga)
    standard = make_standard(study, [(trace, True, 1)])
    batch = make_batch(standard, [make_scripted(study, reply=FINE)], conditions=[Condition.BLIND])
    drive(batch_id=batch.pk, owner=identity.owner())
    run = batch.runs.get()
    page = _body(client, olga, _url("run", run))
    hidden = trace.token not in page
    assert hidden == ("0 verdicts" in page)
    assert client.get(_url("run_trace", run, trace.token)).status_code == (404 if hidden else 200)


def test_a_run_is_downloaded_whole_and_that_is_on_record(client: Client, run: Run, olga: User) -> None:
    client.force_login(olga)
    assert client.get(_url("run_download", run)).status_code == 405
    response = client.post(_url("run_download", run))
    body = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    lines: list[dict[str, Any]] = [json.loads(line) for line in body.splitlines()]
    assert len(lines) == 6 and {line["outcome"] for line in lines} == {"ok", "invalid"}
    assert all(line["attempts"][0]["messages"][1]["role"] == "user" for line in lines)
    assert [line["standard"]["first_error_step"] for line in lines].count(2) == 2
    assert AuditEntry.objects.filter(action="run downloaded").count() == 1


@pytest.mark.parametrize(("who", "status"), [("ana", 403), ("adam", 403), ("eve", 404)])
def test_others_see_nothing_of_it(
    who: str, status: int, client: Client, run: Run, request: pytest.FixtureRequest
) -> None:
    client.force_login(request.getfixturevalue(who))
    verdict = run.verdicts.first()
    assert verdict is not None
    for url in (_url("run", run), _url("run_trace", run, verdict.trace.token)):
        assert client.get(url).status_code == status
    assert client.post(_url("run_download", run)).status_code == status


def test_a_run_that_is_not_there_is_not_found(client: Client, run: Run, olga: User) -> None:
    client.force_login(olga)
    args = [run.batch.study.slug, run.batch.number]
    for monitor, condition in (("nobody", "BLIND"), (run.monitor.slug, "CERT"), (run.monitor.slug, "x")):
        assert client.get(reverse("run", args=[*args, monitor, condition])).status_code == 404
