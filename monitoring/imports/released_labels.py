"""The standard of a release: its names read into ours, its invariants checked row by row."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_GENERATOR, MAX_QUESTION_ID, MAX_RESPONSE_LABEL

READY, EXCLUDED = "ready", "excluded"
FIELDS = frozenset(
    {
        "question_id",
        "response_label",
        "gt_status",
        "strict_error",
        "final_is_correct",
        "final_error_step",
        "final_error_step_min",
        "final_error_step_max",
        "generator",
        "gold_error_source",
        "human_is_correct",
        "human_error_step",
        "debate_is_correct",
        "debate_error_step",
        "n_steps",
    }
)
Key = tuple[str, str]


@dataclass(frozen=True)
class ReleasedLabel:
    """One row of the standard of a release."""

    line: int
    question_id: str
    response_label: str
    ready: bool
    final_correct: bool | None
    first_error_step: int | None
    first_error_step_min: int | None
    first_error_step_max: int | None
    generator: str
    provenance: str
    human: tuple[bool, int | None] | None
    debate: tuple[bool, int | None] | None
    n_steps: int

    @property
    def key(self) -> Key:
        """The trace's natural key."""
        return (self.question_id, self.response_label)

    @property
    def cell(self) -> str | None:
        """clean, wrong or critical; None outside the ready set."""
        if not self.ready:
            return None
        if self.first_error_step is None:
            return "clean"
        return "critical" if self.final_correct else "wrong"


def read_standard(source: Source) -> dict[Key, ReleasedLabel]:
    """Read the rows by natural key; what is wrong with them goes to the source's bad rows."""
    labels: dict[Key, ReleasedLabel] = {}
    for label in read_each(source, read):
        earlier = labels.setdefault(label.key, label)
        if earlier is not label:
            name = f"{label.question_id}/{label.response_label}"
            source.refuse(label.line, f'"{name}" stands on line {earlier.line} already')
    return labels


def read(row: Row) -> ReleasedLabel:
    """Read one row; RefusedRow says what is wrong with it."""
    fields = Fields(row.fields, known=FIELDS)
    status = fields.choice("gt_status", (READY, EXCLUDED), default="")
    n_steps = fields.whole("n_steps", least=1)
    step = fields.step("final_error_step", n_steps=n_steps)
    if fields.truth("strict_error") != (step is not None):
        raise RefusedRow(
            f'"strict_error" is {fields.values["strict_error"]}, yet "final_error_step" is '
            f"{'null' if step is None else step}"
        )
    least = fields.step("final_error_step_min", n_steps=n_steps)
    most = fields.step("final_error_step_max", n_steps=n_steps)
    if (least is None) != (most is None):
        raise RefusedRow('"final_error_step_min" and "final_error_step_max" come together')
    if least is not None and most is not None and (step is None or not least <= step <= most):
        raise RefusedRow(f'the range {least} to {most} does not hold "final_error_step", which is {step}')
    ready = status == READY
    return ReleasedLabel(
        line=row.line,
        question_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        ready=ready,
        final_correct=fields.truth("final_is_correct") if ready else fields.truth_or_none("final_is_correct"),
        first_error_step=step,
        first_error_step_min=least,
        first_error_step_max=most,
        generator=fields.identifier("generator", max_length=MAX_GENERATOR, default=""),
        provenance=fields.identifier("gold_error_source", max_length=60),
        human=_arm(fields, "human", n_steps),
        debate=_arm(fields, "debate", n_steps),
        n_steps=n_steps,
    )


def _arm(fields: Fields, arm: str, n_steps: int) -> tuple[bool, int | None] | None:
    correct = fields.truth_or_none(f"{arm}_is_correct")
    step = fields.step(f"{arm}_error_step", n_steps=n_steps)
    if correct is None:
        if step is not None:
            raise RefusedRow(f'"{arm}_error_step" is {step}, yet "{arm}_is_correct" is null')
        return None
    return correct, step
