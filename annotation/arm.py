"""What overseers see of the human arm: numbers, never a judgement that could tell a lead who proposed what.

A lead must not learn, before ruling, which label of a trace came from a person. So this page has no judgement
by trace at all. Its numbers are sums over many traces; agreement is that of people with each other, and while
something is still before the lead it is shown only from SHOWN_FROM shared traces on, since over one or two
it would be a judgement. Comments and key reports come from people and speak of one trace or question: those
are hidden from a lead until the trace (for a key: every trace of the question) is settled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone

from annotation import blindness, queries
from annotation.models import Draft, KeyReport, Label, Membership, Question, Role, Skip, Study, StudyProgress
from annotation.queries import labeller_name
from annotation.training import HiddenResult, hidden_results
from core.models import User
from stats.agreement import Coefficient
from stats.annotators import Pair, annotator_pairs

SHOWN_FROM = 10
QUIET_DAYS = 7


@dataclass(frozen=True)
class Coverage:
    """The human arm in counts. `traces` are those that people read; `distinct` those with a label at least."""

    traces: int
    distinct: int
    complete: int
    labels: int
    on_excluded: int
    distinct_on_excluded: int

    @property
    def in_all(self) -> int:
        """Distinct traces with a label, on included and excluded questions."""
        return self.distinct + self.distinct_on_excluded


@dataclass(frozen=True)
class PersonRow:
    """One annotator. `active_seconds` is the time of all revisions, each counted once; None if none is known."""

    name: str
    member: bool
    labels: int
    revised: int
    last_week: int
    skipped: int
    drafts: int
    active_seconds: int | None
    timed: int
    first: datetime | None
    last: datetime | None
    checks: HiddenResult | None

    @property
    def active_minutes(self) -> int | None:
        """Active time in minutes."""
        return None if self.active_seconds is None else round(self.active_seconds / 60)

    @property
    def seconds_each(self) -> int | None:
        """Mean active time for a label whose time is known."""
        return None if self.active_seconds is None or not self.timed else self.active_seconds // self.timed


@dataclass(frozen=True)
class PairRow:
    """How two annotators agree; `numbers` is None where too few traces are shared to show it yet."""

    first: str
    second: str
    shared: int
    numbers: Pair | None


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix: agreement in percent over n traces, or why there is none."""

    percent: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Agreement:
    """Pairs of annotators; the matrix has the final answer above its diagonal, error presence below."""

    names: list[str]
    pairs: list[PairRow]
    matrix: list[tuple[str, list[Cell | None]]]
    shared: int
    hidden: int


def _labels(study: Study, **conditions: Any) -> QuerySet[Label]:
    """Return labels of the human arm that count: those on check items do not."""
    return Label.objects.filter(
        trace__study=study, trace__check_item__isnull=True, arm=Label.Arm.HUMAN, **conditions
    )


def coverage(study: Study) -> Coverage:
    """Count the traces and labels of the human arm; two queries."""
    kept = StudyProgress.objects.filter(study=study).first() or StudyProgress(study=study)
    traces = {"traces": kept.total, "distinct": kept.labelled, "complete": kept.complete}
    excluded = Q(trace__question__status=Question.Status.EXCLUDED)
    labels = _labels(study, revision=1).aggregate(
        labels=Count("pk"),
        on_excluded=Count("pk", filter=excluded),
        distinct_on_excluded=Count("trace", filter=excluded, distinct=True),
    )
    return Coverage(**traces, **labels)


def people(study: Study) -> list[PersonRow]:
    """Return the study's annotators and whoever else has labels in its human arm, by name; five queries."""
    since = timezone.now() - timedelta(days=7)
    said = {
        row["labeller"]: row
        for row in _labels(study)
        .values("labeller")
        .annotate(
            labels=Count("pk", filter=Q(revision=1)),
            revised=Count("pk", filter=Q(revision__gt=1)),
            last_week=Count("pk", filter=Q(revision=1, created_at__gte=since)),
            seconds=Sum("active_seconds"),
            timed=Count("trace", filter=Q(active_seconds__isnull=False), distinct=True),
            first=Min("created_at"),
            last=Max("created_at"),
        )
    }
    skipped = _per_person(Skip.objects.filter(trace__study=study))
    drafts = _per_person(Draft.objects.filter(trace__study=study))
    checks = hidden_results(study)
    members = {labeller_name(person): person.pk for person in annotators(study)}
    nothing: dict[str, Any] = {"labels": 0, "revised": 0, "last_week": 0, "timed": 0}
    rows = []
    for name in sorted({*said, *members, *checks}):
        row, key = said.get(name, nothing), members.get(name)
        rows.append(
            PersonRow(
                name=name,
                member=key is not None,
                labels=row["labels"],
                revised=row["revised"],
                last_week=row["last_week"],
                skipped=skipped.get(key, 0),
                drafts=drafts.get(key, 0),
                active_seconds=row.get("seconds"),
                timed=row["timed"],
                first=row.get("first"),
                last=row.get("last"),
                checks=checks.get(name),
            )
        )
    return rows


def annotators(study: Study) -> list[User]:
    """Return the people who annotate in a study, by name."""
    roles = Membership.objects.filter(study=study, role=Role.ANNOTATOR).select_related("person")
    return [row.person for row in roles.order_by("person__username")]


def _per_person(rows: QuerySet[Any]) -> dict[int | None, int]:
    return dict(rows.order_by().values_list("person").annotate(Count("pk")))


def reminders(rows: Sequence[PersonRow], found: Coverage) -> list[str]:
    """Return a line for each annotator who has been quiet for a week while labels are wanted, to be copied."""
    wanting = found.traces - found.complete
    if not wanting:
        return []
    wanted = (
        "1 solution of the study still wants a label"
        if wanting == 1
        else f"{wanting} solutions of the study still want a label"
    )
    before = timezone.now() - timedelta(days=QUIET_DAYS)
    lines = []
    for row in rows:
        if not row.member or (row.last is not None and row.last > before):
            continue
        so_far = f"{row.labels} so far, the last on {row.last:%-d %B %Y}" if row.last else "none so far"
        unfinished = f", {row.drafts} begun and not submitted" if row.drafts else ""
        lines.append(f"{row.name}: {so_far}{unfinished}; {wanted}")
    return lines


def agreement(study: Study, *, least: int = 1) -> Agreement:
    """Compare the annotators' labels as they stand, on included questions; one query.

    Pairs that share fewer than `least` traces are counted in `hidden`, without their numbers.
    """
    shared = (
        _labels(study, trace__question__status=Question.Status.INCLUDED, superseded_by__isnull=True)
        .values("trace")
        .annotate(number=Count("pk"))
        .filter(number__gte=2)
        .values("trace")
    )
    rows = list(
        Label.objects.filter(trace__in=shared, arm=Label.Arm.HUMAN, superseded_by__isnull=True)
        .order_by("trace", "labeller")
        .values_list("trace", "labeller", "final_correct", "first_error_step")
    )
    names = sorted({name for _, name, _, _ in rows})
    column = {name: number for number, name in enumerate(names)}
    line = {trace: number for number, trace in enumerate(sorted({trace for trace, *_ in rows}))}
    correct = np.full((len(line), len(names)), np.nan)
    step = np.full_like(correct, np.nan)
    for trace, name, right, first_error in rows:
        correct[line[trace], column[name]] = right
        step[line[trace], column[name]] = first_error or 0
    pairs = annotator_pairs(correct, step)
    return Agreement(
        names=names,
        pairs=[
            PairRow(
                names[pair.first], names[pair.second], pair.shared, pair if pair.shared >= least else None
            )
            for pair in pairs
        ],
        matrix=_matrix(names, pairs, least),
        shared=len(line),
        hidden=sum(pair.shared < least for pair in pairs),
    )


def _matrix(names: list[str], pairs: list[Pair], least: int) -> list[tuple[str, list[Cell | None]]]:
    found: dict[tuple[int, int], Cell] = {}
    for pair in pairs:
        for place, number in (
            ((pair.first, pair.second), pair.final_correct.percent),
            ((pair.second, pair.first), pair.error_presence.percent),
        ):
            found[place] = (
                _cell(number) if pair.shared >= least else Cell(None, pair.shared, "too few to show")
            )
    nothing = Cell(None, 0, "no shared trace")
    return [
        (
            name,
            [None if row == column else found.get((row, column), nothing) for column in range(len(names))],
        )
        for row, name in enumerate(names)
    ]


def _cell(number: Coefficient) -> Cell:
    if math.isnan(number.value):
        return Cell(None, number.n, number.reason)
    return Cell(100 * number.value, number.n)


def comments(study: Study, person: User) -> QuerySet[Label]:
    """Return the comments of the human arm that this person may read, newest first.

    A comment speaks of one trace, and shows that a person judged it: hidden from a lead until the trace is
    settled, from an annotator while it is open to them.
    """
    return (
        _comments(study)
        .exclude(trace__in=blindness.hidden_traces(study, person))
        .select_related("trace__question")
        .defer("trace__steps", "trace__preamble")
        .order_by("-created_at", "-pk")
    )


def _comments(study: Study) -> QuerySet[Label]:
    return _labels(study, superseded_by__isnull=True).exclude(comment="")


def key_reports(study: Study, person: User) -> QuerySet[KeyReport]:
    """Return the reports on keys that this person may read, newest first."""
    return (
        queries.key_reports(study)
        .exclude(question__in=blindness.hidden_questions(study, person))
        .order_by("-created_at", "-pk")
    )


def hidden_numbers(study: Study, person: User) -> tuple[int, int]:
    """Return how many comments and key reports are hidden from this person."""
    return (
        _comments(study).filter(trace__in=blindness.hidden_traces(study, person)).count(),
        queries.key_reports(study).filter(question__in=blindness.hidden_questions(study, person)).count(),
    )
