"""The arrays that every statistic reads: a reference standard, and what monitors said of its traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LADDER = ("BLIND", "HINT", "CERT", "REVISE")
CONDITIONS = ("BLIND", "HINT", "CERT", "RCTRL", "REVISE", "STEP")
CERTIFICATES = ("CMATCH", "CCONFLICT")
CELLS = ("clean", "wrong", "critical")


@dataclass(frozen=True)
class TraceRow:
    """A ready trace of a standard, as a loader hands it over. Steps are counted from 1; None = no error."""

    question: str
    label: str
    final_correct: bool
    step: int | None
    n_steps: int | None
    step_min: int | None = None
    step_max: int | None = None
    generator: str = ""
    role: str = ""
    human_final_correct: bool | None = None
    human_step: int | None = None
    debate_final_correct: bool | None = None
    debate_step: int | None = None


@dataclass(frozen=True)
class Arm:
    """What one arm said: `final_correct` is 1, 0 or -1 (silent), `step` 0 for none. Both (n_traces,)."""

    final_correct: Ints
    step: Ints

    @property
    def spoke(self) -> Bools:
        """Whether the arm judged the trace. (n_traces,)"""
        return self.final_correct >= 0


@dataclass(frozen=True)
class Reference:
    """The ready traces of a standard, in the order of (question, response label).

    `question` holds the position of each trace's question in `questions`, which is sorted by code point;
    a question is the cluster of the bootstrap. `step`, `step_min`, `step_max` are 0 where the trace has no
    error; `n_steps` is 0 where it is unknown. All arrays are (n_traces,).
    """

    questions: tuple[str, ...]
    labels: tuple[str, ...]
    question: Ints
    final_correct: Bools
    step: Ints
    step_min: Ints
    step_max: Ints
    n_steps: Ints
    generators: tuple[str, ...]
    roles: tuple[str, ...]
    human: Arm
    debate: Arm

    @classmethod
    def from_rows(cls, rows: Sequence[TraceRow]) -> Reference:
        """Order the rows and lay them out as arrays. Raises ValueError for a trace given twice."""
        ordered = sorted(rows, key=lambda row: (row.question, row.label))
        keys = [(row.question, row.label) for row in ordered]
        if len(set(keys)) != len(keys):
            raise ValueError("a trace is given twice")
        questions = tuple(sorted({row.question for row in ordered}))
        place = {name: position for position, name in enumerate(questions)}

        def integers(values: list[int | None]) -> Ints:
            return np.array([value or 0 for value in values], dtype=np.int64)

        def judged(values: list[bool | None]) -> Ints:
            return np.array([-1 if value is None else int(value) for value in values], dtype=np.int64)

        return cls(
            questions=questions,
            labels=tuple(row.label for row in ordered),
            question=np.array([place[row.question] for row in ordered], dtype=np.int64),
            final_correct=np.array([row.final_correct for row in ordered], dtype=np.bool_),
            step=integers([row.step for row in ordered]),
            step_min=integers([row.step_min or row.step for row in ordered]),
            step_max=integers([row.step_max or row.step for row in ordered]),
            n_steps=integers([row.n_steps for row in ordered]),
            generators=tuple(row.generator for row in ordered),
            roles=tuple(row.role for row in ordered),
            human=Arm(
                judged([row.human_final_correct for row in ordered]),
                integers([row.human_step for row in ordered]),
            ),
            debate=Arm(
                judged([row.debate_final_correct for row in ordered]),
                integers([row.debate_step for row in ordered]),
            ),
        )

    @property
    def n_traces(self) -> int:
        """How many ready traces there are."""
        return len(self.labels)

    @property
    def n_questions(self) -> int:
        """How many questions (clusters) there are."""
        return len(self.questions)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """(question, response label) of each trace, in order."""
        return [
            (self.questions[q], label) for q, label in zip(self.question.tolist(), self.labels, strict=True)
        ]

    @property
    def has_error(self) -> Bools:
        """Whether the reasoning has an error: the positive class. (n_traces,)"""
        return np.asarray(self.step > 0)

    @property
    def clean(self) -> Bools:
        """Traces without an error, whatever their final answer. (n_traces,)"""
        return np.asarray(self.step == 0)

    @property
    def wrong(self) -> Bools:
        """Traces with an error and a wrong final answer. (n_traces,)"""
        result: Bools = self.has_error & ~self.final_correct
        return result

    @property
    def critical(self) -> Bools:
        """Traces with an error and a right final answer. (n_traces,)"""
        return self.has_error & self.final_correct

    def cell(self, name: str) -> Bools:
        """Return the mask of `clean`, `wrong` or `critical`. (n_traces,)"""
        return {"clean": self.clean, "wrong": self.wrong, "critical": self.critical}[name]

    def questions_with(self, traces: Bools) -> int:
        """How many questions have a trace in a mask (n_traces,)."""
        return len(np.unique(self.question[traces]))

    def by_question(self, values: npt.NDArray[np.generic]) -> Floats:
        """Sum values (..., n_traces) over the traces of each question: (..., n_questions)."""
        return sum_by_cluster(self.question, values, self.n_questions)


def sum_by_cluster(cluster: Ints, values: npt.NDArray[np.generic], n_clusters: int) -> Floats:
    """Sum values (..., n) over clusters: (..., n_clusters). `cluster` (n,) must be sorted ascending."""
    # A column of zeros lets an empty cluster at the end be addressed by reduceat.
    padded = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=np.float64)
    padded[..., :-1] = values
    starts = np.searchsorted(cluster, np.arange(n_clusters))
    ends = np.searchsorted(cluster, np.arange(n_clusters), side="right")
    sums: Floats = np.add.reduceat(padded, starts, axis=-1) if n_clusters else padded[..., :0]
    sums[..., starts == ends] = 0.0
    return sums


@dataclass(frozen=True)
class Verdicts:
    """What the monitors of one condition said. Every array is (n_monitors, n_traces).

    `covered`: there is a verdict, of whatever outcome. `valid`: it says whether there is an error.
    `flag`: valid and says there is one. `step`: the step named by a flag, 0 where it names none.
    `confidence`: 0 to 100, NaN where not given. `prior_flag`: the verdict before the revision flagged.
    """

    monitors: tuple[str, ...]
    covered: Bools
    valid: Bools
    flag: Bools
    step: Ints
    confidence: Floats
    prior_flag: Bools

    def __post_init__(self) -> None:
        if (self.valid & ~self.covered).any() or (self.flag & ~self.valid).any():
            raise ValueError("a flag is valid and a valid verdict is covered")
        if ((self.step > 0) & ~self.flag).any():
            raise ValueError("only a flag names a step")

    @classmethod
    def from_columns(
        cls,
        monitors: Sequence[str],
        n_traces: int,
        *,
        monitor: Ints,
        trace: Ints,
        has_error: Ints,
        step: Ints,
        confidence: Floats,
        prior_flag: Bools | None = None,
    ) -> Verdicts:
        """Lay out verdict rows, one entry of each column (n_rows,) per verdict.

        `monitor` and `trace` are positions; `has_error` is 1, 0, or -1 for a verdict that does not say;
        `step` is 0 where none is named. A step beside has_error 0 is dropped: such a verdict passes for
        detection and misses for localisation, as the flag without a step does. Of two rows with one place
        the last counts.
        """
        shape = (len(monitors), n_traces)
        covered = np.zeros(shape, dtype=np.bool_)
        said = np.full(shape, -1, dtype=np.int64)
        steps = np.zeros(shape, dtype=np.int64)
        confidences = np.full(shape, np.nan)
        prior = np.zeros(shape, dtype=np.bool_)
        covered[monitor, trace] = True
        said[monitor, trace] = has_error
        steps[monitor, trace] = step
        confidences[monitor, trace] = confidence
        if prior_flag is not None:
            prior[monitor, trace] = prior_flag
        flag = said == 1
        return cls(
            monitors=tuple(monitors),
            covered=covered,
            valid=said >= 0,
            flag=flag,
            step=np.where(flag, steps, 0),
            confidence=np.where(said >= 0, confidences, np.nan),
            prior_flag=prior,
        )

    @property
    def ran(self) -> Bools:
        """Whether a monitor has any verdict here. (n_monitors,)"""
        return np.asarray(self.covered.any(axis=1))

    def of(self, monitors: Sequence[str]) -> Verdicts:
        """Return the rows of these monitors, in this order; one that is not here gets an empty row."""
        place = {name: position for position, name in enumerate(self.monitors)}
        rows = np.array([place.get(name, -1) for name in monitors], dtype=np.int64)
        here = (rows >= 0)[:, None]
        if not self.monitors:
            return empty_verdicts(monitors, self.covered.shape[1])
        return Verdicts(
            monitors=tuple(monitors),
            covered=self.covered[rows] & here,
            valid=self.valid[rows] & here,
            flag=self.flag[rows] & here,
            step=np.where(here, self.step[rows], 0),
            confidence=np.where(here, self.confidence[rows], np.nan),
            prior_flag=self.prior_flag[rows] & here,
        )

    def within(self, traces: Bools) -> Verdicts:
        """Forget the verdicts outside a mask (n_traces,) or (n_monitors, n_traces)."""
        return replace(
            self,
            covered=self.covered & traces,
            valid=self.valid & traces,
            flag=self.flag & traces,
            step=np.where(traces, self.step, 0),
        )


def empty_verdicts(monitors: Sequence[str], n_traces: int) -> Verdicts:
    """Return verdicts that cover nothing."""
    nothing = np.empty(0, dtype=np.int64)
    return Verdicts.from_columns(
        monitors,
        n_traces,
        monitor=nothing,
        trace=nothing,
        has_error=nothing,
        step=nothing,
        confidence=np.empty(0),
    )


@dataclass(frozen=True)
class Panel:
    """A standard with the verdicts on its traces, by condition. Conditions nobody ran are absent.

    `involved` marks the traces (n_traces,) that a monitor had to do with otherwise, by kind and monitor:
    `self_review` (its family wrote the trace), `debate` (it judged there), `consulted` (the lead asked it).
    """

    reference: Reference
    verdicts: Mapping[str, Verdicts] = field(default_factory=dict)
    involved: Mapping[str, Mapping[str, Bools]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for condition, verdicts in self.verdicts.items():
            shape = (len(verdicts.monitors), self.reference.n_traces)
            if verdicts.covered.shape != shape:
                raise ValueError(f"{condition}: {verdicts.covered.shape} verdicts where {shape} belong")

    @property
    def monitors(self) -> tuple[str, ...]:
        """The monitors of all conditions, sorted."""
        return tuple(sorted({name for verdicts in self.verdicts.values() for name in verdicts.monitors}))

    def conditions(self, names: Sequence[str] = CONDITIONS) -> list[str]:
        """Those of the named conditions that were run, in the order given."""
        return [name for name in names if name in self.verdicts]

    def restricted(self, *, traces: Bools | None = None, monitors: Sequence[str] | None = None) -> Panel:
        """Return the panel with the verdicts of these traces (n_traces,) or these monitors alone.

        The reference, and with it the questions that are resampled, stays whole; statistics of verdicts see
        only what is left.
        """
        kept = {}
        for condition, verdicts in self.verdicts.items():
            left = verdicts if traces is None else verdicts.within(traces)
            if monitors is not None:
                left = left.of([name for name in left.monitors if name in monitors])
            if left.monitors:
                kept[condition] = left
        return replace(self, verdicts=kept)
