"""What an administrator sets in the queue: its rules, who is paused, what is read first, who reads what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation import queries
from annotation.models import (
    Assignment,
    Membership,
    Pause,
    PersonProgress,
    Reservation,
    Role,
    Study,
    Trace,
    TraceProgress,
)
from annotation.services import tally
from annotation.services.queue import HIGHEST, assign_what_was_given, hold_trace
from core import audit
from core.errors import Conflict, UserError
from core.models import User

SETTINGS = ("overlap", "coverage", "share", "sharing", "show_reference_answer")
MOST_LABELS = 50


class InvalidSetting(UserError):
    """A value that a queue cannot have."""


def change_queue(
    *,
    study: Study,
    actor: User | None,
    overlap: int,
    coverage: str,
    share: int,
    sharing: str,
    show_reference_answer: bool,
) -> bool:
    """Set the rules of a study's queue and count it anew; return whether anything changed.

    `share` is in percent. Labels that are here stay, whatever the rules say now.
    """
    if not 1 <= overlap <= MOST_LABELS:
        raise InvalidSetting(f"labels per trace are 1 to {MOST_LABELS}")
    if not 1 <= share <= 100:
        raise InvalidSetting("the share is 1 to 100 percent")
    if coverage not in Study.Coverage.values or sharing not in Study.Sharing.values:
        raise InvalidSetting("choose one of the ways that are offered")
    given = dict(zip(SETTINGS, (overlap, coverage, share, sharing, show_reference_answer), strict=True))
    with transaction.atomic():
        tally.hold(study.pk, recount=True)
        held = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        changes = {
            name: {"from": getattr(held, name), "to": value}
            for name, value in given.items()
            if getattr(held, name) != value
        }
        for name, value in given.items():
            setattr(held, name, value)
            setattr(study, name, value)
        if not changes:
            return False
        held.save(update_fields=list(changes))
        if sharing != Study.Sharing.FREE:
            assign_what_was_given(held)
        tally.refresh(held)
        audit.record(
            scope=study.slug, actor=actor, action="queue changed", subject=study.slug, payload=changes
        )
    return True


def pause_person(*, study: Study, person: User, actor: User | None, reason: str = "") -> None:
    """Give a person no traces until further notice; what they hold goes back, their drafts are kept."""
    with transaction.atomic():
        _, created = Pause.objects.get_or_create(
            study=study, person=person, defaults={"reason": " ".join(reason.split())[:200]}
        )
        if not created:
            return
        Reservation.objects.filter(person=person, trace__study=study).delete()
        audit.record(scope=study.slug, actor=actor, action="person paused", subject=person.username)


def resume_person(*, study: Study, person: User, actor: User | None) -> None:
    """End a pause."""
    with transaction.atomic():
        deleted, _ = Pause.objects.filter(study=study, person=person).delete()
        if deleted:
            audit.record(scope=study.slug, actor=actor, action="person resumed", subject=person.username)


def release_hold(*, trace: Trace, person: User, actor: User | None) -> None:
    """Take a held trace back, so that anybody may get it; a draft on it is kept."""
    with transaction.atomic():
        deleted, _ = Reservation.objects.filter(trace=trace, person=person).delete()
        if deleted:
            _record_hold(trace, actor, "hold released", {"person": person.username})


def reassign_hold(*, trace: Trace, person: User, to: User, actor: User | None) -> datetime:
    """Pass a held trace from one annotator to another; return until when it is held for them.

    Raises Conflict where nothing is held, where the other has judged the trace, or holds another one.
    """
    study = trace.study
    if not Membership.objects.filter(study=study, person=to, role=Role.ANNOTATOR).exists():
        raise InvalidSetting(f"{to} is no annotator of this study")
    with transaction.atomic():
        if queries.is_paused(study, to):
            raise Conflict(f"{to} is paused: end the pause first")
        if queries.current_label(trace, to) is not None:
            raise Conflict(f"{to} has judged this trace already")
        live = Reservation.objects.filter(person=to, trace__study=study, expires_at__gt=timezone.now())
        if live.exclude(trace=trace).exists():
            raise Conflict(f"{to} holds another trace and would get this one only after it")
        deleted, _ = Reservation.objects.filter(trace=trace, person=person).delete()
        if not deleted:
            raise Conflict(f"{person} does not hold this trace any more")
        if study.sharing != Study.Sharing.FREE:
            Assignment.objects.get_or_create(question_id=trace.question_id, person=to)
        until = hold_trace(trace, to)
        _record_hold(trace, actor, "hold reassigned", {"from": person.username, "to": to.username})
    return until


def set_priority(*, study: Study, questions: Sequence[str], priority: int, actor: User | None) -> int:
    """Hand out the traces of these questions earlier (9) or later (0); return how many traces changed.

    Raises InvalidSetting, and changes nothing, when the study does not have one of the questions.
    """
    if not 0 <= priority <= HIGHEST:
        raise InvalidSetting(f"a priority is 0 to {HIGHEST}")
    names = list(dict.fromkeys(questions))
    known = set(study.questions.filter(external_id__in=names).values_list("external_id", flat=True))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidSetting(f'no question "{unknown[0]}" in this study')
    with transaction.atomic():
        rows = TraceProgress.objects.filter(study=study, question__external_id__in=names)
        changed = rows.exclude(priority=priority).update(priority=priority)
        if changed:
            # Everybody's place in the order is found anew: what comes first now may lie behind it.
            PersonProgress.objects.filter(study=study).update(cursor="", until="")
            audit.record(
                scope=study.slug,
                actor=actor,
                action="priority set",
                subject=study.slug,
                payload={"priority": priority, "questions": names, "traces": changed},
            )
    return changed


def _record_hold(trace: Trace, actor: User | None, action: str, payload: dict[str, str]) -> None:
    audit.record(
        scope=trace.study.slug, actor=actor, action=action, subject=f"trace {trace.token}", payload=payload
    )
