"""A full export of a study, with its texts: what the imports read, and beside it what they do not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from adjudication.models import CriticalRole, Decision
from adjudication.queries import labels_of, standards_of
from adjudication.services.standards import row_of
from annotation import blindness
from annotation.access import roles_in
from annotation.models import DebateRound, Label, Question, Role, Study, Trace
from annotation.services.exporting import StillBlind
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.exports.folder import write_folder
from monitoring.models import Verdict

MANIFEST = "study_manifest.json"
CHUNK = 500
Row = dict[str, Any]


class NotAdministrator(UserError):
    """A full export is an administrator's."""


@dataclass(frozen=True)
class ExportedStudy:
    """What was written."""

    folder: str
    rows: dict[str, int]
    manifest_sha256: str


def export_study(*, study: Study, path: str | Path, actor: User) -> ExportedStudy:
    """Write everything of a study, texts included, and record who took it.

    `questions.jsonl`, `labels_human.jsonl`, `labels_debate.jsonl` and `debates.jsonl` are in the formats that
    the imports read; the others tell what they do not read. Raises NotAdministrator, StillBlind for an
    administrator who still has to decide or to label blind in this study, UserError for a folder that holds
    anything but an earlier export.
    """
    if Role.ADMINISTRATOR not in roles_in(study, actor):
        raise NotAdministrator(f'"{actor.username}" is no administrator of study "{study.slug}"')
    reasons = blindness.why_not_all_labels(study, actor)
    if reasons:
        raise StillBlind(reasons)
    files: dict[str, bytes] = {}
    rows: dict[str, int] = {}
    for name, of_study in FILES.items():
        lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in of_study(study)]
        if lines:
            files[name] = "".join(line + "\n" for line in lines).encode()
            rows[name] = len(lines)
    entries = {
        name: {"rows": rows[name], "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in files.items()
    }
    manifest = json.dumps(
        {"format": "falsestep study 1", "study": study.slug, "canary": study.canary, "files": entries},
        indent=1,
    )
    files[MANIFEST] = manifest.encode()
    digest = hashlib.sha256(files[MANIFEST]).hexdigest()
    with transaction.atomic():
        # First the entry, then the files: nobody takes a study without its being known.
        audit.record(
            scope=study.slug,
            actor=actor,
            action="study exported",
            subject=f"study {study.slug}",
            payload={"rows": rows, "manifest_sha256": digest, "canary": study.canary},
        )
        write_folder(Path(path), files, manifest=MANIFEST)
    return ExportedStudy(str(path), rows, digest)


def _questions(study: Study) -> Iterator[Row]:
    questions = Question.objects.filter(study=study).prefetch_related("reference_answers", "traces")
    for question in questions.order_by("external_id").iterator(chunk_size=CHUNK):
        answers = sorted(question.reference_answers.all(), key=lambda answer: answer.version)
        row: Row = {
            "canary": study.canary,
            "question_id": question.external_id,
            "statement": question.statement,
            "reference_answer": answers[0].text if answers and answers[0].version == 1 else "",
        }
        if answers and answers[-1].version > 1:
            row["corrected_answer"] = {"text": answers[-1].text, "reason": answers[-1].reason}
        for name in ("rationale", "subject"):
            if getattr(question, name):
                row[name] = getattr(question, name)
        if question.status == Question.Status.EXCLUDED:
            row |= {"status": question.status, "exclusion_reason": question.exclusion_reason}
        row["traces"] = [
            _trace(trace) for trace in sorted(question.traces.all(), key=lambda trace: trace.response_label)
        ]
        yield row


def _trace(trace: Trace) -> Row:
    row: Row = {"response_label": trace.response_label, "generator": trace.generator}
    if trace.cut == Trace.Cut.LISTED:
        return {**row, "steps": trace.steps}
    return {**row, "text": trace.text}


def _labels(arm: str) -> Callable[[Study], Iterator[Row]]:
    def rows(study: Study) -> Iterator[Row]:
        labels = (
            Label.objects.filter(trace__study=study, arm=arm, superseded_by__isnull=True)
            .select_related("trace__question")
            .defer("trace__steps", "trace__preamble")
            .order_by("trace__question__external_id", "trace__response_label", "labeller")
        )
        for label in labels.iterator(chunk_size=CHUNK):
            yield {
                **_key(label.trace),
                "labeller": label.labeller,
                "final_correct": label.final_correct,
                "first_error_step": label.first_error_step,
                **_range(label),
                **({"comment": label.comment} if label.comment else {}),
            }

    return rows


def _debates(study: Study) -> Iterator[Row]:
    order = list(DebateRound.Name.values)
    traces = Trace.objects.filter(study=study, debate_rounds__isnull=False).distinct()
    traces = traces.select_related("question").defer("steps", "preamble").prefetch_related("debate_rounds")
    for trace in traces.order_by("question__external_id", "response_label").iterator(chunk_size=CHUNK):
        rounds = sorted(trace.debate_rounds.all(), key=lambda one: order.index(one.name))
        yield {
            **_key(trace),
            "rounds": [
                {
                    "round": one.name,
                    "model": one.model,
                    "given": one.given,
                    "said": one.said,
                    **({"cost": float(one.cost)} if one.cost is not None else {}),
                }
                for one in rounds
            ],
        }


def _decisions(study: Study) -> Iterator[Row]:
    decisions = (
        Decision.objects.filter(dispute__study=study)
        .select_related("dispute__trace__question", "decided_by", "corrected_answer")
        .prefetch_related("consultations")
        .order_by("dispute__trace__question__external_id", "dispute__trace__response_label", "pk")
    )
    for decision in decisions:
        answer = decision.corrected_answer
        yield {
            **_key(decision.dispute.trace),
            "revision": decision.revision,
            "choice": decision.choice,
            "final_correct": decision.final_correct,
            "first_error_step": decision.first_error_step,
            **_range(decision),
            "rationale": decision.rationale,
            "proposals": decision.proposals,
            "consulted": [{"who": one.who, "why": one.why} for one in decision.consultations.all()],
            "corrected_answer": {"text": answer.text, "reason": answer.reason} if answer else None,
            "decided_by": decision.decided_by.username,
            "decided_at": decision.created_at.isoformat(),
        }


def _roles(study: Study) -> Iterator[Row]:
    roles = CriticalRole.objects.filter(trace__study=study, superseded_by__isnull=True).exclude(kind="")
    roles = roles.select_related("trace__question")
    for role in roles.order_by("trace__question__external_id", "trace__response_label"):
        yield {**_key(role.trace), "kind": role.kind}


def _standards(study: Study) -> Iterator[Row]:
    for standard in standards_of(study).order_by("version"):
        for label in labels_of(standard):
            yield {"version": standard.version, "sha256": standard.sha256, **asdict(row_of(label))}


def _verdicts(study: Study) -> Iterator[Row]:
    verdicts = (
        Verdict.objects.filter(run__batch__study=study)
        .select_related("run__batch", "run__monitor", "trace__question")
        .defer("trace__steps", "trace__preamble")
        .order_by(
            "run__batch__number",
            "run__condition",
            "run__monitor__slug",
            "trace__question__external_id",
            "trace__response_label",
        )
    )
    for verdict in verdicts.iterator(chunk_size=CHUNK):
        yield {
            "batch": verdict.run.batch.number,
            "condition": verdict.run.condition,
            "monitor": verdict.run.monitor.slug,
            **_key(verdict.trace),
            "outcome": verdict.outcome,
            "has_error": verdict.has_error,
            "first_error_step": verdict.first_error_step,
            "error_confidence": verdict.error_confidence,
            "reason": verdict.reason,
        }


def _key(trace: Trace) -> Row:
    return {"question_id": trace.question.external_id, "response_label": trace.response_label}


def _range(holder: Label | Decision) -> Row:
    if holder.first_error_step_min is None:
        return {}
    return {
        "first_error_step_min": holder.first_error_step_min,
        "first_error_step_max": holder.first_error_step_max,
    }


FILES: dict[str, Callable[[Study], Iterator[Row]]] = {
    "questions.jsonl": _questions,
    "labels_human.jsonl": _labels(Label.Arm.HUMAN),
    "labels_debate.jsonl": _labels(Label.Arm.DEBATE),
    "debates.jsonl": _debates,
    "decisions.jsonl": _decisions,
    "critical_roles.jsonl": _roles,
    "standards.jsonl": _standards,
    "verdicts.jsonl": _verdicts,
}
