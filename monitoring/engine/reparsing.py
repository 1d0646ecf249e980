"""Reading stored replies anew, without paying: verdicts are final, so a new batch stands beside the old one."""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import User
from llm import lenient, parsing, scan
from monitoring.engine import readings, steps
from monitoring.engine.bulk import insert_rows
from monitoring.models import Attempt, Batch, Condition, Run, Verdict
from monitoring.retention import refuse_if_removed

CHUNK = 500
COMPARED = ("outcome", "has_error", "first_error_step", "error_confidence")


@dataclass
class Reparsed:
    """What reading anew came to; `changes` counts (condition, outcome before, outcome now) of those that differ."""

    read: int = 0
    changed: int = 0
    changes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    batch: Batch | None = None


def parser_sha256() -> str:
    """Return the digest of the code that reads replies."""
    source = "".join(inspect.getsource(module) for module in (lenient, scan, parsing))
    return hashlib.sha256(source.encode()).hexdigest()


def reparse_batch(*, batch: Batch, actor: User | None, dry_run: bool = False) -> Reparsed:
    """Read the stored replies of a batch's runs anew; write a new, finished batch if any verdict differs.

    Its runs hold all verdicts of the old ones, so that the report, which takes the newest finished run, reads
    them instead. Nothing is sent. Raises UserError for a batch under way, or one without replies.
    """
    if batch.status not in (Batch.Status.FINISHED, Batch.Status.CANCELLED):
        raise UserError(f"batch {batch.number} is {batch.status}: its replies are read anew when it is over")
    runs = list(Run.objects.filter(batch=batch, n_calls__gt=0).select_related("monitor").order_by("pk"))
    if not runs:
        raise UserError(f"batch {batch.number} was not run here: there are no replies to read")
    refuse_if_removed(Run.objects.filter(batch=batch), f"reading those of batch {batch.number} anew")
    told = Reparsed()
    with transaction.atomic():
        fresh = None if dry_run else _batch(batch)
        for run in runs:
            again = None if fresh is None else _run(run, fresh)
            for verdicts in _read(run, told):
                if again is not None:
                    for verdict in verdicts:
                        verdict.run_id = again.pk
                    insert_rows(Verdict, verdicts)
        if fresh is not None and not told.changed:
            transaction.set_rollback(True)
            return told
        if fresh is not None:
            told.batch = fresh
            audit.record(
                scope=batch.study.slug,
                actor=actor,
                action="replies read anew",
                subject=f"batch {fresh.number}",
                payload={"from": batch.number, "changed": told.changed, "parser": parser_sha256()},
            )
    return told


def _batch(old: Batch) -> Batch:
    Study.objects.select_for_update().get(pk=old.study_id)
    last = Batch.objects.filter(study=old.study_id).aggregate(last=Max("number"))["last"] or 0
    return Batch.objects.create(
        study_id=old.study_id,
        standard_id=old.standard_id,
        number=last + 1,
        status=Batch.Status.FINISHED,
        finished_at=timezone.now(),
        source=f"the replies of batch {old.number}, read anew",
    )


def _run(old: Run, batch: Batch) -> Run:
    return Run.objects.create(
        batch=batch,
        monitor=old.monitor,
        condition=old.condition,
        status=Run.Status.FINISHED,
        finished_at=timezone.now(),
        prompt_version=old.prompt_version,
        prompt_sha256=old.prompt_sha256,
        prior_run=old.prior_run,
        settings={
            **old.settings,
            "reparsed_run": old.settings.get("reparsed_run", old.pk),
            "reparsed_batch": old.batch.number,
            "parser": parser_sha256(),
        },
    )


def _read(run: Run, told: Reparsed) -> Iterator[list[Verdict]]:
    """Yield the run's verdicts as they are read now, in pieces, and count what differs."""
    last = 0
    stored = Verdict.objects.filter(run=run).select_related("trace").order_by("pk")
    while olds := list(stored.filter(pk__gt=last)[:CHUNK]):
        last = olds[-1].pk
        fresh = _by_step(run, olds) if run.condition == Condition.STEP else _whole(run, olds)
        for old, new in zip(olds, fresh, strict=True):
            told.read += 1
            new.trace = old.trace
            new.attempt = None  # an attempt has one verdict: the one it led to
            for name in ("self_review", "prior_has_error", "prior_first_error_step", "certificate_source_id"):
                setattr(new, name, getattr(old, name))
            if any(getattr(old, name) != getattr(new, name) for name in COMPARED):
                told.changed += 1
                told.changes[(run.condition, str(old.outcome), str(new.outcome))] += 1
        yield fresh


def _whole(run: Run, olds: Sequence[Verdict]) -> list[Verdict]:
    newest: dict[int, Attempt] = {}
    found = Attempt.objects.filter(call__run=run, call__trace__in=[old.trace_id for old in olds])
    for attempt in found.select_related("call").order_by("number"):
        newest[attempt.call.trace_id] = attempt
    return [_again(old, newest.get(old.trace_id)) for old in olds]


def _again(old: Verdict, attempt: Attempt | None) -> Verdict:
    new = Verdict()
    if attempt is None or attempt.error_kind:
        new.outcome, new.reason = old.outcome, old.reason
        return new
    readings.tell(new, attempt.reply, attempt.finish_reason, n_steps=old.trace.n_steps)
    return new


def _by_step(run: Run, olds: Sequence[Verdict]) -> list[Verdict]:
    said = steps.prefixes_of((run.pk, old.trace_id) for old in olds)
    return [steps.union(said[(run.pk, old.trace_id)]) for old in olds]


def replies_of(run: Run) -> int:
    """Return the run whose calls hold the replies: itself, or the one it was read anew from."""
    return int(run.settings.get("reparsed_run", run.pk))
