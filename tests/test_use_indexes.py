"""What is asked of the tables that grow without end is answered by an index: PostgreSQL's own plans prove it.

Every statement that a piece of work sends is planned again with sequential scans switched off. A table that is still
read through, or an index that is read from end to end because none fits the question, fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from adjudication import queries as rulings
from annotation.models import Role, Study, Trace
from annotation.services.queue import claim_next
from core import audit, idempotency, webhooks
from core.models import User
from monitoring import viewer
from monitoring.engine import claims, completion, sweeper
from monitoring.models import Batch, Run, Verdict
from monitoring.queries import progress_of
from monitoring.report.services import compute_report
from tests.adjudication.build import make_dispute, make_standard
from tests.annotation.build import make_traces
from tests.build import make_person
from tests.monitoring.build import make_batch, make_scripted

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

GROW = {
    "annotation_trace", "annotation_label", "annotation_traceprogress", "annotation_question", "adjudication_dispute",
    "adjudication_decision", "adjudication_standardlabel", "monitoring_call", "monitoring_attempt",
    "monitoring_verdict", "core_auditentry", "core_delivery", "core_keptanswer",
}  # fmt: skip
# Indexes that hold only the few rows of the moment: reading one from end to end is what it is for.
SMALL = {"call_by_lease", "deliveries_due", "call_to_claim", "open_traces_in_order"}

PLANNED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
# Rows that are read in pieces come through a cursor of the server.
CURSOR = re.compile(r"^DECLARE .*? CURSOR (WITH HOLD )?FOR ")


def _scans(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Relation Name" in node or node["Node Type"] == "Bitmap Index Scan":
        yield node
    for inner in node.get("Plans", []):
        yield from _scans(inner)


def _faults(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON) " + sql)
        [found] = cursor.fetchone()[0]
    faults = []
    for node in _scans(found["Plan"]):
        table, index = node.get("Relation Name"), node.get("Index Name")
        if node["Node Type"] == "Seq Scan" and table in GROW:
            faults.append(f"{table} is read through: {sql[:600]}")
        elif index and "Index Cond" not in node and index not in SMALL and (table in GROW or table is None):
            faults.append(f"{index} is read from end to end: {sql[:600]}")
    return faults


class _Undo(Exception):
    pass


@pytest.fixture
def work(study: Study, olga: User, adam: User, client: Client) -> dict[str, Callable[[], object]]:
    make_traces(study, 4)
    dispute = make_dispute(study)
    standard = make_standard(study, allow_open=True)
    batch = make_batch(standard, [make_scripted(study)])
    over = Batch.objects.create(study=study, standard=standard, number=99, status="finished")
    run = Run.objects.create(
        batch=over, monitor=batch.runs.get().monitor, condition="BLIND", status="finished"
    )
    for trace in Trace.objects.filter(study=study):
        Verdict.objects.create(
            run=run, trace=trace, outcome="ok", has_error=True, first_error_step=2, reason="a sign"
        )
    webhooks.add_webhook(
        scope=study.slug, url="https://example.org/", events=list(webhooks.Event.values), actor=olga
    )
    ana = make_person("reader", study=study, roles=[Role.ANNOTATOR])
    now = timezone.now()

    of_run = f"/studies/optics/batches/{over.number}/runs/{run.monitor.slug}/BLIND/"
    of_report = f"/studies/optics/report/{standard.version}/"

    def page(person: User, address: str) -> Callable[[], object]:
        def get() -> None:
            client.force_login(person)
            assert client.get(address).status_code == 200

        return get

    return {
        "claim calls": lambda: claims.claim(batch_id=batch.pk, owner="host:1:x", room=8),
        "when a call is due": lambda: claims.next_due(batch.pk),
        "end what is complete": lambda: completion.finish_if_complete(batch.pk),
        "return lost calls": sweeper.return_lost_calls,
        "how a batch stands": lambda: progress_of(batch),
        "attempts of a trace": lambda: viewer.attempts_of(run, dispute.trace),
        "the page of a run": page(olga, of_run),
        "the flagged traces of a run": page(olga, f"{of_run}?outcome=ok&flag=yes"),
        "a run beside its standard": page(olga, f"{of_run}?beside=exact"),
        "words in the replies of a run": page(olga, f"{of_run}?q=sign"),
        "a trace of a run": page(olga, f"{of_run}traces/{dispute.trace.token}/"),
        "compute a report": lambda: compute_report(study=study, standard=standard, resamples=20),
        "the page of a report": page(olga, of_report),
        "the page of disputes": page(adam, "/studies/optics/disputes/"),
        "the page of a dispute": page(adam, f"/studies/optics/disputes/{dispute.token}/"),
        "latest ruling": lambda: rulings.latest_decision(dispute),
        "claim a trace": lambda: claim_next(study=study, person=ana),
        "append to the audit trail": lambda: audit.record(
            scope=study.slug, actor=olga, action="x", subject="y"
        ),
        "an idempotency key": lambda: idempotency.once(
            person=olga, key="k", request="0" * 64, work=lambda: (200, "{}")
        ),
        "forget old answers": idempotency.forget_old,
        "due messages": webhooks.wake_due,
        "messages of a study": lambda: list(webhooks.deliveries_of(study.slug)[:50]),
        "a message of now": lambda: webhooks.emit(
            scope=study.slug, event=webhooks.Event.BATCH_FINISHED, ids={"at": now.isoformat()}
        ),
    }


def test_no_table_that_grows_is_read_through(work: dict[str, Callable[[], object]]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("plans of PostgreSQL: set DATABASE_URL")
    faults: dict[str, list[str]] = {}
    asked: dict[str, set[str]] = {}
    for name, action in work.items():
        with CaptureQueriesContext(connection) as sent:
            try:
                with transaction.atomic():
                    action()
                    raise _Undo
            except _Undo:
                pass
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
        for sql in (CURSOR.sub("", query["sql"].lstrip()) for query in sent.captured_queries):
            asked.setdefault(name, set()).update(table for table in GROW if table in sql)
            if sql.startswith(PLANNED) and (found := _faults(sql)):
                faults.setdefault(name, []).extend(found)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = on")
    assert faults == {}
    assert all(asked.values())
    for name in ("the page of a run", "a trace of a run", "compute a report"):
        assert "monitoring_verdict" in asked[name], name


def test_the_check_can_fail(study: Study) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("plans of PostgreSQL: set DATABASE_URL")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert _faults("SELECT id FROM monitoring_attempt WHERE reply = 'x'")
    assert _faults("SELECT count(*) FROM monitoring_verdict")
    assert not _faults("SELECT id FROM monitoring_attempt WHERE call_id = 3")
