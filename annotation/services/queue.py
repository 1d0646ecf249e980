"""Handing out traces: each claim is atomic, held for a while, and follows the person's own seeded order."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from annotation import masking, queries, training
from annotation.models import Reservation, Skip, Study, Trace
from core import audit
from core.errors import UserError
from core.models import User

HOLD = 90  # minutes for which a claimed trace is kept for a person; renewed by each saved draft
WINDOW = 40  # candidates looked at together: the person's order is shuffled within it


class InvalidSkip(UserError):
    """A skip without its reason."""


def claim_next(*, study: Study, person: User) -> Trace | None:
    """Return the trace that the person should read next and hold it for them, None when none is open to them.

    None is open to a person who has still to pass the study's gate (`training.may_read`).

    What they hold already comes first, so that a restart resumes it. Traces that have, or are about to have,
    the study's number of labels are left out, as are those that the person labelled or skipped.
    """
    if not training.may_read(study, person):
        return None
    with transaction.atomic():
        held = queries.held_by(study, person)
        if held is not None:
            _hold(held, person)
            return held
        start = masking.queue_start(study, person)
        # Candidates that another transaction has locked are passed over at once; those that it has filled
        # meanwhile fail the second look. Both leave the window to be read again, a bounded number of times.
        for _ in range(5):
            tokens = queries.open_tokens(study, person, start=start, limit=WINDOW)
            if not tokens:
                return None
            for token in sorted(tokens, key=lambda token: masking.queue_rank(study, person, token)):
                trace = _lock(study, person, token)
                if trace is not None:
                    _hold(trace, person)
                    return trace
    return None


def skip_trace(*, trace: Trace, person: User, reason: str) -> Skip:
    """Give a trace back for good, with the reason; skipping it again is no change. The draft is kept."""
    reason = " ".join(reason.split())[:500]
    if not reason:
        raise InvalidSkip("say in a few words why you skip this trace")
    with transaction.atomic():
        skip, created = Skip.objects.get_or_create(trace=trace, person=person, defaults={"reason": reason})
        Reservation.objects.filter(trace=trace, person=person).delete()
        if created:
            audit.record(
                scope=trace.study.slug,
                actor=person,
                action="trace skipped",
                subject=f"trace {trace.token}",
                payload={"reason": reason},
            )
    return skip


def _lock(study: Study, person: User, token: str) -> Trace | None:
    """Lock one candidate and look again whether it is still open; None if not, or if somebody has it.

    The lock is the weak one: it stops other claims of this trace, but not the insertion of labels on it.
    """
    locked = (
        Trace.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .filter(study=study, token=token)
        .first()
    )
    if locked is None or not queries.offered_traces(study, person).filter(pk=locked.pk).exists():
        return None
    return locked


def _hold(trace: Trace, person: User) -> None:
    Reservation.objects.update_or_create(
        trace=trace, person=person, defaults={"expires_at": timezone.now() + timedelta(minutes=HOLD)}
    )
