"""Importing debates: the rounds of each trace, and the debate arm's label from its consensus (docs/formats.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation import hooks
from annotation.access import study_named
from annotation.imports.fields import Fields, RefusedRow, check_step
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_QUESTION_ID, MAX_RESPONSE_LABEL
from annotation.models import DebateRound, Label, Study, Trace
from core import audit
from core.errors import BadRow
from core.models import User

CHUNK = 200
LABELLER = "debate"
ROUND = DebateRound.Name
FIELDS = frozenset({"question_id", "response_label", "rounds"})
ROUND_FIELDS = frozenset({"round", "model", "given", "said", "cost"})
VERDICT = frozenset(
    {"is_correct", "error_step", "reference_dispute", "reference_dispute_reason", "confidence", "skipped"}
)
SAID = {
    ROUND.R1: VERDICT | {"notes"},
    ROUND.R2: VERDICT | {"agree_with_prior", "critique"},
    ROUND.R3: VERDICT | {"changed_mind", "needs_human", "resolution"},
    ROUND.BLIND: VERDICT | {"notes"},
    ROUND.CONSENSUS: VERDICT | {"needs_human", "final_rationale"},
}
# What a round builds on must be there too.
NEEDS = {ROUND.R2: (ROUND.R1,), ROUND.R3: (ROUND.R1, ROUND.R2), ROUND.CONSENSUS: (ROUND.R1, ROUND.BLIND)}


@dataclass(frozen=True)
class RoundRecord:
    """One round as a file has it."""

    name: str
    model: str
    given: dict[str, Any]
    said: dict[str, Any]
    cost: Decimal | None
    is_correct: bool | None
    error_step: int | None
    settles: bool

    def same_as(self, held: DebateRound) -> bool:
        """Whether a stored round says exactly this."""
        return (self.model, self.given, self.said, self.cost) == (
            held.model,
            held.given,
            held.said,
            held.cost,
        )


@dataclass(frozen=True)
class DebateRow:
    """One line: the debate on one trace."""

    line: int
    question_id: str
    response_label: str
    rounds: tuple[RoundRecord, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The trace's natural key."""
        return (self.question_id, self.response_label)

    @property
    def verdict(self) -> RoundRecord | None:
        """The consensus, if it settles the trace."""
        return next((one for one in self.rounds if one.name == ROUND.CONSENSUS and one.settles), None)


@dataclass
class DebatesReport:
    """What an import of debates did, or would do."""

    file: str
    study: str
    dry_run: bool
    sha256: str = ""
    rows: int = 0
    rounds: Counter[str] = field(default_factory=Counter)
    same_rounds: int = 0
    labels: int = 0
    same_labels: int = 0
    unsettled: int = 0
    cost: Decimal = Decimal(0)
    bad: list[BadRow] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "study": self.study,
            "dry_run": self.dry_run,
            "rows": self.rows,
            "new_rounds": dict(sorted(self.rounds.items())),
            "unchanged_rounds": self.same_rounds,
            "new_labels": self.labels,
            "unchanged_labels": self.same_labels,
            "without_a_verdict": self.unsettled,
            "cost": float(self.cost),
            "bad_rows": [{"line": row.line, "reason": row.reason} for row in self.bad],
        }


def import_debates(
    *, path: str | Path, study_slug: str, dry_run: bool = False, actor: User | None = None
) -> DebatesReport:
    """Import a file of debates, all of it or nothing.

    A consensus that is neither skipped nor left to a person becomes the trace's label of the debate arm, its
    rationale the label's comment. A round that is here already must be the same, and so must a label. Raises
    UserError for an unknown study or an unreadable file, ImportRefused for bad rows; a dry run writes nothing
    and lists bad rows in the report instead.
    """
    study = study_named(study_slug)
    with Source(path) as source, transaction.atomic():
        report = DebatesReport(source.name, study.slug, dry_run)
        seen: dict[tuple[str, str], int] = {}
        chunk: list[DebateRow] = []
        for row in read_each(source, read):
            report.rows += 1
            if seen.setdefault(row.key, row.line) != row.line:
                source.refuse(row.line, f'"{"/".join(row.key)}" stands on line {seen[row.key]} already')
                continue
            chunk.append(row)
            if len(chunk) == CHUNK:
                _take(study, chunk, source, report)
                chunk = []
        _take(study, chunk, source, report)
        report.sha256 = source.sha256
        report.bad = sorted(source.bad, key=lambda row: row.line)
        if dry_run:
            transaction.set_rollback(True)
            return report
        source.raise_if_bad()
        source.raise_if_empty(report.rows)
        if report.labels:
            hooks.labels_changed(study=study, actor=actor)
        if report.rounds or report.labels:
            audit.record(
                scope=study.slug,
                actor=actor,
                action="debates imported",
                subject=Path(source.name).name[:200],
                payload=report.as_json(),
            )
    return report


def read(row: Row) -> DebateRow:
    """Read one line; RefusedRow says what is wrong with it."""
    fields = Fields(row.fields, known=FIELDS)
    rounds = tuple(
        _round(Fields(content, known=ROUND_FIELDS, at=f"rounds[{place}]"))
        for place, content in enumerate(fields.parts("rounds"))
    )
    names = [one.name for one in rounds]
    for name in names:
        if names.count(name) > 1:
            raise RefusedRow(f'round "{name}" stands there twice')
        for needed in NEEDS.get(ROUND(name), ()):
            if needed not in names:
                raise RefusedRow(f'round "{name}" builds on "{needed.value}", which is missing')
    return DebateRow(
        line=row.line,
        question_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        rounds=rounds,
    )


def _round(fields: Fields) -> RoundRecord:
    name = ROUND(fields.choice("round", tuple(ROUND.values), default=""))
    given, said = (_object(fields, part) for part in ("given", "said"))
    told = Fields(said, known=SAID[name], at=f"{name.value}.said")
    skipped = told.truth_or_none("skipped") or False
    is_correct, step = told.truth_or_none("is_correct"), told.step("error_step")
    if is_correct is None and not skipped:
        raise RefusedRow(f'"{name.value}.said.is_correct" is missing, and the round is not skipped')
    if told.has("confidence") and told.whole("confidence", least=1) > 5:
        raise RefusedRow(f'"{name.value}.said.confidence" is 1 to 5')
    for truth in ("reference_dispute", "agree_with_prior", "changed_mind", "needs_human"):
        told.truth_or_none(truth)
    for text in ("reference_dispute_reason", "notes", "critique", "resolution", "final_rationale"):
        told.text(text, default="")
    return RoundRecord(
        name=name.value,
        model=fields.identifier("model", max_length=200),
        given=given,
        said=said,
        cost=_cost(fields),
        is_correct=is_correct,
        error_step=step,
        settles=not skipped and not told.truth_or_none("needs_human"),
    )


def _object(fields: Fields, name: str) -> dict[str, Any]:
    value = fields.values.get(name)
    if value is None:
        return {}
    return Fields(value, at=name).values


def _cost(fields: Fields) -> Decimal | None:
    value = fields.values.get("cost")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1_000_000:
        raise RefusedRow('"cost" must be a number of USD, at least 0')
    return Decimal(str(value)).quantize(Decimal("0.000001"))


def _take(study: Study, rows: list[DebateRow], source: Source, report: DebatesReport) -> None:
    """Write what is new of some rows."""
    found = (
        Trace.objects.filter(study=study, question__external_id__in={row.question_id for row in rows})
        .select_related("question")
        .only("response_label", "n_steps", "question__external_id")
    )
    traces = {(trace.question.external_id, trace.response_label): trace for trace in found}
    wanted = [traces[row.key].pk for row in rows if row.key in traces]
    held = {(one.trace_id, one.name): one for one in DebateRound.objects.filter(trace__in=wanted)}
    current = {
        label.trace_id: label
        for label in Label.objects.filter(
            trace__in=wanted, arm=Label.Arm.DEBATE, labeller=LABELLER, superseded_by__isnull=True
        )
    }
    name = Path(source.name).name[:180]
    rounds: list[DebateRound] = []
    labels: list[Label] = []
    for row in rows:
        try:
            trace = traces.get(row.key)
            if trace is None:
                raise RefusedRow(f'no trace "{"/".join(row.key)}" in study "{study.slug}"')
            fresh = _fresh_rounds(row, trace, held, f"{name}:{row.line}", report)
            label = _label(row, trace, current.get(trace.pk), f"{name}:{row.line}", report)
        except RefusedRow as refusal:
            source.refuse(row.line, str(refusal))
            continue
        rounds += fresh
        labels += [label] if label else []
    DebateRound.objects.bulk_create(rounds, batch_size=CHUNK)
    Label.objects.bulk_create(labels, batch_size=CHUNK)


def _fresh_rounds(
    row: DebateRow,
    trace: Trace,
    held: dict[tuple[int, str], DebateRound],
    source: str,
    report: DebatesReport,
) -> list[DebateRound]:
    fresh = []
    for one in row.rounds:
        check_step(f'"{one.name}.said.error_step"', one.error_step, trace.n_steps)
        there = held.get((trace.pk, one.name))
        if there is None:
            report.rounds[one.name] += 1
            report.cost += one.cost or 0
            fresh.append(
                DebateRound(
                    trace=trace,
                    name=one.name,
                    model=one.model,
                    given=one.given,
                    said=one.said,
                    cost=one.cost,
                    source=source,
                )
            )
        elif one.same_as(there):
            report.same_rounds += 1
        else:
            raise RefusedRow(f'round "{one.name}" on "{"/".join(row.key)}" is here already, otherwise')
    return fresh


def _label(
    row: DebateRow, trace: Trace, held: Label | None, source: str, report: DebatesReport
) -> Label | None:
    verdict = row.verdict
    if verdict is None or verdict.is_correct is None:
        report.unsettled += 1
        return None
    if held is not None:
        if (held.final_correct, held.first_error_step) != (verdict.is_correct, verdict.error_step):
            raise RefusedRow(f'the debate arm has already labelled "{"/".join(row.key)}" otherwise')
        report.same_labels += 1
        return None
    report.labels += 1
    comment = str(verdict.said.get("final_rationale") or "")
    if verdict.said.get("reference_dispute"):
        reason = verdict.said.get("reference_dispute_reason") or "no reason given"
        comment = f"{comment}\nKey looks wrong: {reason}".strip()
    return Label(
        trace=trace,
        arm=Label.Arm.DEBATE,
        labeller=LABELLER,
        final_correct=verdict.is_correct,
        first_error_step=verdict.error_step,
        comment=comment,
        source=source,
    )
