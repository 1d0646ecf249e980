"""Keeping count for the queue: labels per trace, traces per study and per labeller.

The counts change in the transaction of what they count. Whatever writes many rows calls `refresh`, which counts
a study anew; the others add one. A shared lock lets single changes run side by side and keeps them off a
recount, whose snapshot could not know of them.
"""

from __future__ import annotations

import math
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from annotation import masking
from annotation.models import PersonProgress, Question, Study, StudyProgress, Trace, TraceProgress
from annotation.queries import labeller_name
from core import statements
from core.models import User

LOCK = 0x66737470  # names our advisory locks on PostgreSQL
CHUNK = 500

# Both databases understand these statements: an upsert, and RETURNING.
TRACES = """
INSERT INTO annotation_traceprogress
    (trace_id, study_id, question_id, token, included, readable, priority, wanted, labels)
SELECT t.id, t.study_id, t.question_id, t.token, q.status = 'included' AND c.id IS NULL,
       t.n_steps IS NOT NULL AND t.cut <> 'text_free', 0,
       CASE WHEN q.status = 'included' AND c.id IS NULL AND t.n_steps IS NOT NULL AND t.cut <> 'text_free'
            THEN s.overlap ELSE 0 END,
       COALESCE(l.number, 0)
FROM annotation_trace t
JOIN annotation_question q ON q.id = t.question_id
JOIN annotation_study s ON s.id = t.study_id
LEFT JOIN annotation_checkitem c ON c.trace_id = t.id
LEFT JOIN (
    SELECT l.trace_id, COUNT(*) AS number FROM annotation_label l
    JOIN annotation_trace lt ON lt.id = l.trace_id
    WHERE lt.study_id = %(study)s AND l.arm = 'human' AND l.revision = 1 GROUP BY l.trace_id
) l ON l.trace_id = t.id
WHERE t.study_id = %(study)s
ON CONFLICT (trace_id) DO UPDATE
SET wanted = excluded.wanted, labels = excluded.labels, included = excluded.included
WHERE annotation_traceprogress.wanted <> excluded.wanted OR annotation_traceprogress.labels <> excluded.labels
OR annotation_traceprogress.included <> excluded.included
"""
STUDY = """
INSERT INTO annotation_studyprogress (study_id, total, labelled, complete, included, readable, human)
SELECT CAST(%(study)s AS bigint),
       COALESCE(SUM(CASE WHEN wanted > 0 THEN 1 ELSE 0 END), 0),
       COALESCE(SUM(CASE WHEN wanted > 0 AND labels > 0 THEN 1 ELSE 0 END), 0),
       COALESCE(SUM(CASE WHEN wanted > 0 AND labels >= wanted THEN 1 ELSE 0 END), 0),
       COUNT(*), COALESCE(SUM(CASE WHEN readable THEN 1 ELSE 0 END), 0),
       COALESCE(SUM(CASE WHEN labels > 0 THEN 1 ELSE 0 END), 0)
FROM annotation_traceprogress WHERE study_id = %(study)s AND included
ON CONFLICT (study_id) DO UPDATE
SET total = excluded.total, labelled = excluded.labelled, complete = excluded.complete,
    included = excluded.included, readable = excluded.readable, human = excluded.human
"""
PEOPLE = """
INSERT INTO annotation_personprogress (study_id, labeller, mine, passed, cursor, until)
SELECT CAST(%(study)s AS bigint), labeller, SUM(mine), SUM(passed), '', '' FROM (
    SELECT l.labeller AS labeller, 1 AS mine, CASE WHEN p.labels < p.wanted THEN 1 ELSE 0 END AS passed
    FROM annotation_traceprogress p JOIN annotation_label l ON l.trace_id = p.trace_id
    WHERE p.study_id = %(study)s AND p.wanted > 0 AND l.arm = 'human' AND l.revision = 1
    UNION ALL
    SELECT SUBSTR(u.username, 1, 100), 0, CASE WHEN p.labels < p.wanted THEN 1 ELSE 0 END
    FROM annotation_skip k
    JOIN annotation_traceprogress p ON p.trace_id = k.trace_id
    JOIN core_user u ON u.id = k.person_id
    WHERE p.study_id = %(study)s AND p.wanted > 0 AND NOT EXISTS (
        SELECT 1 FROM annotation_label l WHERE l.trace_id = p.trace_id AND l.arm = 'human'
        AND l.labeller = SUBSTR(u.username, 1, 100))
) one WHERE 1 = 1 GROUP BY labeller
ON CONFLICT (study_id, labeller) DO UPDATE SET mine = excluded.mine, passed = excluded.passed
"""
ONE_LABEL = """
UPDATE annotation_traceprogress SET labels = labels + 1 WHERE trace_id = %(trace)s
RETURNING labels, wanted, included
"""
ONE_STUDY = """
UPDATE annotation_studyprogress
SET labelled = labelled + %(labelled)s, complete = complete + %(complete)s, human = human + %(human)s
WHERE study_id = %(study)s
"""
ONE_PERSON = """
INSERT INTO annotation_personprogress (study_id, labeller, mine, passed, cursor, until)
VALUES (%(study)s, %(labeller)s, %(mine)s, %(passed)s, '', '')
ON CONFLICT (study_id, labeller) DO UPDATE
SET mine = annotation_personprogress.mine + excluded.mine,
    passed = annotation_personprogress.passed + excluded.passed - %(was_open)s * (
        SELECT COUNT(*) FROM annotation_skip k JOIN core_user u ON u.id = k.person_id
        WHERE k.trace_id = %(trace)s AND SUBSTR(u.username, 1, 100) = excluded.labeller)
"""
OTHERS = """
UPDATE annotation_personprogress SET passed = passed - 1
WHERE study_id = %(study)s AND labeller <> %(labeller)s AND labeller IN (
    SELECT labeller FROM annotation_label
    WHERE trace_id = %(trace)s AND arm = 'human' AND revision = 1
    UNION
    SELECT SUBSTR(u.username, 1, 100) FROM annotation_skip k JOIN core_user u ON u.id = k.person_id
    WHERE k.trace_id = %(trace)s)
"""


def hold(study_id: int, *, recount: bool = False) -> None:
    """Keep recounts away until the transaction ends; with `recount`, single changes too."""
    statements.together(*holding(study_id, recount=recount))


def holding(study_id: int, *, recount: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """Return what `hold` asks, to be sent before something else; SQLite has one writer at a time and needs none."""
    if connection.vendor != "postgresql":
        return []
    name = "pg_advisory_xact_lock" if recount else "pg_advisory_xact_lock_shared"
    statement = f"SELECT {name}(CAST(%(lock)s AS integer), CAST(%(study)s AS integer))"
    return [(statement, {"lock": LOCK, "study": study_id})]


def refresh(study: Study) -> None:
    """Count a study anew: after an import, after its settings or the status of a question changed."""
    with transaction.atomic():
        hold(study.pk, recount=True)
        study.refresh_from_db(fields=["overlap", "coverage", "share"])
        values = {"study": study.pk}
        _run(TRACES, values)
        if study.coverage == Study.Coverage.STRATIFIED:
            _leave_out(study)
        _run(STUDY, values)
        PersonProgress.objects.filter(study=study).update(mine=0, passed=0, cursor="", until="")
        _run(PEOPLE, values)


def verify(study: Study) -> list[str]:
    """Return what the counts have wrong, in words; nothing is changed."""
    with transaction.atomic():
        stored = _state(study)
        refresh(study)
        counted = _state(study)
        transaction.set_rollback(True)
    return [
        f"{name}: {stored.get(name, 'missing')} is kept, {counted.get(name, 'nothing')} was counted"
        for name in sorted({*stored, *counted})
        if stored.get(name) != counted.get(name)
    ]


def trace_added(trace: Trace) -> None:
    """Count one new trace. Many at once: `refresh`."""
    study = trace.study
    included = trace.question.status == Question.Status.INCLUDED
    readable = trace.n_steps is not None and trace.cut != Trace.Cut.TEXT_FREE
    wanted = study.overlap if included and readable else 0
    if study.coverage == Study.Coverage.STRATIFIED and trace.question_id not in sampled(study):
        wanted = 0
    TraceProgress.objects.create(
        trace=trace,
        study=study,
        question_id=trace.question_id,
        token=trace.token,
        included=included,
        readable=readable,
        wanted=wanted,
    )
    StudyProgress.objects.get_or_create(study=study)
    StudyProgress.objects.filter(study=study).update(
        total=F("total") + int(wanted > 0),
        included=F("included") + int(included),
        readable=F("readable") + int(included and readable),
    )


def label_added(*, trace: Trace, labeller: str) -> None:
    """Count a labeller's first label of the human arm on a trace."""
    row = statements.row(ONE_LABEL, {"trace": trace.pk})
    if row is None:
        return
    labels, wanted, included = row
    complete, begun = labels == wanted, labels == 1
    asked: list[tuple[str, dict[str, Any]]] = []
    if complete or begun:
        # First: whoever completes a trace changes other people's rows too, in no order; the study's row lets only
        # one at a time do so.
        counts = {
            "study": trace.study_id,
            "labelled": int(begun and wanted > 0),
            "complete": int(complete),
            "human": int(begun and bool(included)),
        }
        asked.append((ONE_STUDY, counts))
    if wanted:
        asked.append(
            _counting(trace, labeller, mine=1, passed=int(labels < wanted), was_open=int(labels <= wanted))
        )
        if complete:
            asked.append((OTHERS, {"study": trace.study_id, "labeller": labeller, "trace": trace.pk}))
    statements.together(*asked)


def _counting(
    trace: Trace, labeller: str, *, mine: int, passed: int, was_open: int
) -> tuple[str, dict[str, Any]]:
    values = {
        "study": trace.study_id,
        "labeller": labeller,
        "mine": mine,
        "passed": passed,
        "was_open": was_open,
        "trace": trace.pk,
    }
    return ONE_PERSON, values


def skip_added(*, trace: Trace, person: User) -> None:
    """Count a person's first skip of a trace that they have not labelled."""
    row = TraceProgress.objects.filter(trace=trace, labels__lt=F("wanted")).exists()
    if row and not trace.labels.filter(arm="human", labeller=labeller_name(person)).exists():
        statements.rows(*_counting(trace, labeller_name(person), mine=0, passed=1, was_open=0))


def sampled(study: Study) -> set[int]:
    """Return the questions that people read under stratified coverage: of each subject the study's share, rounded up.

    Which ones is drawn by the study's secret, so the choice stays when the study is counted again.
    """
    subjects: dict[str, list[tuple[str, int]]] = {}
    rows = Question.objects.filter(study=study, status=Question.Status.INCLUDED)
    for key, name, subject in rows.values_list("pk", "external_id", "subject"):
        subjects.setdefault(subject, []).append((masking.keyed(study, "sample", name), key))
    return {
        key
        for ranked in subjects.values()
        for _, key in sorted(ranked)[: math.ceil(len(ranked) * study.share / 100)]
    }


def _leave_out(study: Study) -> None:
    kept = sampled(study)
    keys = Question.objects.filter(study=study).values_list("pk", flat=True)
    left = [key for key in keys if key not in kept]
    for start in range(0, len(left), CHUNK):
        TraceProgress.objects.filter(question__in=left[start : start + CHUNK]).update(wanted=0)


def _run(statement: str, values: Any) -> tuple[int, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone() if cursor.description else None


def _state(study: Study) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        f"trace {token}": (wanted, labels)
        for token, wanted, labels in TraceProgress.objects.filter(study=study)
        .values_list("token", "wanted", "labels")
        .iterator()
    }
    for row in StudyProgress.objects.filter(study=study).values_list(
        "total", "labelled", "complete", "included", "readable", "human"
    ):
        if any(row):
            found["study"] = row
    people = PersonProgress.objects.filter(study=study).exclude(mine=0, passed=0)
    for labeller, mine, passed in people.values_list("labeller", "mine", "passed"):
        found[f"labeller {labeller}"] = (mine, passed)
    return found
