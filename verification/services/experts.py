"""The experts' queue: sending a trace there, taking it, and saying what can be said, or that it stays open."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from annotation.models import Trace
from core import audit
from core.errors import Conflict, UserError
from core.models import User
from verification import queries
from verification.models import ExpertItem, ExpertRuling

State = ExpertItem.State
REASON_LENGTH = 5_000


class InvalidRuling(UserError):
    """A ruling that cannot be; the text says what is wrong."""


def send_to_experts(*, trace: Trace, reason: str, actor: User | None) -> ExpertItem:
    """Put a trace into the experts' queue; Conflict if it is there already."""
    reason = _reason(reason)
    try:
        with transaction.atomic():
            item = ExpertItem.objects.create(study=trace.study, trace=trace, reason=reason, opened_by=actor)
            audit.record(
                scope=trace.study.slug,
                actor=actor,
                action="sent to experts",
                subject=f"trace {trace.token}",
                payload={"reason": reason},
            )
    except IntegrityError:
        raise Conflict("This solution is in the experts' queue already.") from None
    return item


def take_needed(*, trace: Trace, expert: User) -> ExpertItem:
    """Take a trace that calls for an expert: an item is made of it, for the reasons that it called for one.

    Conflict if nothing calls for an expert any more, or if the trace is in the queue as an item already.
    """
    needs = queries.needs_of(trace)
    if not needs:
        raise Conflict("Nothing calls for an expert on this solution any more.")
    with transaction.atomic():
        reason = "; ".join(need.why for need in needs)
        item = send_to_experts(trace=trace, reason=reason[:REASON_LENGTH], actor=expert)
        take_item(item=item, expert=expert)
    item.refresh_from_db()
    return item


def take_item(*, item: ExpertItem, expert: User) -> None:
    """Take an item; taking one's own again changes nothing, Conflict if another expert has it or it is settled."""
    with transaction.atomic():
        taken = ExpertItem.objects.filter(pk=item.pk, state__in=(State.WAITING, State.LEFT_OPEN)).update(
            state=State.TAKEN, taken_by=expert
        )
        if taken:
            audit.record(
                scope=item.study.slug, actor=expert, action="expert item taken", subject=f"item {item.token}"
            )
            return
    now = ExpertItem.objects.select_related("taken_by").get(pk=item.pk)
    if now.state == State.SETTLED:
        raise Conflict("This item is settled already.")
    if now.taken_by_id != expert.pk:
        raise Conflict(f"{now.taken_by} has taken this item.")


def put_back(*, item: ExpertItem, expert: User) -> None:
    """Give an item that one has taken back to the queue: open again where a ruling left it open."""
    with transaction.atomic():
        ruling = queries.latest_ruling(item)
        state = State.LEFT_OPEN if ruling and ruling.outcome == "unresolved" else State.WAITING
        changed = ExpertItem.objects.filter(pk=item.pk, state=State.TAKEN, taken_by=expert).update(
            state=state, taken_by=None
        )
        if not changed:
            raise Conflict("You have not taken this item.")
        audit.record(
            scope=item.study.slug, actor=expert, action="expert item put back", subject=f"item {item.token}"
        )


def rule_on_item(
    *, item: ExpertItem, expert: User, outcome: str, reason: str, step: int | None = None
) -> ExpertRuling:
    """Record what the expert who took an item says: valid, failed (perhaps at a step), or unresolved.

    "unresolved" leaves the item open with its reason, and the trace without a settled label. Conflict unless
    the expert has taken the item.
    """
    reason = _reason(reason)
    if outcome not in ExpertRuling.Outcome.values:
        raise InvalidRuling("say whether it is valid, fails, or stays open")
    if step is not None:
        if outcome != ExpertRuling.Outcome.FAILED:
            raise InvalidRuling("a step is named only where it fails")
        if step < 1 or (item.trace.n_steps is not None and step > item.trace.n_steps):
            raise InvalidRuling(f"steps are counted from 1 to {item.trace.n_steps}")
    state = State.LEFT_OPEN if outcome == ExpertRuling.Outcome.UNRESOLVED else State.SETTLED
    with transaction.atomic():
        changed = ExpertItem.objects.filter(pk=item.pk, state=State.TAKEN, taken_by=expert).update(
            state=state, taken_by=None if state == State.LEFT_OPEN else expert
        )
        if not changed:
            raise Conflict("Take the item first: it may have been put back, or settled in another window.")
        last = queries.latest_ruling(item)
        ruling = ExpertRuling.objects.create(
            item=item,
            outcome=outcome,
            step=step,
            reason=reason,
            expert=expert,
            revision=last.revision + 1 if last else 1,
        )
        audit.record(
            scope=item.study.slug,
            actor=expert,
            action="expert ruled",
            subject=f"item {item.token}",
            payload={"outcome": outcome, "step": step, "reason": reason, "revision": ruling.revision},
        )
    return ruling


def _reason(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InvalidRuling("say why, in a sentence")
    if len(text) > REASON_LENGTH:
        raise InvalidRuling(f"the reason is longer than {REASON_LENGTH} characters")
    return text
