"""Sizes and times at 10^5 traces and 10^5 and 10^6 verdicts, on PostgreSQL: what docs/scale.md extrapolates from.

    DATABASE_URL=postgres://.../scratch python -m tests.bench.scale fill 100000     # traces, and as many verdicts
    DATABASE_URL=postgres://.../scratch python -m tests.bench.scale more 9          # nine runs more: 10^6 verdicts
    DATABASE_URL=postgres://.../scratch python -m tests.bench.scale measure

The database must be a scratch one. Rows are made by SQL from row numbers, so that a fill repeats itself; a request's
messages and its reply have some 4,100 and 900 characters.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Words with numbers in them: they compress about as mathematical prose does.
PROSE = (
    "(SELECT string_agg('step ' || (n * 7919 + k * 104729) %% 9973 || ' gives x_' || k || ' = ' "
    "|| (n * 31 + k * k * 17) %% 4999 || ' by the line before, so that the sign stays; ', '') "
    "FROM generate_series(1, {parts}) k)"
)
TABLES = (
    "annotation_trace", "annotation_traceprogress", "annotation_question", "monitoring_call", "monitoring_attempt",
    "monitoring_verdict", "adjudication_standardlabel", "core_auditentry",
)  # fmt: skip


def _sql(cursor: Any, text: str, values: list[Any] | None = None) -> float:
    begun = time.perf_counter()
    cursor.execute(text, values or [])
    return time.perf_counter() - begun


def fill(n: int) -> None:
    """Make a study of n traces with a standard on them, and a first run with a call, an attempt and a verdict each."""
    from django.core.management import call_command
    from django.db import connection

    from adjudication.models import ReferenceStandard
    from annotation.models import Membership, Role, Study
    from annotation.services import tally
    from core.models import User
    from monitoring.models import Batch, Monitor

    call_command("migrate", verbosity=0)
    study = Study.objects.create(slug="scale", name="Scale")
    person = User.objects.create(username="olga")
    for role in (Role.ANNOTATOR, Role.ADMINISTRATOR):
        Membership.objects.create(study=study, person=person, role=role)
    _traces(study, n)
    tally.refresh(study)
    standard = ReferenceStandard.objects.create(study=study, version=1, sha256="0" * 64)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO adjudication_standardlabel (standard_id, trace_id, status, status_reason, final_correct, "
            "first_error_step, provenance) SELECT %s, id, 'ready', '', id %% 3 > 0, "
            "CASE WHEN id %% 2 = 0 THEN 1 + id %% 12 END, 'agreed' FROM annotation_trace WHERE study_id = %s",
            [standard.pk, study.pk],
        )
    Monitor.objects.create(study=study, slug="monitor-1", provider="always")
    batch = Batch.objects.create(study=study, standard=standard, number=1, status="finished")
    _run(batch, "monitor-1")


def _traces(study: Any, n: int) -> None:
    from annotation.models import Question, Trace

    steps = [f"({k}) Then $x_{{{k}}} = \\frac{{{k}}}{{2}}$ by the step before, and the sign of it stays as it was in "
             f"the line above, since nothing in it depends on the frame.\n" for k in range(1, 13)]  # fmt: skip
    begun = time.perf_counter()
    for start in range(0, (n + 2) // 3, 5000):
        made = Question.objects.bulk_create(
            Question(study=study, external_id=f"q{k:08d}", statement="Find $x$. " * 20, subject="optics")
            for k in range(start, min(start + 5000, (n + 2) // 3))
        )
        Trace.objects.bulk_create(
            (
                Trace(study=study, question=question, response_label=f"Response {letter}", generator="g",
                      steps=steps, n_steps=12, sha256="0" * 64)
                for question in made
                for letter in "ABC"
            ),
            batch_size=1000,
        )  # fmt: skip
    print(f"traces by the ORM: {n / (time.perf_counter() - begun):,.0f} a second")


def _run(batch: Any, slug: str) -> None:
    """A finished run on every trace, made by SQL."""
    from django.db import connection

    from monitoring.models import Monitor, Run

    monitor = Monitor.objects.get(study=batch.study, slug=slug)
    run = Run.objects.create(batch=batch, monitor=monitor, condition="BLIND", status="finished")
    with connection.cursor() as cursor:
        calls = _sql(
            cursor,
            "INSERT INTO monitoring_call (run_id, trace_id, status, lease_owner, attempts_made, failures, "
            "invalid_replies, reserved) SELECT %s, id, 'done', '', 1, 0, 0, 0 FROM annotation_trace",
            [run.pk],
        )
        attempts = _sql(
            cursor,
            "INSERT INTO monitoring_attempt (call_id, number, owner, messages, started_at, finished_at, reply, "
            "finish_reason, served_model, input_tokens, output_tokens, cost, latency_ms, error_kind, error) "
            "SELECT n, 1, 'host:1:abc', jsonb_build_array(jsonb_build_object('role', 'user', 'content', "
            + PROSE.format(parts=55)
            + ")), now(), now(), "
            + PROSE.format(parts=12)
            + ", 'stop', 'model', 1500, 300, 0.001, 900, '', '' "
            "FROM (SELECT id AS n FROM monitoring_call WHERE run_id = %s) c",
            [run.pk],
        )
        verdicts = _sql(
            cursor,
            "INSERT INTO monitoring_verdict (run_id, trace_id, attempt_id, outcome, has_error, first_error_step, "
            "error_confidence, reason, parse_path, raw, created_at) SELECT c.run_id, c.trace_id, a.id, 'ok', "
            "c.id %% 2 = 0, CASE WHEN c.id %% 2 = 0 THEN 1 + c.id %% 12 END, 70, 'the sign is lost in this step', "
            '\'plain\', \'{"has_error": 1, "first_error_step": 3, "error_confidence": 70}\', now() '
            "FROM monitoring_call c JOIN monitoring_attempt a ON a.call_id = c.id WHERE c.run_id = %s",
            [run.pk],
        )
    print(f"a run by SQL: calls {calls:.1f} s, attempts {attempts:.1f} s, verdicts {verdicts:.1f} s")


def more(runs: int) -> None:
    """Add finished runs, each with a verdict on every trace."""
    from monitoring.models import Batch, Monitor

    batch = Batch.objects.get()
    have = Monitor.objects.count()
    for number in range(have + 1, have + 1 + runs):
        Monitor.objects.create(study=batch.study, slug=f"monitor-{number}", provider="always")
        _run(batch, f"monitor-{number}")


def measure() -> None:
    """Print bytes a row and times of the main queries."""
    from django.db import connection, transaction
    from django.test import Client
    from django.utils import timezone

    from annotation.models import Membership, Role, Study
    from annotation.services.queue import claim_next
    from core import audit
    from core.models import User
    from monitoring import viewer
    from monitoring.engine import claims, materials, planning
    from monitoring.models import Batch, Call, Monitor, Pace, Run, Verdict
    from monitoring.queries import progress_of
    from monitoring.report.source import load
    from tests.bench.measure import median, once

    study, reader = Study.objects.get(slug="scale"), User.objects.get(username="olga")
    # Who reads runs is not who labels: from a labeller everything unread is hidden, and there is nothing to time.
    olga, _ = User.objects.get_or_create(username="ada")
    Membership.objects.get_or_create(study=study, person=olga, role=Role.ADMINISTRATOR)
    batch = Batch.objects.get(number=1)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        for table in TABLES:
            cursor.execute(
                f"SELECT count(*), pg_table_size('{table}'), pg_indexes_size('{table}') FROM {table}"
            )
            rows, size, indexes = cursor.fetchone()
            if rows:
                print(
                    f"{table:32} {rows:>10,} rows {size / rows:8.0f} B/row table {indexes / rows:6.0f} B/row indexes"
                )
        cursor.execute("SELECT pg_database_size(current_database())")
        print(f"database {cursor.fetchone()[0] / 1e9:.2f} GB")
    print(f"verdicts {Verdict.objects.count():,}")

    def told(name: str, seconds: float) -> None:
        print(f"{name:52} {seconds * 1000:10.1f} ms", flush=True)

    run = batch.runs.select_related("batch__study", "batch__standard").order_by("pk").last()
    filters = viewer.Filters()
    told("how a batch stands", median(lambda: progress_of(batch), repeats=3))
    told("viewer: first page", median(lambda: list(viewer.verdicts_of(run, olga, filters)[:50]), repeats=3))
    told(
        "viewer: last page",
        median(lambda: list(viewer.verdicts_of(run, olga, filters).reverse()[:50]), repeats=3),
    )
    trace = Verdict.objects.filter(run=run).first().trace
    told("viewer: one trace's attempts", median(lambda: viewer.attempts_of(run, trace)))
    told("report: read every verdict of the study", once(lambda: load(study, batch.standard)))

    class Undo(Exception):
        pass

    def undone(work: Any) -> None:
        try:
            with transaction.atomic():
                work()
                raise Undo
        except Undo:
            pass

    told("desk: claim the next trace", median(lambda: undone(lambda: claim_next(study=study, person=reader))))
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(reader)
    told("page: the queue", median(lambda: client.get("/studies/scale/queue/"), repeats=3))
    told("page: the batches", median(lambda: client.get("/studies/scale/batches/"), repeats=3))
    told(
        "audit: append an entry",
        median(lambda: undone(lambda: audit.record(scope="scale", actor=olga, action="x", subject="y"))),
    )

    monitor = Monitor.objects.get(slug="monitor-1")
    with transaction.atomic():
        fresh = Batch.objects.create(study=study, standard=batch.standard, number=2, status="running")
        waiting = Run.objects.create(
            batch=fresh,
            monitor=monitor,
            condition="BLIND",
            status="running",
            settings=planning.settings_of(monitor, materials.needs_of("always", "BLIND", {})),
        )
        Pace.objects.get_or_create(monitor=monitor)
        seconds = once(lambda: _pending(waiting))
        n = Call.objects.filter(run=waiting).count()
        told(f"launch: write {n:,} calls ({n / seconds:,.0f} a second)", seconds)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE monitoring_call")
        owner = "host:1:abc"
        times, taken = [], []
        for _ in range(15):
            begun = time.perf_counter()
            taken.append(len(claims.claim(batch_id=fresh.pk, owner=owner, room=128).work))
            times.append(time.perf_counter() - begun)
        told(f"engine: claim {taken[0]} calls of {n:,} waiting", sorted(times)[len(times) // 2])
        told("engine: when is the next call due", median(lambda: claims.next_due(fresh.pk)))
        told(
            "sweeper: leases that ran out",
            median(
                lambda: list(
                    Call.objects.filter(status="running", lease_until__lt=timezone.now() - timedelta(days=1))
                )
            ),
        )
        transaction.set_rollback(True)


def _pending(run: Any) -> None:
    from annotation.models import Trace
    from monitoring.engine.bulk import insert_rows
    from monitoring.models import Call

    keys = list(Trace.objects.values_list("pk", flat=True))
    for start in range(0, len(keys), 5000):
        insert_rows(Call, [Call(run=run, trace_id=key) for key in keys[start : start + 5000]])


def main() -> None:
    """Do what the first argument says."""
    import django

    django.setup()
    from django.db import connection

    if connection.vendor != "postgresql":
        raise SystemExit("set DATABASE_URL to a scratch database on PostgreSQL")
    word, *rest = sys.argv[1:] or ["measure"]
    {"fill": lambda: fill(int(rest[0])), "more": lambda: more(int(rest[0])), "measure": measure}[word]()


if __name__ == "__main__":
    main()
