"""Submitting a label of the human arm."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation import blindness, hooks
from annotation.models import CheckItem, Label, PilotJudgement, Study, Trace
from annotation.pilot import NO_PILOT, PilotValues, values_of
from annotation.queries import current_label, labeller_name
from annotation.services import tally
from annotation.services.guideline import ensure_guideline
from core import audit, statements, webhooks
from core.errors import Conflict, UserError
from core.models import User

COMMENT_LENGTH = 20_000
LONGEST_SITTING = 8 * 3600


class InvalidLabel(UserError):
    """The two judgements do not make a label of this trace."""


def submit_label(
    *,
    trace: Trace,
    person: User,
    final_correct: bool,
    first_error_step: int | None,
    comment: str = "",
    expected_revision: int = 0,
    active_seconds: int | None = None,
    pilot: PilotValues = NO_PILOT,
) -> Label:
    """Record a person's judgements on a trace; a change is a new row that supersedes the old.

    `expected_revision` is the revision that the person had before them (0: none). The same judgements again,
    a double click or a repeated request, are no change and give the label that stands. `pilot` holds what the
    richer form of a pilot study asks beside them. Raises InvalidLabel
    for a step outside 1..n_steps, Conflict when another tab has submitted other judgements meanwhile.
    """
    comment = comment.replace("\r\n", "\n").strip()
    _check(trace, first_error_step, comment, pilot)
    values = (final_correct, first_error_step, comment, pilot)
    try:
        with transaction.atomic():
            return _record(trace, person, values, expected_revision, active_seconds)
    except IntegrityError:
        # A simultaneous request of the same person took this revision. What it wrote stands.
        standing = current_label(trace, person)
        if standing is None or _values(standing, trace) != values:
            raise _stale(standing) from None
        with transaction.atomic():
            _finish(trace, person)
        return standing


def _check(trace: Trace, step: int | None, comment: str, pilot: PilotValues) -> None:
    if trace.n_steps is None or not trace.steps:
        raise InvalidLabel("this trace came without its text, so it cannot be judged here")
    if step is not None and not 1 <= step <= trace.n_steps:
        raise InvalidLabel(f"step {step} is not in this trace: its steps are 1 to {trace.n_steps}")
    if pilot and trace.study.kind != Study.Kind.PILOT:
        raise InvalidLabel("only a pilot study asks for coherence and the kind of error")
    if refusal := pilot.refusal(step):
        raise InvalidLabel(refusal)
    if len(comment) > COMMENT_LENGTH:
        raise InvalidLabel(f"the comment is longer than {COMMENT_LENGTH} characters")


_LABEL = statements.Columns(Label)
_BEFORE = f"""
SELECT c.kind, g.id, g.version, {_LABEL.of("l")}
FROM annotation_trace t
LEFT JOIN annotation_checkitem c ON c.trace_id = t.id
LEFT JOIN annotation_guidelineversion g ON g.id = (
    SELECT n.id FROM annotation_guidelineversion n WHERE n.study_id = %(study)s ORDER BY n.version DESC LIMIT 1)
LEFT JOIN annotation_label l ON l.id = (
    SELECT n.id FROM annotation_label n WHERE n.trace_id = %(trace)s AND n.arm = 'human' AND n.labeller = %(name)s
    ORDER BY n.revision DESC LIMIT 1)
WHERE t.id = %(trace)s
"""  # noqa: S608 - our own columns
_NEW = [field for field in _LABEL.fields if field.attname != "id"]
_ADD = f"""
INSERT INTO annotation_label ({", ".join(str(field.column) for field in _NEW)})
VALUES ({", ".join(f"%({field.attname})s" for field in _NEW)}) RETURNING id
"""  # noqa: S608 - our own columns
_DROP_DRAFT = "DELETE FROM annotation_draft WHERE trace_id = %(trace)s AND person_id = %(person)s"
_DROP_HOLD = "DELETE FROM annotation_reservation WHERE trace_id = %(trace)s AND person_id = %(person)s"


def _before(trace: Trace, person: User) -> tuple[str | None, int | None, int | None, Label | None]:
    """Return the trace's kind of check item, the guideline in force (key, version) and the person's label.

    They stand as they are once recounts are kept away, until the transaction ends.
    """
    values = {"trace": trace.pk, "study": trace.study_id, "name": labeller_name(person)}
    *_, found = statements.together(*tally.holding(trace.study_id), (_BEFORE, values))
    if not found:
        return None, None, None, None
    kind, guideline, version, *label = found[0]
    return kind, guideline, version, _LABEL.build_or_none(label)


def _record(
    trace: Trace,
    person: User,
    values: tuple[bool, int | None, str, PilotValues],
    expected_revision: int,
    active_seconds: int | None,
) -> Label:
    kind, guideline, version, standing = _before(trace, person)
    if kind is not None and kind != CheckItem.Kind.HIDDEN:
        raise InvalidLabel("this solution belongs to the training; it is not labelled")
    if standing is not None and _values(standing, trace) == values:
        _finish(trace, person)
        return standing
    revision = standing.revision if standing else 0
    if revision != expected_revision:
        raise _stale(standing)
    if standing is not None:
        blindness.refuse_revision(trace)
    final_correct, first_error_step, comment, pilot = values
    if guideline is None:
        made = ensure_guideline(study=trace.study, actor=person)
        guideline, version = made.pk, made.version
    label = Label(
        trace=trace,
        arm=Label.Arm.HUMAN,
        labeller=labeller_name(person),
        person=person,
        final_correct=final_correct,
        first_error_step=first_error_step,
        comment=comment,
        guideline_id=guideline,
        active_seconds=_active_seconds(active_seconds, standing),
        revision=revision + 1,
        supersedes=standing,
        source="desk",
    )
    # Before what others count in too: those rows are locked for as short a time as can be.
    _insert(label, _finishing(trace, person))
    if pilot:
        PilotJudgement.objects.create(label=label, coherence=pilot.coherence, error_type=pilot.error_type)
    if standing is None:
        _tell(trace)
    # A ruling locks its dispute first and the audit chain last, and so must this.
    followed = hooks.follow(study=trace.study, question=trace.question, actor=person)
    if standing is None:
        # Everybody's labels count in the study's one row: it is locked as late as can be.
        tally.label_added(trace=trace, labeller=label.labeller)
    for record in followed:
        record()
    audit.record(
        scope=trace.study.slug,
        actor=person,
        action="label submitted" if revision == 0 else "label revised",
        subject=f"trace {trace.token}",
        payload={
            "label": label.pk,
            "revision": label.revision,
            "final_correct": final_correct,
            "first_error_step": first_error_step,
            "guideline": version,
            **({"coherence": pilot.coherence, "error_type": pilot.error_type} if pilot else {}),
        },
    )
    return label


def _tell(trace: Trace) -> None:
    """Tell webhooks of a new label, unless its trace is in dispute.

    A message may reach a lead: it must not tell which of the proposals before them came from a person.
    """
    scope, event = trace.study.slug, webhooks.Event.LABEL_SUBMITTED
    if webhooks.wants(scope, event) and not blindness.undecided(trace.study).filter(pk=trace.pk).exists():
        webhooks.emit(scope=scope, event=event, ids={"trace": trace.token})


def _active_seconds(told: int | None, standing: Label | None) -> int | None:
    """Return the active time of this revision alone.

    A page that came back from the browser's memory goes on counting from what it sent before: no revision has
    more time than has passed since the one before it.
    """
    if told is None:
        return None
    most = LONGEST_SITTING
    if standing is not None:
        most = min(most, int((timezone.now() - standing.created_at).total_seconds()))
    return max(0, min(told, most))


def _insert(label: Label, afterwards: list[tuple[str, dict[str, Any]]]) -> None:
    """Write a new label, and run what follows; IntegrityError if its revision is taken."""
    values = {field.attname: getattr(label, field.attname) for field in _NEW}
    label.pk = statements.together((_ADD, values), *afterwards)[0][0][0]
    label._state.adding = False


def _finish(trace: Trace, person: User) -> None:
    statements.together(*_finishing(trace, person))


def _finishing(trace: Trace, person: User) -> list[tuple[str, dict[str, Any]]]:
    """Return what removes the draft and the hold of a trace that is labelled."""
    values = {"trace": trace.pk, "person": person.pk}
    return [(_DROP_DRAFT, values), (_DROP_HOLD, values)]


def _values(label: Label, trace: Trace) -> tuple[bool, int | None, str, PilotValues]:
    pilot = values_of(label) if trace.study.kind == Study.Kind.PILOT else NO_PILOT
    return (label.final_correct, label.first_error_step, label.comment, pilot)


def _stale(standing: Label | None) -> Conflict:
    when = f" at {standing.created_at:%H:%M} UTC" if standing else ""
    return Conflict(
        f"You submitted other judgements on this trace{when}, perhaps in another tab. They stand; what you "
        "entered here is still on this page. Reload to see what stands, then change it if you wish."
    )
