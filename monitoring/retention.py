"""Retention: replies of models are removed after a study's number of days; verdict, hash and usage stay."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.engine.bulk import update_rows
from monitoring.models import Attempt, Batch, Inquiry, Run

CHUNK = 500
LONGEST_DAYS = 36_500


class RepliesRemoved(UserError):
    """What is asked for needs replies that the retention rule removed."""


@dataclass(frozen=True)
class Removed:
    """How many replies were removed, or would be."""

    attempts: int = 0
    inquiries: int = 0


def keep_replies(*, study: Study, days: int | None, actor: User | None) -> None:
    """Set for how many days replies are kept, None for good. Raises UserError for days that cannot be."""
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise UserError(f"replies are kept for 1 to {LONGEST_DAYS} days, or for good")
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.keep_replies_days != days:
            audit.record(
                scope=study.slug,
                actor=actor,
                action="retention set",
                subject=f"study {study.slug}",
                payload={"from": locked.keep_replies_days, "days": days},
            )
        locked.keep_replies_days = days
        locked.save(update_fields=["keep_replies_days"])
    study.keep_replies_days = days


def remove_replies(
    *, study: Study, actor: User | None, now: datetime | None = None, dry_run: bool = False
) -> Removed:
    """Remove the replies that are older than the study's rule; without one, nothing.

    Replies of a batch that is not over stay until it is: its calls still read them. Removed in pieces, each
    with its entry in the audit trail; done again, it removes what has become due since.
    """
    if study.keep_replies_days is None:
        return Removed()
    before = (now or timezone.now()) - timedelta(days=study.keep_replies_days)
    attempts = Attempt.objects.filter(
        call__run__batch__study=study,
        call__run__batch__status__in=(Batch.Status.FINISHED, Batch.Status.CANCELLED),
        finished_at__lt=before,
        reply_removed_at__isnull=True,
    ).exclude(reply="")
    inquiries = Inquiry.objects.filter(
        study=study, finished_at__lt=before, reply_removed_at__isnull=True
    ).exclude(reply="")
    if dry_run:
        return Removed(attempts.count(), inquiries.count())
    return Removed(
        _remove(Attempt, attempts, study=study, actor=actor, before=before),
        _remove(Inquiry, inquiries, study=study, actor=actor, before=before),
    )


def _remove(
    model: type[Attempt] | type[Inquiry],
    due: QuerySet[Any],
    *,
    study: Study,
    actor: User | None,
    before: datetime,
) -> int:
    removed, last = 0, 0
    while True:
        with transaction.atomic():
            # Two who remove at once take turns over the same rows: the guard allows the change once.
            piece = list(
                due.select_for_update(of=("self",))
                .filter(pk__gt=last)
                .order_by("pk")
                .values_list("pk", "reply")[:CHUNK]
            )
            if not piece:
                return removed
            last = piece[-1][0]
            at = timezone.now()
            rows = [(key, "", hashlib.sha256(reply.encode()).hexdigest(), at) for key, reply in piece]
            update_rows(
                model,
                ["reply", "reply_sha256", "reply_removed_at"],
                rows,
                only_if_null="reply_removed_at",
            )
            audit.record(
                scope=study.slug,
                actor=actor,
                action="replies removed",
                subject=f"study {study.slug}",
                payload={
                    "of": model._meta.model_name,
                    "replies": len(piece),
                    "finished_before": before.isoformat(),
                    "first": piece[0][0],
                    "last": last,
                },
            )
            removed += len(piece)


def refuse_if_removed(runs: QuerySet[Run], doing: str) -> None:
    """Raise RepliesRemoved if a reply of these runs was removed."""
    gone = Attempt.objects.filter(call__run__in=runs, reply_removed_at__isnull=False).count()
    if gone:
        raise RepliesRemoved(
            f"{gone} repl{'y was' if gone == 1 else 'ies were'} removed by the study's retention rule, so that "
            f"{doing} is no longer possible; the verdicts that were read stand"
        )
