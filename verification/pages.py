"""What the page of a trace shows, made ready for its template: layers, graph and steps, never a source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from annotation.models import ReferenceAnswer, Trace
from annotation.needs import Need
from annotation.queries import reference_answer
from core.mathtext import render, render_inline
from verification import queries
from verification.models import (
    CheckResult,
    ExecutionRecord,
    ExpertItem,
    ExpertRuling,
    Flag,
    ObligationMapping,
    TaskSpecification,
)
from verification.obligations import Graph, chain_of, conclude, graph_of
from verification.obligations.drawing import Drawing, draw
from verification.obligations.graph import Conclusion


@dataclass(frozen=True)
class Step:
    """A step with how it stands where steps are a chain ("" if nothing is said), and the flags on it."""

    number: int
    html: SafeString
    state: str
    flags: Sequence[Flag]
    check: CheckResult | None


@dataclass(frozen=True)
class ObligationRow:
    """An obligation with its state after induction, and the mapping that it rests on."""

    name: str
    text: str
    needs: Sequence[str]
    state: str
    mapping: ObligationMapping | None
    overruled: str


@dataclass(frozen=True)
class TracePage:
    """Everything on the page of one trace."""

    trace: Trace
    statement: SafeString
    reference: ReferenceAnswer | None
    reference_html: SafeString
    specification: TaskSpecification | None
    columns: Mapping[str, Sequence[CheckResult]]
    rejected: bool
    steps: Sequence[Step]
    obligations: Sequence[ObligationRow]
    conclusion: Conclusion | None
    drawing: Drawing | None
    loose_flags: Sequence[Flag]
    n_flags: int
    execution: ExecutionRecord | None
    item: ExpertItem | None
    ruling: ExpertRuling | None
    needs: Sequence[Need]


def trace_page(trace: Trace) -> TracePage:
    """Gather the page of a trace; writes nothing and runs no check."""
    specification = queries.specification_of(trace.question)
    columns = queries.checks_on(trace)
    checks = [row for rows in columns.values() for row in rows]
    flags = list(queries.flags_on(trace))
    item = queries.newest_item(trace)
    ruling = queries.latest_ruling(item) if item else None
    graph, rows, conclusion, drawing = None, [], None, None
    if specification is not None and specification.obligations:
        graph = graph_of(specification.obligations)
        mappings = queries.mappings_of(trace, specification)
        own, overruled = own_states(mappings, checks)
        conclusion = conclude(graph, own)
        rows = _rows(graph, conclusion, mappings, overruled)
        steps_of = {name: mapping.steps for name, mapping in mappings.items()}
        drawing = draw(graph, conclusion.states, steps_of)
    reference = reference_answer(trace.question)
    states = {} if graph else chain_states(trace, checks, flags, item, ruling)
    return TracePage(
        trace=trace,
        statement=_safe(render(trace.question.statement)),
        reference=reference,
        reference_html=_safe(render_inline(reference.text) if reference else ""),
        specification=specification,
        columns=columns,
        rejected=any(row.rejects for row in checks),
        steps=[
            Step(
                number=number,
                html=_safe(render(_without_marker(text, number, trace.cut))),
                state=states.get(str(number), ""),
                flags=[flag for flag in flags if flag.step == number],
                check=next((row for row in checks if row.step == number), None),
            )
            for number, text in trace.numbered_steps()
        ],
        obligations=rows,
        conclusion=conclusion,
        drawing=drawing,
        loose_flags=[flag for flag in flags if flag.step is None],
        n_flags=len(flags),
        execution=ExecutionRecord.objects.filter(trace=trace).first(),
        item=item,
        ruling=ruling,
        needs=queries.needs_of(trace),
    )


def own_states(
    mappings: Mapping[str, ObligationMapping], checks: Sequence[CheckResult]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return (states, reasons where a check overrules): a step that a check finds false fails its obligation."""
    states, overruled = {}, {}
    for name, mapping in mappings.items():
        states[name] = mapping.status
        false = next((row for row in checks if row.step in mapping.steps and row.status == "failed"), None)
        if false is not None and mapping.status != "failed":
            states[name] = "failed"
            overruled[name] = f"step {false.step}: {false.reason}"
    return states, overruled


def chain_states(
    trace: Trace,
    checks: Sequence[CheckResult],
    flags: Sequence[Flag],
    item: ExpertItem | None,
    ruling: ExpertRuling | None,
) -> dict[str, str]:
    """Return how steps stand as a chain: nothing is said of those before the first trouble, later ones are unverified.

    An expert's word comes first; a step flagged by a model is in trouble only while an expert item stands.
    """
    if not trace.n_steps:
        return {}
    if ruling is not None and ruling.outcome != "unresolved":
        first = {ruling.step: "failed"} if ruling.step else {}
    else:
        first = {row.step: "failed" for row in checks if row.step and row.status == "failed"}
        if item is not None and item.state != ExpertItem.State.SETTLED:
            first = {**{flag.step: "unresolved" for flag in flags if flag.step}, **first}
    if not first:
        return {}
    where = min(first)
    own = {str(step): "valid" for step in range(1, where)} | {str(where): first[where]}
    states = conclude(chain_of(trace.n_steps), own).states
    return {name: state for name, state in states.items() if int(name) >= where}


def _rows(
    graph: Graph,
    conclusion: Conclusion,
    mappings: Mapping[str, ObligationMapping],
    overruled: Mapping[str, str],
) -> list[ObligationRow]:
    return [
        ObligationRow(
            name,
            graph.by_name[name].text,
            graph.by_name[name].needs,
            conclusion.states[name],
            mappings.get(name),
            overruled.get(name, ""),
        )
        for name in graph.order
    ]


def _without_marker(text: str, number: int, cut: str) -> str:
    """Drop the "(3)" that begins a numbered step: the margin says it already."""
    if cut != Trace.Cut.NUMBERED:
        return text
    return re.sub(rf"\A\(0*{number}\)\s*", "", text)


def _safe(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308 - core.mathtext sanitises what it returns
