"""Planning: for each monitor and condition the eligible traces, exclusions with reasons, calls and cost."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.models import DebateRound, Study
from core.errors import UserError
from core.texts import error_definition
from monitoring import offline
from monitoring.engine import certificates, materials, money, priors
from monitoring.engine.options import BatchOptions
from monitoring.models import Condition, Monitor, Run
from monitoring.prompts import Prompt
from monitoring.prompts import load as load_prompt

CHUNK = 500
DEFAULT_TIMEOUT = 300.0
MOST_UNTAKEN = 1000  # so many are listed by name; all are counted

NO_PRIOR_RUN = "the monitor has no finished BLIND run, and this batch has none"
NO_PRIOR = "no valid BLIND verdict of the monitor"
NOT_UNDER_BLIND = "it cannot be run under BLIND, on which the condition builds"
ANSWER_WRONG = "its final answer is wrong, and RCTRL runs on right ones"


@dataclass
class PlannedRun:
    """One cell of the planning matrix. `cost` is an upper bound in USD, None where the price is unknown."""

    monitor: Monitor
    condition: Condition
    needs: materials.Needs
    prompt: Prompt | None
    settings: dict[str, Any]
    prior_run: Run | None = None
    waits_for: PlannedRun | None = None
    traces: int = 0
    calls: int = 0
    cost: Decimal | None = Decimal(0)
    excluded: Counter[str] = field(default_factory=Counter)
    untaken: list[certificates.Untaken] = field(default_factory=list)

    @property
    def price_is_unknown(self) -> bool:
        """Whether what a call costs cannot be told, so that the run must not start."""
        return not self.monitor.has_price


@dataclass(frozen=True)
class PlannedCall:
    """One prompt: a trace, and what this call is shown of it; `waits` for another call's answer."""

    material: materials.Material
    shown: materials.Shown
    source_id: int | None = None
    waits: bool = False


@dataclass
class Plan:
    """The planning matrix of a batch before it is launched; nothing of it is written yet."""

    study: Study
    standard: ReferenceStandard
    runs: list[PlannedRun]
    not_ready: dict[str, int]
    refused_debaters: list[str] = field(default_factory=list)

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
        chosen.add(Condition(name.upper()))
    if not chosen:
        raise UserError(f"name at least one condition of: {', '.join(Condition.values)}")
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
    options: BatchOptions | None = None,
    with_cost: bool = True,
) -> Plan:
    """Return the plan of a batch. Reads the standard in pieces, and writes nothing."""
    plan = drafted(study=study, standard=standard, monitors=monitors, conditions=conditions, options=options)
    for run, calls in eligible(plan):
        run.calls += len(calls)
        if run.needs.prompt:
            run.cost = _cost(run, calls) if with_cost and not run.price_is_unknown else None
    return plan


def drafted(
    *,
    study: Study,
    standard: ReferenceStandard,
    monitors: Sequence[Monitor],
    conditions: Sequence[Condition],
    options: BatchOptions | None = None,
) -> Plan:
    """Return a plan whose calls are not counted yet: `eligible` goes through them."""
    options = options or BatchOptions()
    runs = [_planned(monitor, condition, options) for monitor in monitors for condition in conditions]
    debated = _debate_models(study)
    debaters = {monitor.slug for monitor in monitors if monitor.model.lower() in debated}
    for run in runs:
        if run.monitor.slug in debaters:
            run.settings["judged_in_debate"] = True
    blind = {id(run.monitor): run for run in runs if run.condition == Condition.BLIND}
    for run in runs:
        if run.needs.prior:
            run.waits_for = blind.get(id(run.monitor))
            if run.waits_for is None:
                run.prior_run = priors.newest_run(study_id=study.pk, monitor_id=run.monitor.pk)
            if run.prior_run is not None:
                run.settings["prior_batch"] = run.prior_run.batch.number
    return Plan(
        study=study,
        standard=standard,
        runs=runs,
        refused_debaters=[] if options.allow_debaters else sorted(debaters),
        not_ready=dict(
            Counter(
                StandardLabel.objects.filter(standard=standard)
                .exclude(status=StandardLabel.Status.READY)
                .values_list("status", flat=True)
            )
        ),
    )


def _debate_models(study: Study) -> set[str]:
    models = DebateRound.objects.filter(trace__study=study).order_by().values_list("model", flat=True)
    return {model.lower() for model in models.distinct() if model}


def eligible(plan: Plan) -> Iterator[tuple[PlannedRun, list[PlannedCall]]]:
    """Yield, piece by piece, the calls that each run of a plan makes; count the traces that it cannot.

    A piece holds the calls of at most CHUNK traces, so that a plan of any size passes through little memory.
    """
    answers = any(run.needs.answer for run in plan.runs)
    labels = (
        StandardLabel.objects.filter(standard=plan.standard, status=StandardLabel.Status.READY)
        .select_related("trace__question")
        .order_by("trace_id")
        .iterator(chunk_size=CHUNK)
    )
    for run in plan.runs:
        run.excluded.clear()
        run.untaken.clear()
        run.traces = 0
    in_order = sorted(plan.runs, key=lambda run: run.condition != Condition.BLIND)
    while piece := list(itertools.islice(labels, CHUNK)):
        loaded = materials.load(piece, answers=answers, before=None)
        fit: dict[int, set[int]] = {}
        for run in in_order:
            calls, traces = _calls(plan, run, piece, loaded, fit)
            fit[id(run)] = traces
            run.traces += len(traces)
            if calls:
                yield run, calls


def _calls(
    plan: Plan,
    run: PlannedRun,
    piece: list[StandardLabel],
    loaded: list[materials.Material],
    fit: dict[int, set[int]],
) -> tuple[list[PlannedCall], set[int]]:
    """Return the calls of a run on some traces, and those traces; `fit` holds those of runs before it."""
    trace_ids = [label.trace_id for label in piece]
    stored = _stored(plan, run, trace_ids)
    known = priors.load(run.prior_run.pk, trace_ids) if run.prior_run else {}
    chosen = certificates.Chosen({}, {}, [])
    if run.needs.certificate:
        chosen = certificates.choose(run.condition, plan.standard, piece)
        run.untaken += chosen.untaken
    calls: list[PlannedCall] = []
    traces: set[int] = set()
    for material in loaded:
        pk = material.trace.pk
        reason = chosen.reasons.get(pk) or _unfit(run, material, stored, known, fit)
        if reason is not None:
            run.excluded[reason] += 1
            continue
        traces.add(pk)
        certificate = chosen.certificates.get(pk)
        calls += _of_trace(run, material, certificate, known.get(pk))
    return calls, traces


def _unfit(
    run: PlannedRun,
    material: materials.Material,
    stored: set[int],
    known: dict[int, priors.Prior],
    fit: dict[int, set[int]],
) -> str | None:
    pk = material.trace.pk
    only_right = run.settings.get("rctrl_traces") == "answer_correct"
    if only_right and not material.final_correct:
        return ANSWER_WRONG
    if run.needs.prior and run.waits_for is not None and pk not in fit[id(run.waits_for)]:
        return NOT_UNDER_BLIND
    if run.needs.prior and run.waits_for is None and pk not in known:
        return NO_PRIOR if run.prior_run else NO_PRIOR_RUN
    return materials.obstacle(material, run.needs, stored=pk in stored)


def _of_trace(
    run: PlannedRun,
    material: materials.Material,
    certificate: certificates.Certificate | None,
    prior: priors.Prior | None,
) -> list[PlannedCall]:
    if run.needs.each_step:
        in_turn = run.settings["step_prefixes"] == "first_flag"
        return [
            PlannedCall(material, materials.Shown(step=step), waits=in_turn and step > 1)
            for step in range(1, (material.trace.n_steps or 0) + 1)
        ]
    waits = run.waits_for is not None
    if waits and run.needs.prompt:
        prior = priors.STAND_IN
    shown = materials.Shown(certificate=certificate.text if certificate else None, prior=prior)
    return [PlannedCall(material, shown, certificate.source_id if certificate else None, waits)]


def _stored(plan: Plan, run: PlannedRun, trace_ids: list[int]) -> set[int]:
    if not run.needs.stored:
        return set()
    source = materials.source_of(run.monitor.options, run.condition)
    return set(materials.stored_for(source, study_id=plan.study.pk, trace_ids=trace_ids, before=None))


def _planned(monitor: Monitor, condition: Condition, options: BatchOptions) -> PlannedRun:
    needs = materials.needs_of(monitor.provider, condition, monitor.options)
    prompt = load_prompt(condition) if needs.prompt else None
    settings = settings_of(monitor, needs) | options.of_run(condition, prompted=needs.prompt)
    if needs.certificate:
        settings["certificate_order"] = certificates.ORDER
    return PlannedRun(monitor=monitor, condition=condition, needs=needs, prompt=prompt, settings=settings)


def settings_of(monitor: Monitor, needs: materials.Needs) -> dict[str, Any]:
    """Return the settings that a run keeps: a monitor changed later does not change a run under way."""
    if not needs.prompt:
        return {"provider": monitor.provider, "options": monitor.options}
    return online_settings(monitor) | {"error_definition": error_definition()}


def online_settings(monitor: Monitor) -> dict[str, Any]:
    """Return the settings with which a model is asked."""
    return {
        "provider": monitor.provider,
        "options": monitor.options,
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
    }


def _cost(run: PlannedRun, calls: list[PlannedCall]) -> Decimal:
    assert run.cost is not None
    version = run.prompt.version if run.prompt else None
    total = run.cost
    for call in calls:
        request = materials.request_for(
            call.material,
            condition=run.condition,
            version=version,
            settings=run.settings,
            key="",
            shown=call.shown,
        )
        total += money.upper_bound(request, run.settings)
    return total
