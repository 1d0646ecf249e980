"""Freeze a reference standard, patch it into a new version, tell two versions apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction

from adjudication import queries
from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.services.assembly import Draft, Precondition, assemble, freeze_preconditions
from adjudication.services.disputes import recompute_disputes
from adjudication.services.hashing import StandardRow, standard_sha256, text_sha256
from adjudication.services.locking import lock_study
from annotation.models import GuidelineVersion, Study
from core import audit, bulk, webhooks
from core.errors import UserError
from core.models import AuditEntry, User


class FreezeRefused(UserError):
    """Something stands in the way; `blockers` says what, with counts."""

    def __init__(self, blockers: Sequence[Precondition]) -> None:
        self.blockers = list(blockers)
        lines = [f"{one.count} {one.name}: {one.text}" + _for_example(one) for one in blockers]
        super().__init__("nothing was frozen:\n" + "\n".join(lines))


@dataclass(frozen=True)
class Frozen:
    """The standard that holds the content; `created` is false when a version said exactly this already."""

    standard: ReferenceStandard
    created: bool
    notes: tuple[Precondition, ...] = ()


def freeze_standard(
    *, study: Study, note: str = "", actor: User | None = None, allow_open: bool = False
) -> Frozen:
    """Freeze the labels and decisions of a study as its next version.

    Open disputes block, unless `allow_open` leaves them in the standard as unresolved. Freezing what the
    newest version already says makes no new one. Raises FreezeRefused.
    """
    recompute_disputes(study=study, actor=actor)
    with transaction.atomic():
        # Rulings take the same lock: what is read here is what gets frozen.
        study = lock_study(study.pk)
        drafts = assemble(study)
        conditions = freeze_preconditions(study, drafts)
        blockers = [
            one for one in conditions if one.blocks and not (allow_open and one.name == "open disputes")
        ]
        if blockers:
            raise FreezeRefused(blockers)
        guideline = GuidelineVersion.objects.filter(study=study).order_by("-version").first()
        digest = standard_sha256((draft.row for draft in drafts), guideline.version if guideline else None)
        newest = queries.latest_standard(study)
        if newest is not None and newest.sha256 == digest:
            return Frozen(newest, created=False, notes=tuple(conditions))
        standard = _create(
            study=study,
            drafts=drafts,
            guideline=guideline,
            digest=digest,
            parent=None,
            note=note.strip(),
            actor=actor,
        )
        audit.record(
            scope=study.slug,
            actor=actor,
            action="standard frozen",
            subject=f"standard {standard.version}",
            payload={
                "version": standard.version,
                "sha256": digest,
                "note": standard.note,
                "traces": len(drafts),
                "conditions": {condition.name: condition.count for condition in conditions},
            },
        )
        webhooks.emit(
            scope=study.slug,
            event=webhooks.Event.STANDARD_FROZEN,
            ids={"standard": standard.version, "sha256": digest},
        )
    return Frozen(standard, created=True, notes=tuple(conditions))


def create_version(
    *,
    study: Study,
    drafts: Sequence[Draft],
    guideline: GuidelineVersion | None,
    parent: ReferenceStandard | None,
    reason: str,
    actor: User | None,
    imported: bool = False,
) -> Frozen:
    """Store drafts as a new version; the study's row must be locked by the caller.

    A patch stands on its `parent`; labels that a release brings (`imported`) stand on none. A version that says exactly
    this already is returned instead of a new one.
    """
    digest = standard_sha256((draft.row for draft in drafts), guideline.version if guideline else None)
    same = study.standards.filter(sha256=digest).order_by("-version").first()
    if same is not None:
        return Frozen(same, created=False)
    standard = _create(
        study=study,
        drafts=drafts,
        guideline=guideline,
        digest=digest,
        parent=parent,
        note=reason,
        actor=actor,
        imported=imported,
    )
    return Frozen(standard, created=True)


def drafts_of(standard: ReferenceStandard) -> list[Draft]:
    """Return a frozen standard's rows as drafts, in the order of natural keys."""
    return [
        Draft(row_of(label), label.trace_id, label.trace.n_steps, label.reference_answer_id)
        for label in queries.labels_of(standard)
    ]


def row_of(label: StandardLabel) -> StandardRow:
    """Return a stored label as it entered the hash."""
    answer = label.reference_answer
    return StandardRow(
        question_id=label.trace.question.external_id,
        response_label=label.trace.response_label,
        trace_sha256=label.trace.sha256,
        status=label.status,
        status_reason=label.status_reason,
        final_correct=label.final_correct,
        first_error_step=label.first_error_step,
        first_error_step_min=label.first_error_step_min,
        first_error_step_max=label.first_error_step_max,
        provenance=label.provenance,
        human_final_correct=label.human_final_correct,
        human_first_error_step=label.human_first_error_step,
        debate_final_correct=label.debate_final_correct,
        debate_first_error_step=label.debate_first_error_step,
        reference_answer_version=answer.version if answer else None,
        reference_answer_sha256=text_sha256(answer.text) if answer else None,
    )


def content_sha256(standard: ReferenceStandard) -> str:
    """Compute the hash of a stored standard anew; it must equal the one on its card."""
    guideline = standard.guideline
    rows = (draft.row for draft in drafts_of(standard))
    return standard_sha256(rows, guideline.version if guideline else None)


class StandardChanged(UserError):
    """A stored standard no longer has the hash on its card: nothing may be computed or released from it."""

    def __init__(self, standard: ReferenceStandard, found: str) -> None:
        super().__init__(
            f"standard {standard.version} was changed in the database: its sha256 is {found}, the one it was frozen "
            f"with {standard.sha256}; nothing is computed from it. verify_audit_trail tells more"
        )


def check_unchanged(standard: ReferenceStandard) -> None:
    """Raise StandardChanged unless the stored rows still have the hash that the standard was frozen with."""
    found = content_sha256(standard)
    if found != standard.sha256:
        raise StandardChanged(standard, found)


def changed_behind_the_guards(study_slug: str | None) -> Iterator[audit.Break]:
    """Yield each standard (of one study, or of all) whose rows no longer have the hash on its card.

    A break stands at the audit entry that recorded the standard, 0 where there is none.
    """
    standards = ReferenceStandard.objects.select_related("study", "guideline").order_by("study", "version")
    if study_slug is not None:
        standards = standards.filter(study__slug=study_slug)
    for standard in standards:
        if content_sha256(standard) == standard.sha256:
            continue
        scope = standard.study.slug
        entry = AuditEntry.objects.filter(
            chain__scope=scope, action__startswith="standard", subject=f"standard {standard.version}"
        ).first()
        yield audit.Break(
            scope, entry.sequence if entry else 0, f"standard {standard.version} no longer has its sha256"
        )


def standard_numbered(study: Study, version: int) -> ReferenceStandard:
    """Return one version; UserError names those that exist."""
    standard = queries.standards_of(study).filter(version=version).first()
    if standard is None:
        versions = study.standards.order_by("version").values_list("version", flat=True)
        known = ", ".join(str(number) for number in versions) or "none yet"
        raise UserError(f'study "{study.slug}" has no standard {version}; there are: {known}')
    return standard


def _create(
    *,
    study: Study,
    drafts: Iterable[Draft],
    guideline: GuidelineVersion | None,
    digest: str,
    parent: ReferenceStandard | None,
    note: str,
    actor: User | None,
    imported: bool = False,
) -> ReferenceStandard:
    newest = queries.latest_standard(study)
    standard = ReferenceStandard.objects.create(
        study=study,
        version=newest.version + 1 if newest else 1,
        sha256=digest,
        parent=parent,
        note=note,
        guideline=guideline,
        frozen_by=actor,
        imported=imported,
    )
    bulk.insert(
        [
            StandardLabel(
                standard=standard,
                trace_id=draft.trace_id,
                reference_answer_id=draft.reference_answer_id,
                status=draft.row.status,
                status_reason=draft.row.status_reason,
                final_correct=draft.row.final_correct,
                first_error_step=draft.row.first_error_step,
                first_error_step_min=draft.row.first_error_step_min,
                first_error_step_max=draft.row.first_error_step_max,
                provenance=draft.row.provenance,
                human_final_correct=draft.row.human_final_correct,
                human_first_error_step=draft.row.human_first_error_step,
                debate_final_correct=draft.row.debate_final_correct,
                debate_first_error_step=draft.row.debate_first_error_step,
            )
            for draft in drafts
        ]
    )
    return standard


def _for_example(condition: Precondition) -> str:
    if not condition.examples:
        return ""
    shown = ", ".join(condition.examples[:5])
    return f" ({shown}{', ...' if condition.count > 5 else ''})"
