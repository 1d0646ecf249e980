"""The pilot instrument: its values, and the agreement of those who used it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Coherence, ErrorType, Label, PilotJudgement, Question, Study, Trace
from stats.agreement import Coefficient
from stats.document import put_value
from stats.pilot import FieldAgreement, Modal, PilotAgreement, Usable, pilot_agreement, usable_fields

LEAST_AGREEMENT = 0.8
LARGEST_SHARE = 0.9
FIELDS: dict[str, list[str]] = {
    "coherence": list(Coherence.values),
    "error_type": list(ErrorType.values),
}


@dataclass(frozen=True)
class PilotValues:
    """What the richer form holds; empty where nothing is said."""

    coherence: str = ""
    error_type: str = ""

    def __bool__(self) -> bool:
        return bool(self.coherence or self.error_type)

    def refusal(self, first_error_step: int | None) -> str:
        """Return why these values do not go with a first false step, "" if they do."""
        if self.coherence and self.coherence not in FIELDS["coherence"]:
            return (
                f'no coherence is called "{self.coherence[:40]}"; there are: {", ".join(FIELDS["coherence"])}'
            )
        if self.error_type and self.error_type not in FIELDS["error_type"]:
            kinds = ", ".join(FIELDS["error_type"])
            return f'no kind of error is called "{self.error_type[:40]}"; there are: {kinds}'
        if self.error_type and first_error_step is None:
            return "a kind of error is named, yet no false step"
        return ""


NO_PILOT = PilotValues()


def values_of(label: Label) -> PilotValues:
    """Return what the richer form of a label says; one query."""
    found = PilotJudgement.objects.filter(label=label).first()
    return PilotValues(found.coherence, found.error_type) if found else NO_PILOT


@dataclass(frozen=True)
class PilotReport:
    """A pilot's agreement, who is in it, and who did not finish and is left out (name: traces judged)."""

    study: Study
    traces: int
    annotators: list[str]
    left_out: dict[str, int]
    agreement: PilotAgreement
    fields: list[Usable]
    least_agreement: float
    largest_share: float


def report(
    study: Study, *, least_agreement: float = LEAST_AGREEMENT, largest_share: float = LARGEST_SHARE
) -> PilotReport:
    """Compare the annotators who judged every trace of a pilot; those who did not are named and left out.

    While fewer than two have finished, everybody is compared over the traces that all of them judged. Two
    queries; traces set apart for training and excluded questions do not count.
    """
    traces = set(
        Trace.objects.filter(
            study=study,
            question__status=Question.Status.INCLUDED,
            n_steps__isnull=False,
            check_item__isnull=True,
        )
        .exclude(cut=Trace.Cut.TEXT_FREE)
        .values_list("pk", flat=True)
    )
    rows = [
        row
        for row in Label.objects.filter(
            trace__study=study, arm=Label.Arm.HUMAN, superseded_by__isnull=True
        ).values_list(
            "trace", "labeller", "final_correct", "first_error_step", "pilot__coherence", "pilot__error_type"
        )
        if row[0] in traces
    ]
    judged: dict[str, int] = {}
    for _, name, *_ in rows:
        judged[name] = judged.get(name, 0) + 1
    finished = sorted(name for name, count in judged.items() if count == len(traces))
    names = finished if len(finished) >= 2 else sorted(judged)
    agreement = _agreement(rows, names, sorted(traces))
    return PilotReport(
        study=study,
        traces=len(traces),
        annotators=names,
        left_out={name: count for name, count in sorted(judged.items()) if name not in names},
        agreement=agreement,
        fields=list(usable_fields(agreement, least_agreement=least_agreement, largest_share=largest_share)),
        least_agreement=least_agreement,
        largest_share=largest_share,
    )


def _agreement(rows: list[tuple[Any, ...]], names: list[str], traces: list[int]) -> PilotAgreement:
    column = {name: place for place, name in enumerate(names)}
    line = {trace: place for place, trace in enumerate(traces)}
    arrays = [np.full((len(traces), len(names)), np.nan) for _ in range(4)]
    correct, step, coherence, kind = arrays
    for trace, name, right, first_error, said, error in rows:
        if name not in column:
            continue
        place = line[trace], column[name]
        correct[place] = right
        step[place] = first_error or 0
        if said:
            coherence[place] = FIELDS["coherence"].index(said)
        if error:
            kind[place] = FIELDS["error_type"].index(error)
    return pilot_agreement(correct, step, {"coherence": coherence, "error_type": kind})


def as_json(found: PilotReport) -> dict[str, Any]:
    """Return the report as plain JSON: numbers unrounded, undefined ones null with a reason beside them."""
    agreement = found.agreement

    def number(name: str, value: float, reason: str) -> dict[str, Any]:
        out: dict[str, Any] = {}
        put_value(out, name, value, reason)
        return out

    def shared(name: str, value: Coefficient) -> dict[str, Any]:
        return number(name, value.value, value.reason)

    def modal(field: Modal, names: list[str] | None) -> dict[str, Any]:
        def named(code: int | None) -> Any:
            return None if code is None else names[code] if names else code

        return {
            "value": named(field.code),
            **shared("share", field.share),
            "n": field.share.n,
            **number("two_largest", field.two_largest, field.share.reason),
            "counts": {str(named(code)): count for code, count in field.counts.items()},
        }

    def field(value: FieldAgreement, names: list[str] | None = None) -> dict[str, Any]:
        return {
            **shared("percent", value.percent),
            "pairs": value.pairs,
            "n": value.percent.n,
            **shared("alpha", value.alpha),
            **shared("ac1", value.ac1),
            "modal": modal(value.modal, names),
        }

    return {
        "study": found.study.slug,
        "traces": found.traces,
        "items": agreement.items,
        "annotators": found.annotators,
        "left_out": found.left_out,
        "final_correct": field(agreement.final_correct),
        "error_presence": field(agreement.error_presence),
        "step": {
            "pairs_that_both_named_one": agreement.exact_step.n,
            **shared("exact", agreement.exact_step),
            **shared("within_one", agreement.step_within_one),
            **shared("alpha", agreement.step_alpha),
        },
        "unanimous": {
            "n": agreement.unanimous.n,
            "items": 0
            if not agreement.unanimous.n
            else round(agreement.unanimous.value * agreement.unanimous.n),
            **shared("share", agreement.unanimous),
        },
        **{name: field(value, FIELDS[name]) for name, value in agreement.others.items()},
        "rules": {"least_agreement": found.least_agreement, "largest_share": found.largest_share},
        "usable": {one.field: {"usable": one.usable, "reasons": list(one.reasons)} for one in found.fields},
    }
