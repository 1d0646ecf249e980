"""The rows of label files: our own (JSON Lines, CSV, Parquet) and those of the published study's tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row
from annotation.imports.records import MAX_LABELLER, MAX_QUESTION_ID, MAX_RESPONSE_LABEL, LabelRecord
from annotation.models import Label
from annotation.pilot import NO_PILOT, PilotValues

DEBATE = "debate"
ALL = "all"
FIELDS = frozenset(
    {
        "question_id",
        "response_label",
        "labeller",
        "final_correct",
        "first_error_step",
        "first_error_step_min",
        "first_error_step_max",
        "comment",
        "key_wrong",
    }
)
# What our own export says beyond that; `current` follows from the revisions and is not read.
EXPORTED_FIELDS = frozenset(
    {
        "trace_sha256",
        "arm",
        "coherence",
        "error_type",
        "revision",
        "current",
        "key_wrong_version",
        "guideline_version",
        "guideline_sha256",
        "active_seconds",
        "source",
        "created_at",
    }
)
KNOWN = FIELDS | EXPORTED_FIELDS
MARKED_WRONG = "marked as wrong in the annotation tool"


@dataclass(frozen=True)
class Origin:
    """What an export of ours says of a label beyond its judgement."""

    created_at: datetime | None = None
    guideline_sha256: str = ""
    active_seconds: int | None = None
    source: str = ""
    trace_sha256: str = ""


@dataclass(frozen=True)
class LabelRow:
    """One line of a label file. `revision` is None where the file does not count them."""

    line: int
    question_id: str
    response_label: str
    label: LabelRecord
    key_wrong: str = ""
    key_wrong_version: int | None = None
    arm: str = ""
    pilot: PilotValues = NO_PILOT
    revision: int | None = None
    origin: Origin = Origin()

    @property
    def key(self) -> tuple[str, str]:
        """The trace's natural key."""
        return (self.question_id, self.response_label)

    @property
    def name(self) -> str:
        """The trace as people write it."""
        return f"{self.question_id}/{self.response_label}"


@dataclass(frozen=True)
class PassedOver:
    """A line that brings no label, and why."""

    line: int
    reason: str


Reader = Callable[[Row], LabelRow | PassedOver]


def read(row: Row, *, arm: str) -> LabelRow:
    """Read one label of our own format; RefusedRow says what is wrong.

    With the arm `all` each row names its own. In the debate arm the labeller may be left out.
    """
    fields = Fields(row.fields, known=KNOWN)
    arm = _arm(fields, arm)
    step = fields.step("first_error_step")
    least, most = fields.step("first_error_step_min"), fields.step("first_error_step_max")
    if (least is None) != (most is None):
        raise RefusedRow('"first_error_step_min" and "first_error_step_max" come together')
    if least is not None and most is not None and (step is None or not least <= step <= most):
        raise RefusedRow(f"the range {least} to {most} does not hold the first error step, which is {step}")
    if "first_error_step" not in fields.values:
        raise RefusedRow('"first_error_step" is missing; no error is null')
    pilot = PilotValues(fields.text("coherence", default=""), fields.text("error_type", default=""))
    if refusal := pilot.refusal(step):
        raise RefusedRow(refusal)
    labeller = fields.identifier(
        "labeller", max_length=MAX_LABELLER, default=DEBATE if arm == Label.Arm.DEBATE else None
    )
    return LabelRow(
        line=row.line,
        question_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        label=LabelRecord(
            labeller=labeller or DEBATE,
            final_correct=fields.truth("final_correct"),
            first_error_step=step,
            first_error_step_min=least,
            first_error_step_max=most,
            comment=fields.text("comment", default=""),
        ),
        key_wrong=fields.text("key_wrong", default="").strip(),
        key_wrong_version=fields.whole_or_none("key_wrong_version", least=1),
        arm=arm,
        pilot=pilot,
        revision=fields.whole_or_none("revision", least=1),
        origin=Origin(
            created_at=fields.instant("created_at"),
            guideline_sha256=fields.text("guideline_sha256", default="", max_length=64),
            active_seconds=fields.whole_or_none("active_seconds", least=0),
            source=fields.text("source", default="", max_length=200),
            trace_sha256=fields.text("trace_sha256", default="", max_length=64),
        ),
    )


def _arm(fields: Fields, asked: str) -> str:
    """Return the row's arm: its own word, which must be the one asked for unless all are."""
    said = fields.choice("arm", ("", *Label.Arm.values), default="")
    if asked == ALL:
        if not said:
            raise RefusedRow('"arm" is missing, and the command line does not name one')
        return said
    if said and said != asked:
        raise RefusedRow(f"the label is of the {said} arm, and the command line says {asked}")
    return asked


def tool_matches(names: set[str]) -> bool:
    """Whether a row looks like the published study's annotation tool."""
    return {"question_id", "response_label", "human_is_correct", "human_error_step"} <= names


def tool_labeller(path: str) -> str:
    """Return the annotator's name, which the tool keeps in the file's: ana_complete_12.jsonl is ana's."""
    return re.sub(r"_\d+$", "", Path(path).stem.replace("_complete", ""))


def read_tool(row: Row, *, labeller: str) -> LabelRow | PassedOver:
    """Read one row of the annotation tool; one that is skipped, not reviewed or not judged is passed over."""
    fields = Fields(row.fields)
    if fields.truth_or_none("skipped"):
        return PassedOver(row.line, "skipped by the annotator")
    if fields.truth_or_none("reviewed") is False:
        return PassedOver(row.line, "not reviewed")
    if not fields.has("human_is_correct"):
        return PassedOver(row.line, "not judged")
    notes = fields.text("human_notes", default="")
    return LabelRow(
        line=row.line,
        question_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        label=LabelRecord(
            labeller=labeller,
            final_correct=fields.truth("human_is_correct"),
            first_error_step=fields.step("human_error_step"),
            comment=notes,
        ),
        key_wrong=_tool_key(fields, notes),
        arm=Label.Arm.HUMAN.value,
    )


def _tool_key(fields: Fields, notes: str) -> str:
    """Return why the key looks wrong: the tool has a tick, or words."""
    value = fields.values.get("human_key_wrong")
    if isinstance(value, str):
        return value.strip()
    if not fields.truth_or_none("human_key_wrong"):
        return ""
    return f"{MARKED_WRONG}: {notes.strip()}" if notes.strip() else MARKED_WRONG
