"""Reads of specifications, evidence, the experts' queue and audits; nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Prefetch, Q, QuerySet, Value

from annotation.models import Question, Study, Trace
from annotation.needs import Need, needs_in
from verification.models import (
    AuditedResponse,
    CheckResult,
    ExpertItem,
    ExpertRuling,
    Flag,
    KeyAudit,
    ObligationMapping,
    TaskSpecification,
)

STANDING = (ExpertItem.State.WAITING, ExpertItem.State.TAKEN, ExpertItem.State.LEFT_OPEN)
UNDECIDED, CONCERNS = 20, 30  # ranks of what verification itself puts before the experts


def specification_of(question: Question) -> TaskSpecification | None:
    """Return the newest specification of a question."""
    return TaskSpecification.objects.filter(question=question).order_by("version").last()


def specification_at(trace: Trace) -> TaskSpecification | None:
    """Return the specification that was there when the trace came: its restrictions bind the trace."""
    earlier = TaskSpecification.objects.filter(question=trace.question, created_at__lte=trace.created_at)
    return earlier.order_by("version").last()


def mappings_of(trace: Trace, specification: TaskSpecification) -> dict[str, ObligationMapping]:
    """Return the current mappings of a trace by obligation."""
    rows = ObligationMapping.objects.filter(
        trace=trace, specification=specification, superseded_by__isnull=True
    ).select_related("author")
    return {row.obligation: row for row in rows}


def checks_on(trace: Trace) -> dict[str, list[CheckResult]]:
    """Return the results of layer 1 on a trace by column, all three columns present."""
    columns: dict[str, list[CheckResult]] = {column: [] for column in CheckResult.Column.values}
    for row in CheckResult.objects.filter(trace=trace).order_by("name"):
        columns[row.column].append(row)
    return columns


def flags_on(trace: Trace) -> QuerySet[Flag]:
    """Return the flags on a trace in the order of steps."""
    return Flag.objects.filter(trace=trace).order_by("step", "call", "pk")


def traces_in(study: Study) -> QuerySet[Trace]:
    """Return a study's traces (not those for training) with counts, in an order that tells nothing."""
    failed = Q(checks__status="failed") & ~Q(checks__column="efficiency")
    return (
        Trace.objects.filter(study=study, check_item__isnull=True)
        .select_related("question")
        .only("token", "question__external_id", "question__subject")
        .annotate(
            n_checks=Count("checks", distinct=True),
            n_failed=Count("checks", filter=failed, distinct=True),
            n_unresolved=Count("checks", filter=Q(checks__status="unresolved"), distinct=True),
            n_flags=Count("flags", distinct=True),
        )
        .order_by("question__external_id", "token")
    )


def newest_item(trace: Trace) -> ExpertItem | None:
    """Return the trace's newest item in the experts' queue, settled or not."""
    return ExpertItem.objects.filter(trace=trace).order_by("-pk").first()


def items_in(study: Study) -> list[ExpertItem]:
    """Return the items that are not settled, those that wait first."""
    order = {state: place for place, state in enumerate(STANDING)}
    items = (
        ExpertItem.objects.filter(study=study, state__in=STANDING)
        .select_related("trace__question", "taken_by")
        .prefetch_related(
            Prefetch("rulings", queryset=ExpertRuling.objects.select_related("expert").order_by("-revision"))
        )
    )
    return sorted(items, key=lambda item: (order[ExpertItem.State(item.state)], item.token))


def undecided(study: Study, trace: Trace | None = None) -> Iterator[Need]:
    """Yield a need for each trace that checks or obligations leave to a person, and that no expert has had yet."""
    scope = _readable(study, trace)
    checks = CheckResult.objects.filter(status="unresolved", **scope)
    newer = TaskSpecification.objects.filter(
        question=OuterRef("specification__question"), version__gt=OuterRef("specification__version")
    )
    obligations = ObligationMapping.objects.filter(
        ~Exists(newer), status="unresolved", superseded_by__isnull=True, **scope
    )
    rows = [
        some.exclude(trace__expert_items__study=study)
        .order_by()
        .values_list("trace_id", Value(order), what, "reason")
        for order, (some, what) in enumerate(((checks, "name"), (obligations, "obligation")))
    ]
    reasons: dict[int, list[str]] = {}
    for trace_id, of_graph, name, reason in sorted(rows[0].union(rows[1], all=True)):
        words = f"obligation {name}: {reason or 'unresolved'}" if of_graph else f"{name}: {reason}"
        reasons.setdefault(trace_id, []).append(words)
    for trace_id, found in reasons.items():
        yield Need(trace_id=trace_id, why="; ".join(found), rank=UNDECIDED)


def flagged(study: Study, trace: Trace | None = None) -> Iterator[Need]:
    """Yield a need for each trace on which models raised concerns since an expert ruled on it last."""
    flags = Flag.objects.filter(**_readable(study, trace))
    ruled = ExpertRuling.objects.filter(item__study=study).order_by().values("item__trace")
    latest = dict(ruled.annotate(at=Max("created_at")).values_list("item__trace", "at"))
    numbers: dict[int, int] = {}
    for trace_id, raised_at in flags.values_list("trace_id", "created_at"):
        if trace_id not in latest or raised_at > latest[trace_id]:
            numbers[trace_id] = numbers.get(trace_id, 0) + 1
    for trace_id, number in numbers.items():
        why = f"{number} concern{'' if number == 1 else 's'} raised by models"
        yield Need(trace_id=trace_id, why=why, rank=CONCERNS)


def _readable(study: Study, trace: Trace | None) -> dict[str, Any]:
    """Return the conditions on rows of a trace: of the study, an included question, not set apart for training."""
    found: dict[str, Any] = {
        "trace__study": study,
        "trace__question__status": Question.Status.INCLUDED,
        "trace__check_item__isnull": True,
    }
    return found if trace is None else {**found, "trace": trace}


def needing_experts(study: Study) -> list[tuple[int, list[Need]]]:
    """Return (trace id, why) of all that calls for an expert and is not in the queue, the most pressing first.

    The order within a rank is that of the traces' random tokens, which tell nothing of who wrote or labelled them.
    """
    needs = needs_in(study)
    items = ExpertItem.objects.filter(study=study, state__in=STANDING)
    queued = set(items.values_list("trace_id", flat=True))
    tokens = dict(Trace.objects.filter(study=study).values_list("pk", "token")) if needs else {}
    found = [(trace_id, some) for trace_id, some in needs.items() if trace_id not in queued]
    return sorted(found, key=lambda pair: (pair[1][0].rank, tokens[pair[0]]))


def needs_of(trace: Trace) -> list[Need]:
    """Return why a trace calls for an expert, the most pressing first."""
    return needs_in(trace.study, trace).get(trace.pk, [])


def traces_by_id(study: Study, ids: Iterable[int]) -> dict[int, Trace]:
    """Return these traces with their questions."""
    rows = Trace.objects.filter(study=study, pk__in=list(ids)).select_related("question")
    return {trace.pk: trace for trace in rows.only("token", "study", "question__external_id")}


def settled_in(study: Study) -> QuerySet[ExpertItem]:
    """Return the settled items, newest first."""
    return (
        ExpertItem.objects.filter(study=study, state=ExpertItem.State.SETTLED)
        .select_related("trace__question")
        .prefetch_related("rulings")
        .order_by("-pk")
    )


def latest_ruling(item: ExpertItem) -> ExpertRuling | None:
    """Return the last ruling on an item."""
    return item.rulings.select_related("expert").order_by("-revision").first()


def unresolved_traces(study: Study) -> dict[int, str]:
    """Return the traces that wait for an expert, by id, with the reason; read by annotation.holds.

    They are those whose item is not settled, and those that a check or an obligation leaves to a person.
    """
    held = {need.trace_id: f"waits for an expert: {need.why}" for need in undecided(study)}
    for item in ExpertItem.objects.filter(study=study, state__in=STANDING).prefetch_related("rulings"):
        rulings = sorted(item.rulings.all(), key=lambda ruling: ruling.revision)
        if item.state == ExpertItem.State.LEFT_OPEN and rulings:
            held[item.trace_id] = f"left open by an expert: {rulings[-1].reason}"
        else:
            held[item.trace_id] = f"waits for an expert: {item.reason}"
    return held


def audits_of(study: Study) -> QuerySet[KeyAudit]:
    """Return the audits of a study, newest first, without their large parts."""
    return (
        KeyAudit.objects.filter(study=study)
        .defer("rule", "summary")
        .select_related("decision__decided_by", "created_by")
        .order_by("-number")
    )


def changed_responses(audit: KeyAudit) -> QuerySet[AuditedResponse]:
    """Return every response whose score the audit changes."""
    return audit.responses.filter(Q(before=True, after=False) | Q(before=False, after=True))


def scores_in_force(study: Study) -> Mapping[tuple[str, str], bool]:
    """Return the score that each response got by an accepted audit, the newest where there are several, by
    (item, model). The other responses have the score that they were stored with.
    """
    rows = AuditedResponse.objects.filter(audit__study=study, audit__decision__accepted=True)
    rows = rows.order_by("audit__number")
    return {(item, model): after for item, model, after in rows.values_list("item", "model", "after")}
