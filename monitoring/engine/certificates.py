"""The certificates of CMATCH and CCONFLICT: a wrong final answer, shown as if it were known to be correct.

Which traces are eligible is told by the frozen standard. CMATCH takes a wrong trace and its own answer; CCONFLICT
takes a clean trace and the answer of a wrong trace to the same question, by another generator: of several the
first by response label whose answer can be taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.answers import final_answer
from annotation.models import Trace
from monitoring.models import Condition

SWAPPED = (Condition.CMATCH, Condition.CCONFLICT)
ORDER = "response label, ascending"

NOT_WRONG = "the standard does not call its answer and its reasoning wrong"
NOT_CLEAN = "the standard does not call it clean"
NO_RIVAL = "no other generator's trace of its question is wrong in the standard"
UNTAKEN = "no final answer could be taken from the trace"
RIVAL_UNTAKEN = "no final answer could be taken from the wrong traces of its question"


@dataclass(frozen=True)
class Certificate:
    """An answer and the trace it was taken from."""

    source_id: int
    text: str


@dataclass(frozen=True)
class Untaken:
    """A trace from which no answer could be taken, and how the search for it ended."""

    question_id: str
    response_label: str
    path: str


@dataclass(frozen=True)
class Chosen:
    """By trace, the certificate or the reason why there is none; and what could not be taken."""

    certificates: dict[int, Certificate]
    reasons: dict[int, str]
    untaken: list[Untaken]


def choose(condition: str, standard: ReferenceStandard, labels: Sequence[StandardLabel]) -> Chosen:
    """Return the certificates of ready labels of a standard; their traces and questions are loaded."""
    chosen = Chosen({}, {}, [])
    if condition == Condition.CMATCH:
        for label in labels:
            _match(label, chosen)
        return chosen
    clean = [label for label in labels if label.cell == StandardLabel.Cell.CLEAN]
    rivals = _rivals(standard, {label.trace.question_id for label in clean})
    told: set[int] = set()
    for label in labels:
        if label.cell != StandardLabel.Cell.CLEAN:
            chosen.reasons[label.trace_id] = NOT_CLEAN
        else:
            _conflict(label.trace, rivals[label.trace.question_id], chosen, told)
    return chosen


def texts(source_ids: Iterable[int | None]) -> dict[int, str]:
    """Return the answers of these traces, as `choose` took them."""
    traces = Trace.objects.filter(pk__in=[pk for pk in source_ids if pk is not None])
    return {trace.pk: final_answer(trace.text).text or "" for trace in traces}


def _match(label: StandardLabel, chosen: Chosen) -> None:
    if label.cell != StandardLabel.Cell.WRONG:
        chosen.reasons[label.trace_id] = NOT_WRONG
        return
    answer = final_answer(label.trace.text)
    if answer.text is None:
        chosen.reasons[label.trace_id] = UNTAKEN
        chosen.untaken.append(_untaken(label.trace, answer.path))
    else:
        chosen.certificates[label.trace_id] = Certificate(label.trace_id, answer.text)


def _conflict(trace: Trace, rivals: Sequence[Trace], chosen: Chosen, told: set[int]) -> None:
    others = [rival for rival in rivals if not rival.generator or rival.generator != trace.generator]
    for rival in others:
        answer = final_answer(rival.text)
        if answer.text is not None:
            chosen.certificates[trace.pk] = Certificate(rival.pk, answer.text)
            return
        if rival.pk not in told:
            told.add(rival.pk)
            chosen.untaken.append(_untaken(rival, answer.path))
    chosen.reasons[trace.pk] = RIVAL_UNTAKEN if others else NO_RIVAL


def _rivals(standard: ReferenceStandard, question_ids: set[int]) -> dict[int, list[Trace]]:
    labels = (
        StandardLabel.objects.filter(
            standard=standard,
            status=StandardLabel.Status.READY,
            final_correct=False,
            first_error_step__isnull=False,
            trace__question_id__in=question_ids,
        )
        .select_related("trace__question")
        .order_by("trace__response_label")
    )
    rivals: dict[int, list[Trace]] = defaultdict(list)
    for label in labels:
        rivals[label.trace.question_id].append(label.trace)
    return rivals


def _untaken(trace: Trace, path: str) -> Untaken:
    return Untaken(trace.question.external_id, trace.response_label, path)
