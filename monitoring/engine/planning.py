"""Planning: for each monitor and condition the eligible traces, exclusions with reasons, calls and cost."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.models import Study
from core.errors import UserError
from core.texts import error_definition
from monitoring import offline
from monitoring.engine import materials, money
from monitoring.models import Condition, Monitor
from monitoring.prompts import CURRENT, Prompt
from monitoring.prompts import load as load_prompt

CHUNK = 500
SUPPORTED = tuple(Condition(name) for name in CURRENT)
DEFAULT_TIMEOUT = 300.0


@dataclass
class PlannedRun:
    """One cell of the planning matrix. `cost` is an upper bound in USD, None where the price is unknown."""

    monitor: Monitor
    condition: Condition
    needs: materials.Needs
    prompt: Prompt | None
    settings: dict[str, Any]
    calls: int = 0
    cost: Decimal | None = Decimal(0)
    excluded: Counter[str] = field(default_factory=Counter)

    @property
    def price_is_unknown(self) -> bool:
        """Whether what a call costs cannot be told, so that the run must not start."""
        return not self.monitor.has_price


@dataclass
class Plan:
    """The planning matrix of a batch before it is launched; nothing of it is written yet."""

    study: Study
    standard: ReferenceStandard
    runs: list[PlannedRun]
    not_ready: dict[str, int]

    @property
    def calls(self) -> int:
        """Calls over all runs."""
        return sum(run.calls for run in self.runs)

    @property
    def cost(self) -> Decimal | None:
        """Upper bound in USD over all runs; None if one of them has no price."""
        total = Decimal(0)
        for run in self.runs:
            if run.cost is None:
                return None
            total += run.cost
        return total

    @property
    def unpriced(self) -> list[str]:
        """The slugs of monitors without a price."""
        return sorted({run.monitor.slug for run in self.runs if run.price_is_unknown})


def conditions_named(names: Sequence[str]) -> list[Condition]:
    """Return the conditions of these names in the ladder's order; UserError for what cannot be run."""
    chosen: set[Condition] = set()
    for name in names:
        if name.upper() not in Condition.values:
            raise UserError(f'no condition named "{name}"; there are: {", ".join(Condition.values)}')
        condition = Condition(name.upper())
        if condition not in SUPPORTED:
            raise UserError(
                f"the condition {condition} cannot be launched yet; these can: {', '.join(SUPPORTED)}"
            )
        chosen.add(condition)
    if not chosen:
        raise UserError(f"name at least one condition of: {', '.join(SUPPORTED)}")
    return [condition for condition in Condition if condition in chosen]


def monitors_named(study: Study, slugs: Sequence[str]) -> list[Monitor]:
    """Return the monitors of these slugs, in the order given.

    A built-in offline monitor that the study does not have yet comes as an unsaved row. UserError for an
    unknown slug, naming those that exist.
    """
    existing = {monitor.slug: monitor for monitor in Monitor.objects.filter(study=study)}
    chosen: dict[str, Monitor] = {}
    for slug in slugs:
        if slug in existing:
            monitor = existing[slug]
        elif slug in offline.BUILT_IN:
            monitor = Monitor(study=study, slug=slug, provider=slug)
        else:
            runnable = sorted(
                {name for name, row in existing.items() if row.provider != Monitor.Provider.RELEASED}
                | set(offline.BUILT_IN)
            )
            raise UserError(f'no monitor named "{slug}" in {study.slug}; there are: {", ".join(runnable)}')
        if monitor.provider == Monitor.Provider.RELEASED:
            raise UserError(f"{slug} holds verdicts imported from a release; there is nothing to run")
        chosen[slug] = monitor
    if not chosen:
        raise UserError("name at least one monitor")
    return list(chosen.values())


def standard_named(study: Study, version: int | None) -> ReferenceStandard:
    """Return a study's standard of that version, or its latest; UserError names those that exist."""
    standards = ReferenceStandard.objects.filter(study=study).order_by("-version")
    if version is None:
        latest = standards.first()
        if latest is None:
            raise UserError(f"{study.slug} has no reference standard yet; freeze one first")
        return latest
    standard = standards.filter(version=version).first()
    if standard is None:
        known = ", ".join(str(row.version) for row in reversed(standards)) or "none yet"
        raise UserError(f"{study.slug} has no standard {version}; there are: {known}")
    return standard


def plan_batch(
    *,
    study: Study,
    standard: ReferenceStandard,
    monitors: Sequence[Monitor],
    conditions: Sequence[Condition],
    with_cost: bool = True,
) -> Plan:
    """Return the plan of a batch. Reads the standard in pieces, and writes nothing."""
    plan = Plan(
        study=study,
        standard=standard,
        runs=[_planned(monitor, condition) for monitor in monitors for condition in conditions],
        not_ready=dict(
            Counter(
                StandardLabel.objects.filter(standard=standard)
                .exclude(status=StandardLabel.Status.READY)
                .values_list("status", flat=True)
            )
        ),
    )
    for run, chunk in eligible(plan):
        run.calls += len(chunk)
        if run.needs.prompt:
            run.cost = _cost(run, chunk) if with_cost and not run.price_is_unknown else None
    return plan


def eligible(plan: Plan) -> Iterator[tuple[PlannedRun, list[materials.Material]]]:
    """Yield, piece by piece, the traces that each run of a plan can be shown; count the others."""
    answers = any(run.needs.answer for run in plan.runs)
    labels = (
        StandardLabel.objects.filter(standard=plan.standard, status=StandardLabel.Status.READY)
        .order_by("trace_id")
        .iterator(chunk_size=CHUNK)
    )
    for run in plan.runs:
        run.excluded.clear()
    while piece := list(itertools.islice(labels, CHUNK)):
        loaded = materials.load(piece, answers=answers, before=None)
        for run in plan.runs:
            stored = _stored(plan, run, loaded)
            fit = []
            for material in loaded:
                reason = materials.obstacle(material, run.needs, stored=material.trace.pk in stored)
                if reason is None:
                    fit.append(material)
                else:
                    run.excluded[reason] += 1
            if fit:
                yield run, fit


def _stored(plan: Plan, run: PlannedRun, loaded: list[materials.Material]) -> set[int]:
    if not run.needs.stored:
        return set()
    source = materials.source_of(run.monitor.options, run.condition)
    trace_ids = [material.trace.pk for material in loaded]
    return set(materials.stored_for(source, study_id=plan.study.pk, trace_ids=trace_ids, before=None))


def _planned(monitor: Monitor, condition: Condition) -> PlannedRun:
    needs = materials.needs_of(monitor.provider, condition, monitor.options)
    prompt = load_prompt(condition) if needs.prompt else None
    return PlannedRun(
        monitor=monitor,
        condition=condition,
        needs=needs,
        prompt=prompt,
        settings=settings_of(monitor, needs),
    )


def settings_of(monitor: Monitor, needs: materials.Needs) -> dict[str, Any]:
    """Return the settings that a run keeps: a monitor changed later does not change a run under way."""
    settings: dict[str, Any] = {"provider": monitor.provider, "options": monitor.options}
    if needs.prompt:
        settings |= {
            "model": monitor.model,
            "base_url": monitor.base_url,
            "key_env": monitor.key_env,
            "temperature": monitor.temperature,
            "max_tokens": monitor.max_tokens,
            "reasoning_effort": monitor.reasoning_effort,
            "seed": monitor.seed,
            "json_mode": monitor.json_mode,
            "timeout": float(monitor.options.get("timeout", DEFAULT_TIMEOUT)),
            "input_price": None if monitor.input_price is None else str(monitor.input_price),
            "output_price": None if monitor.output_price is None else str(monitor.output_price),
            "error_definition": error_definition(),
        }
    return settings


def _cost(run: PlannedRun, chunk: list[materials.Material]) -> Decimal:
    assert run.cost is not None
    version = run.prompt.version if run.prompt else None
    total = run.cost
    for material in chunk:
        request = materials.request_for(
            material, condition=run.condition, version=version, settings=run.settings, key=""
        )
        total += money.upper_bound(request, run.settings)
    return total
