"""Correct labels of a frozen standard by making its next version, with a reason."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction

from adjudication.judgements import Judgement
from adjudication.models import StandardLabel
from adjudication.services.assembly import Draft
from adjudication.services.carried import Provenance
from adjudication.services.hashing import StandardRow
from adjudication.services.locking import lock_study
from adjudication.services.rulings import InvalidDecision, check_steps
from adjudication.services.standards import Frozen, create_version, drafts_of, standard_numbered
from annotation.models import Study
from core import audit, webhooks
from core.errors import UserError
from core.models import User

FIELDS = ("final_correct", "first_error_step", "first_error_step_min", "first_error_step_max")
YES, NO, NOTHING = ("1", "true", "right"), ("0", "false", "wrong"), ("none", "null", "")


class PatchRefused(UserError):
    """A patch that cannot be made; nothing is changed."""


@dataclass(frozen=True)
class Change:
    """New values for one trace; `response_label` may be the last word of the stored one (`A`)."""

    question_id: str
    response_label: str
    values: Mapping[str, bool | int | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.question_id}/{self.response_label}"


def parse_change(text: str) -> Change:
    """Read QID/LABEL:field=value,field=value; raises PatchRefused saying what is wrong."""
    target, colon, assignments = text.rpartition(":")
    question_id, slash, label = target.partition("/")
    if not (colon and slash and question_id.strip() and label.strip() and assignments.strip()):
        raise PatchRefused(f'cannot read "{text}": write QID/LABEL:field=value,field=value')
    values: dict[str, bool | int | None] = {}
    for assignment in assignments.split(","):
        name, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals or name not in FIELDS:
            raise PatchRefused(f'cannot set "{assignment.strip()}": the fields are {", ".join(FIELDS)}')
        if name in values:
            raise PatchRefused(f'"{text}" sets {name} twice')
        values[name] = _truth(value) if name == "final_correct" else _step(name, value)
    return Change(question_id.strip(), label.strip(), values)


@transaction.atomic
def patch_standard(
    *, study: Study, from_version: int, changes: Sequence[Change], reason: str, actor: User | None = None
) -> Frozen:
    """Make a new version that is `from_version` with the changes, and keep the reason with it.

    A new first error step without a range of its own drops the old range. An unresolved label becomes ready
    when the change says right or wrong. Raises PatchRefused for an unknown trace, a step that the solution
    does not have, an excluded question, or when nothing would change.
    """
    study = lock_study(study.pk)
    parent = standard_numbered(study, from_version)
    reason = reason.strip()
    if not reason:
        raise PatchRefused("a patch states its reason: it is kept with the new version")
    if not changes:
        raise PatchRefused("name at least one change")
    drafts = {draft.row.key: draft for draft in drafts_of(parent)}
    told = []
    for change in changes:
        key = _find(change, drafts.keys())
        before = drafts[key]
        after = replace(before, row=_patched(change, before))
        drafts[key] = after
        told.append(
            {
                "trace": f"{key[0]}/{key[1]}",
                "from": {name: getattr(before.row, name) for name in FIELDS},
                "to": {name: getattr(after.row, name) for name in FIELDS},
            }
        )
    frozen = create_version(
        study=study,
        drafts=list(drafts.values()),
        guideline=parent.guideline,
        parent=parent,
        reason=reason,
        actor=actor,
    )
    if frozen.created:
        audit.record(
            scope=study.slug,
            actor=actor,
            action="standard patched",
            subject=f"standard {frozen.standard.version}",
            payload={
                "version": frozen.standard.version,
                "from_version": parent.version,
                "sha256": frozen.standard.sha256,
                "reason": reason,
                "changes": told,
            },
        )
        webhooks.emit(
            scope=study.slug,
            event=webhooks.Event.STANDARD_FROZEN,
            ids={"standard": frozen.standard.version, "sha256": frozen.standard.sha256},
        )
    return frozen


def _patched(change: Change, draft: Draft) -> StandardRow:
    row = draft.row
    if row.status == StandardLabel.Status.EXCLUDED:
        raise PatchRefused(
            f"{change.name} is excluded ({row.status_reason}): include its question and freeze anew"
        )
    values = {name: getattr(row, name) for name in FIELDS}
    if "first_error_step" in change.values:
        values["first_error_step_min"] = values["first_error_step_max"] = None
    values.update(change.values)
    judgement = Judgement.of(*values.values())
    if judgement is None:
        raise PatchRefused(f"{change.name} is {row.status} ({row.status_reason}): set final_correct as well")
    try:
        check_steps(judgement, n_steps=draft.n_steps)
    except InvalidDecision as error:
        raise PatchRefused(f"{change.name}: {error}") from error
    after = replace(row, status=StandardLabel.Status.READY.value, status_reason="", **values)
    if after == row:
        raise PatchRefused(f"{change.name} says so already: nothing would change")
    return replace(after, provenance=Provenance.PATCHED)


def _find(change: Change, keys: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the one key that a change means; near matches are named when there is none."""
    known = list(keys)
    wanted = (change.question_id, change.response_label)
    if wanted in known:
        return wanted
    short = [
        key
        for key in known
        if key[0] == change.question_id and key[1].split()[-1:] == [change.response_label]
    ]
    if len(short) == 1:
        return short[0]
    if short:
        names = ", ".join(f'"{label}"' for _, label in short)
        raise PatchRefused(f"{change.name} could be {names}: write the whole label")
    questions = {question for question, _ in known}
    meant = difflib.get_close_matches(change.question_id, sorted(questions), n=1)
    near = [f"{question}/{label}" for question, label in known if question in meant]
    hint = f"; did you mean {', '.join(near[:5])}?" if near else ""
    raise PatchRefused(f"the standard has no trace {change.name}{hint}")


def _truth(value: str) -> bool:
    if value.lower() in YES:
        return True
    if value.lower() in NO:
        return False
    raise PatchRefused(f'final_correct is 1 or 0, not "{value}"')


def _step(name: str, value: str) -> int | None:
    if value.lower() in NOTHING:
        return None
    if not (value.isascii() and value.isdigit()):
        raise PatchRefused(f'{name} is a step number from 1, or none; not "{value}"')
    return int(value)
