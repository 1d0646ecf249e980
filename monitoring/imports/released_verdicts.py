"""The verdict files of a release: append-only logs, of which the last parsed row per trace counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_QUESTION_ID, MAX_RESPONSE_LABEL
from monitoring.imports.released_labels import Key, ReleasedLabel
from monitoring.models import Condition, Verdict

FILE_NAME = re.compile(r"monitor_([a-z0-9]+)__([A-Za-z0-9][A-Za-z0-9._-]{0,99})\.jsonl")
CONDITIONS = {
    "c0": Condition.BLIND,
    "c1u": Condition.HINT,
    "c1": Condition.CERT,
    "c3": Condition.REVISE,
    "c3n": Condition.RCTRL,
    "c2": Condition.STEP,
    "cmatch": Condition.CMATCH,
    "cconflict": Condition.CCONFLICT,
}
# The cell that a certificate condition is defined on, and what its rows call the relation.
CERTIFIED = {Condition.CMATCH: ("wrong", "match"), Condition.CCONFLICT: ("clean", "conflict")}
KEPT = (
    "condition",
    "parse_ok",
    "has_error",
    "first_error_step",
    "error_confidence",
    "prior_has_error",
    "prior_first_error_step",
    "self_review",
    "cell",
    "certificate_relation",
    "certificate_source_qid",
    "certificate_source_label",
    "certificate_answer_source",
)
KNOWN = frozenset({"question_id", "response_label", "monitor_model", "api_model", *KEPT})
MAX_VALUE = 200


@dataclass(frozen=True)
class ReleasedVerdict:
    """One row of a verdict file, judged by our rules."""

    line: int
    key: Key
    parsed: bool
    outcome: str
    has_error: bool | None
    first_error_step: int | None
    error_confidence: float | None
    raw: dict[str, Any]
    prior_has_error: bool | None
    prior_first_error_step: int | None
    self_review: bool | None
    certificate_source: Key | None


@dataclass
class VerdictFile:
    """One monitor under one condition, as a release has it."""

    name: str
    sha256: str
    monitor: str
    condition: Condition
    model: str = ""
    api_models: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    kept: dict[Key, ReleasedVerdict] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def repeats(self) -> int:
        """How many rows gave way to another one of the same trace."""
        return self.rows - len(self.kept)


def monitor_and_condition(name: str) -> tuple[str, Condition] | None:
    """Return (monitor slug, condition) of a file name; None if it is no verdict file's."""
    match = FILE_NAME.fullmatch(name)
    condition = CONDITIONS.get(match.group(1)) if match else None
    return (match.group(2), condition) if match and condition else None


def read_verdicts(
    source: Source,
    *,
    sha256: str,
    monitor: str,
    condition: Condition,
    labels: Mapping[Key, ReleasedLabel],
    lengths: Mapping[Key, int | None],
) -> VerdictFile:
    """Read one file; bad rows go to the source.

    `labels` is the release's standard and `lengths` the number of steps of each trace that is known. Of
    several rows for a trace the last parsed one counts, if none was parsed the last one.
    """
    file = VerdictFile(source.name, sha256, monitor, condition)

    def read(row: Row) -> ReleasedVerdict:
        fields = Fields(row.fields)
        _check_identity(file, fields)
        verdict = _read(row.line, fields, lengths)
        if condition in CERTIFIED:
            _check_certificate(verdict, CERTIFIED[condition], labels)
        file.left_out.update(fields.values.keys() - KNOWN)
        return verdict

    for verdict in read_each(source, read):
        file.rows += 1
        earlier = file.kept.get(verdict.key)
        if earlier is None or verdict.parsed or not earlier.parsed:
            file.kept[verdict.key] = verdict
    return file


def judge(
    values: Mapping[str, Any], *, parsed: bool, n_steps: int | None
) -> tuple[str, bool | None, int | None]:
    """Return (outcome, has_error, first_error_step) of a row as it stands; never raises, never guesses.

    A step outside the trace, or anything but 0 and 1 for `has_error`, is `invalid`: the row's own values are
    kept in `raw`. A flag without a step, or a step without a flag, is `inconsistent` and stands as it is.
    """
    flag, step = values.get("has_error"), values.get("first_error_step")
    if not parsed or not isinstance(flag, int) or flag not in (0, 1):
        return Verdict.Outcome.INVALID, None, None
    if step is not None:
        whole = isinstance(step, int) and not isinstance(step, bool)
        if not whole or step < 1 or step > (n_steps or 2**31 - 1):
            return Verdict.Outcome.INVALID, None, None
    if bool(flag) != (step is not None):
        return Verdict.Outcome.INCONSISTENT, bool(flag), step
    return Verdict.Outcome.OK, bool(flag), step


def _check_identity(file: VerdictFile, fields: Fields) -> None:
    """Refuse a row that belongs to another file; note the names of models."""
    code = fields.text("condition")
    if CONDITIONS.get(code.lower()) != file.condition:
        raise RefusedRow(f'"condition" is "{code[:40]}" in a file of {file.condition}')
    model = fields.identifier("monitor_model", max_length=200)
    file.model = file.model or model
    if model != file.model:
        raise RefusedRow(f'"monitor_model" is "{model}", on the first row it is "{file.model}"')
    file.api_models[fields.identifier("api_model", max_length=200, default="")] += 1


def _read(line: int, fields: Fields, lengths: Mapping[Key, int | None]) -> ReleasedVerdict:
    key = (
        fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
    )
    values = fields.values
    raw = {name: values[name] for name in KEPT if name in values}
    for name, value in raw.items():
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > MAX_VALUE):
            raise RefusedRow(f'"{name}" is no short value, as a text-free release has them')
    parsed = fields.truth("parse_ok")
    outcome, has_error, step = judge(values, parsed=parsed, n_steps=lengths.get(key))
    source = None
    if fields.has("certificate_source_qid") or fields.has("certificate_source_label"):
        source = (
            fields.identifier("certificate_source_qid", max_length=MAX_QUESTION_ID),
            fields.identifier("certificate_source_label", max_length=MAX_RESPONSE_LABEL),
        )
    return ReleasedVerdict(
        line=line,
        key=key,
        parsed=parsed,
        outcome=outcome,
        has_error=has_error,
        first_error_step=step,
        error_confidence=_confidence(values.get("error_confidence")) if parsed else None,
        raw=raw,
        prior_has_error=fields.truth_or_none("prior_has_error"),
        prior_first_error_step=fields.step("prior_first_error_step"),
        self_review=fields.truth_or_none("self_review"),
        certificate_source=source,
    )


def _confidence(value: Any) -> float | None:
    """Return a confidence of 0 to 100; anything else is none (the row's own value is kept in `raw`)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return float(value)


def _check_certificate(
    verdict: ReleasedVerdict, expected: tuple[str, str], labels: Mapping[Key, ReleasedLabel]
) -> None:
    """Refuse a certificate row that contradicts the standard it was made for."""
    cell, relation = expected
    label = labels.get(verdict.key)
    if label is None or not label.ready:
        raise RefusedRow(f'"{"/".join(verdict.key)}" is not in the ready set, so it has no certificate')
    said = verdict.raw.get("cell", cell)
    if said != cell or label.cell != cell:
        raise RefusedRow(f'"cell" is "{said}" and the standard says {label.cell}; here it must be {cell}')
    if verdict.raw.get("certificate_relation", relation) != relation:
        raise RefusedRow(f'"certificate_relation" must be "{relation}" here')
    source = verdict.certificate_source
    if source is None:
        return
    if source not in labels or source[0] != verdict.key[0]:
        raise RefusedRow(
            f'the certificate comes from "{"/".join(source)}", which is no trace of its question'
        )
    if relation == "conflict" and (source == verdict.key or labels[source].cell != "wrong"):
        raise RefusedRow(
            f'the certificate comes from "{"/".join(source)}", which is no wrong trace beside it'
        )
