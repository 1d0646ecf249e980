"""Handing out traces: each claim is atomic, held for a while, and follows the person's own seeded order."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from annotation import masking, queries, training
from annotation.models import (
    Assignment,
    Label,
    PersonProgress,
    Question,
    Reservation,
    Skip,
    Study,
    Trace,
    TraceProgress,
)
from annotation.services import tally
from core import audit, statements
from core.errors import UserError
from core.models import User

HOLD = 90  # minutes for which a claimed trace is kept for a person; renewed while its page is open
BLOCK = 40  # candidates looked at together: the person's order is shuffled within a block
RECENT = 50  # questions looked at for what is left of them, where questions are kept together
HIGHEST = 9  # of priorities
TRIES = 5  # at a claim, where others have locked all that is open
LAST = "~"  # stands after every token

_ROW = statements.Columns(TraceProgress)
_HANDED = statements.Columns(Trace, only=("id", "token", "study_id", "question_id"))
_BLOCK = f"""
SELECT p.token, {_ROW.of("p")} FROM annotation_traceprogress p
WHERE p.study_id = %(study)s AND p.labels < p.wanted AND p.priority = %(priority)s
AND p.token >= %(low)s AND p.token <= %(high)s
AND NOT EXISTS (SELECT 1 FROM annotation_label l WHERE l.trace_id = p.trace_id AND l.arm = 'human'
    AND l.labeller = %(name)s AND l.revision = 1)
AND NOT EXISTS (SELECT 1 FROM annotation_skip k WHERE k.trace_id = p.trace_id AND k.person_id = %(person)s)
AND p.wanted > p.labels + (SELECT COUNT(*) FROM annotation_reservation r
    WHERE r.trace_id = p.trace_id AND r.person_id <> %(person)s AND r.expires_at > %(now)s)
ORDER BY p.token LIMIT %(block)s
"""  # noqa: S608 - our own columns
_HOLD_IF_OPEN = """
INSERT INTO annotation_reservation (trace_id, person_id, expires_at, created_at)
SELECT p.trace_id, %(person)s, %(until)s, %(now)s FROM annotation_traceprogress p
WHERE p.trace_id = %(trace)s AND p.wanted > p.labels + (SELECT COUNT(*) FROM annotation_reservation r
    WHERE r.trace_id = p.trace_id AND r.person_id <> %(person)s AND r.expires_at > %(now)s)
ON CONFLICT (trace_id, person_id) DO UPDATE SET expires_at = excluded.expires_at
RETURNING id
"""


class InvalidSkip(UserError):
    """A skip without its reason."""


class _PassedOver(Exception):
    """Another transaction has a candidate locked, and may leave it open."""


def claim_next(*, study: Study, person: User) -> Trace | None:
    """Return the trace that the person should read next and hold it for them, None when none is open to them.

    None is open to a person who has still to pass the study's gate (`training.may_read`).

    What they hold already comes first, so that a restart resumes it. Traces that have, or are about to have,
    the labels wanted are left out, as are those that the person labelled or skipped. Who is paused gets none.
    """
    for _ in range(TRIES):
        try:
            return _claim_best(study, person)
        except _PassedOver:
            time.sleep(random.uniform(0.005, 0.02))  # noqa: S311 - so that those who met do not meet again
    return None


def _claim_best(study: Study, person: User) -> Trace | None:
    """Claim once; raise _PassedOver if there was nothing but what others were just claiming."""
    passed_over = False
    with transaction.atomic():
        stand = queries.standing(study, person)
        if not stand.may_read or stand.paused:
            return None
        if stand.held is not None:
            hold_trace(stand.held, person)
            return stand.held
        hidden = training.hidden_next(study, person) if stand.hidden_items else None
        if hidden is not None:
            hold_trace(hidden, person)
            return hidden
        # A candidate that another transaction has locked is passed over at once; one that it has filled meanwhile
        # fails the second look.
        for row in _candidates(study, person, stand):
            try:
                trace = _claim(study, person, row)
            except _PassedOver:
                passed_over = True
                continue
            if trace is not None:
                if study.sharing != Study.Sharing.FREE:
                    Assignment.objects.get_or_create(question_id=trace.question_id, person=person)
                return trace
    if passed_over:
        raise _PassedOver
    return None


def skip_trace(*, trace: Trace, person: User, reason: str) -> Skip:
    """Give a trace back for good, with the reason; skipping it again is no change. The draft is kept."""
    reason = " ".join(reason.split())[:500]
    if not reason:
        raise InvalidSkip("say in a few words why you skip this trace")
    if "\0" in reason:
        raise InvalidSkip("the reason holds a NUL character, which cannot be stored")
    with transaction.atomic():
        tally.hold(trace.study_id)
        skip, created = Skip.objects.get_or_create(trace=trace, person=person, defaults={"reason": reason})
        Reservation.objects.filter(trace=trace, person=person).delete()
        if created:
            tally.skip_added(trace=trace, person=person)
            audit.record(
                scope=trace.study.slug,
                actor=person,
                action="trace skipped",
                subject=f"trace {trace.token}",
                payload={"reason": reason},
            )
    return skip


def renew_hold(*, trace: Trace, person: User) -> datetime | None:
    """Keep a trace for a person while its page is open; return until when, None if it is no longer theirs.

    A hold that has ended is taken up again where the trace is still open to them.
    """
    until = timezone.now() + timedelta(minutes=HOLD)
    with transaction.atomic():
        live = Reservation.objects.filter(trace=trace, person=person, expires_at__gt=timezone.now())
        if live.update(expires_at=until):
            return until
        if queries.current_label(trace, person) is not None or queries.is_paused(trace.study, person):
            return None
        if any(row.pk == trace.pk for row in queries.hidden_items(trace.study, person)):
            return hold_trace(trace, person)  # whoever else has judged a hidden check item
        row = queries.open_to(trace.study, person).filter(trace=trace).first()
        try:
            return until if row is not None and _claim(trace.study, person, row) is not None else None
        except _PassedOver:
            return None


def hold_trace(trace: Trace, person: User) -> datetime:
    """Hold a trace for a person from now, and return until when."""
    now = timezone.now()
    until = now + timedelta(minutes=HOLD)
    Reservation.objects.bulk_create(
        [Reservation(trace=trace, person=person, expires_at=until)],
        update_conflicts=True,
        unique_fields=["trace", "person"],
        update_fields=["expires_at"],
    )
    return until


def _candidates(study: Study, person: User, stand: queries.Standing) -> Iterator[TraceProgress]:
    """Yield rows that may be handed out, the best first."""
    first, last = stand.cursor, stand.until
    if study.sharing == Study.Sharing.FREE and first:
        # Nearly every claim ends here, before anything is composed for the others.
        yield from _block_of(study, person, first, last)
        first = ""
    rows = queries.open_to(study, person)
    if study.sharing == Study.Sharing.TOGETHER:
        mine = Assignment.objects.filter(person=person, question__study=study).order_by("-pk")
        recent = list(mine.values_list("question_id", flat=True)[:RECENT])
        yield from rows.filter(question__in=recent).order_by("-priority", "token")[:BLOCK]
    elif study.sharing == Study.Sharing.SPREAD:
        fresh = rows.exclude(question__assignments__person=person)
        yield from _in_order(study, person, fresh, first, last)
        yield from rows.order_by("-priority", "token")[:BLOCK]
        return
    yield from _in_order(study, person, rows, first, last)


def _in_order(
    study: Study, person: User, rows: QuerySet[TraceProgress], first: str, last: str
) -> Iterator[TraceProgress]:
    """Yield rows in the person's order, block by block from where they were; a bounded number of blocks.

    `first` and `last` bound the block that they are in; it is passed over without a `first`. The place is kept, so
    that a claim does not walk again over everything that the person has done. What others held while the place
    moved on is found in a second round from the start.
    """
    start = masking.queue_start(study, person)
    key = last
    if first:
        yield from _ranked(study, person, _block(rows, first, last))
    for _ in range(5):
        block = _next_block(study, rows, start, key)
        if not block and key:
            key = ""
            continue
        if not block:
            return
        first, key = _key(block[0], start), _key(block[-1], start)
        if len(block) < BLOCK:
            key = key[:2] + LAST
        PersonProgress.objects.bulk_create(
            [PersonProgress(study=study, labeller=queries.labeller_name(person), cursor=first, until=key)],
            update_conflicts=True,
            unique_fields=["study", "labeller"],
            update_fields=["cursor", "until"],
        )
        yield from _ranked(study, person, block)


def _ranked(study: Study, person: User, block: list[TraceProgress]) -> list[TraceProgress]:
    return sorted(block, key=lambda row: (-row.priority, masking.queue_rank(study, person, row.token)))


def _key(row: TraceProgress, start: str) -> str:
    """Return a row's place in the order: higher priorities first, then tokens from `start` and round."""
    return f"{HIGHEST - row.priority}{int(row.token < start)}{row.token}"


def _parts(key: str) -> tuple[int, bool, str]:
    return HIGHEST - int(key[0]), key[1] == "1", key[2:]


def _block(rows: QuerySet[TraceProgress], first: str, last: str) -> list[TraceProgress]:
    """Return what is still open of a block; it lies within one priority and one half of the round."""
    priority, _, low = _parts(first)
    return list(
        rows.filter(priority=priority, token__gte=low, token__lte=_parts(last)[2]).order_by("token")[:BLOCK]
    )


def _block_of(study: Study, person: User, first: str, last: str) -> Iterator[TraceProgress]:
    """Yield the same where traces are handed out as they come, in the person's order.

    Nearly every claim takes the first row, so that the others do not become objects.
    """
    priority, _, low = _parts(first)
    values = {
        "study": study.pk,
        "person": person.pk,
        "name": queries.labeller_name(person),
        "now": timezone.now(),
        "priority": priority,
        "low": low,
        "high": _parts(last)[2],
        "block": BLOCK,
    }
    found = statements.rows(_BLOCK, values)
    found.sort(key=lambda row: masking.queue_rank(study, person, row[0]))
    for _, *row in found:
        yield _ROW.build(row)


def _next_block(study: Study, rows: QuerySet[TraceProgress], start: str, key: str) -> list[TraceProgress]:
    """Return the first open rows after a place in the order (from the beginning for an empty one)."""
    priority, wrapped, after = _parts(key) if key else (HIGHEST, False, "")
    level: int | None = priority
    while True:
        # The highest level that has open traces at all; an index finds it.
        level = TraceProgress.objects.filter(
            study=study, labels__lt=F("wanted"), priority__lte=level
        ).aggregate(top=Max("priority"))["top"]
        if level is None:
            return []
        if level != priority:
            wrapped, after = False, ""
        here = rows.filter(priority=level).order_by("token")
        if not wrapped:
            block = list(here.filter(token__gt=after, token__gte=start)[:BLOCK])
            if block:
                return block
            after = ""
        block = list(here.filter(token__gt=after, token__lt=start)[:BLOCK])
        if block:
            return block
        if level == 0:
            return []
        level, priority, wrapped, after = level - 1, -1, False, ""


def _claim(study: Study, person: User, row: TraceProgress) -> Trace | None:
    """Lock a candidate, look again whether others have filled it, and hold it; None if so.

    Raise _PassedOver if another transaction has it, or its question, locked.
    """
    if statements.row(_lock_statement(), {"trace": row.pk}) is None:
        raise _PassedOver
    if study.sharing == Study.Sharing.TOGETHER:
        if not _lock_question(row.question_id):
            raise _PassedOver
        if not queries.open_to(study, person).filter(pk=row.pk).exists():
            return None
    # Only other people's labels and holds can have come since; what the person did is theirs to know. A statement
    # of its own: it must see what was there when the lock was had.
    now = timezone.now()
    values = {"trace": row.pk, "person": person.pk, "now": now, "until": now + timedelta(minutes=HOLD)}
    if statements.row(_HOLD_IF_OPEN, values) is None:
        return None
    trace = _HANDED.build([row.pk, row.token, study.pk, row.question_id])
    trace.study = study
    return trace


def _lock_statement() -> str:
    lock = " FOR NO KEY UPDATE SKIP LOCKED" if connection.vendor == "postgresql" else ""
    return f"SELECT trace_id FROM annotation_traceprogress WHERE trace_id = %(trace)s{lock}"  # noqa: S608


def _lock_question(question: int) -> bool:
    """Lock a question, since two of its traces could be claimed at once; whether nobody else has it."""
    locked = Question.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=question)
    return bool(locked.values_list("pk", flat=True))


def assign_what_was_given(study: Study) -> None:
    """Note the questions that people have begun, when a study begins to keep them together or to spread them."""
    seen = set(
        Reservation.objects.filter(trace__study=study)
        .values_list("trace__question_id", "person_id")
        .distinct()
    )
    labels = Label.objects.filter(trace__study=study, arm="human", person__isnull=False)
    seen |= set(labels.values_list("trace__question_id", "person_id").distinct())
    Assignment.objects.bulk_create(
        [Assignment(question_id=question, person_id=person) for question, person in sorted(seen)],
        batch_size=500,
        ignore_conflicts=True,
    )
