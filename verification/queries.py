"""Reads of specifications, evidence, the experts' queue and audits; nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Count, Prefetch, Q, QuerySet

from annotation.models import Question, Study, Trace
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
    """Return the traces whose expert item is not settled, by id, with the reason; read by annotation.holds."""
    held = {}
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
