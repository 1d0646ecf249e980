"""The audit itself: what a structured rule would change, computed offline; nothing is applied."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stats.bootstrap import interval
from stats.stratified import StratifiedResample, adjusted
from verification.answer_keys.records import BadAudit, Material, Target
from verification.answer_keys.scoring import (
    Baseline,
    Rescored,
    rescore,
    score_before,
    strict_baseline,
    structured_baseline,
    verdict,
)
from verification.answer_keys.shapes import is_sentence_valued, templates_of
from verification.comparators.sentences import Rule

Cell = tuple[str, str]
Scores = dict[tuple[str, Cell], dict[str, bool]]


def diagnose(material: Material) -> list[dict[str, Any]]:
    """Return, for each cell with sentence-valued keys, how many there are and how they score now."""
    flagged = {name for name, item in material.items.items() if is_sentence_valued(item.key)}
    totals: dict[Cell, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, item in material.items.items():
        totals[item.cell][0] += name in flagged
        totals[item.cell][1] += 1
    for response in material.responses:
        if response.item in flagged:
            item = material.items[response.item]
            totals[item.cell][2] += 1
            totals[item.cell][3] += score_before(item, response)
    return [
        {
            "domain": cell[0],
            "level": cell[1],
            "flagged_items": counts[0],
            "items": counts[1],
            "evaluated_responses": counts[2],
            "strictly_correct": counts[3],
            "strict_accuracy": counts[3] / counts[2] if counts[2] else None,
        }
        for cell, counts in sorted(totals.items())
        if counts[0]
    ]


def structure(material: Material, cell: Cell) -> list[dict[str, Any]]:
    """Return the templates of a cell's keys with their counts."""
    keys = [item.key for item in material.items.values() if item.cell == cell]
    if not keys:
        raise BadAudit(f"there are no keys in {cell[0]} {cell[1]}")
    return [
        {
            "template": one.text,
            "count": one.count,
            "distinct": one.distinct,
            "slots": {name: list(values) for name, values in one.slots.items()},
        }
        for one in templates_of(keys)
    ]


def audit(
    material: Material, rule: Rule, target: Target, *, resamples: int = 10_000, seed: int = 0
) -> tuple[dict[str, Any], list[Rescored]]:
    """Return what re-scoring the target cell under the rule would change, and every response of the cell.

    Accuracies are shares of 1. Undefined figures are null with a reason beside them. The baseline of a cell is
    that of the items evaluated in it; only the target's changes. In the bootstrap baselines stay fixed.
    """
    cell = (target.domain, target.level)
    rescored = rescore(material, rule, cell)
    before: Scores = defaultdict(dict)
    for response in material.responses:
        item = material.items[response.item]
        before[response.model, item.cell][item.name] = score_before(item, response)
    after: Scores = dict(before)
    for model in {one.response.model for one in rescored}:
        after[model, cell] = {one.item.name: one.after for one in rescored if one.response.model == model}
    evaluated = _evaluated(material)
    bases = {
        one: strict_baseline([material.items[name].key for name in names]) for one, names in evaluated.items()
    }
    structured = structured_baseline([material.items[name].key for name in evaluated[cell]], rule)
    models = sorted({response.model for response in material.responses})
    sides = {
        "before": _aggregates(material, models, before, bases, target, resamples, seed),
        "after": _aggregates(material, models, after, {**bases, cell: structured}, target, resamples, seed),
    }
    rows = []
    for model in models:
        own = [one for one in rescored if one.response.model == model]
        row: dict[str, Any] = {"model": model, "responses": len(own)}
        row["changed"] = sum(one.before != one.after for one in own)
        for side, values in sides.items():
            scores = [getattr(one, side) for one in own]
            row[side] = {"accuracy": sum(scores) / len(scores) if scores else None, **values[model]}
        rows.append(row)
    summary = {
        "target": {"domain": target.domain, "level": target.level},
        "levels": {"lower": target.lower, "upper": target.upper},
        "rule": {"name": rule.name, "title": rule.title},
        "cells": {"all": len(bases), "upper": sum(one[1] == target.upper for one in bases)},
        "paired_domains": _paired(bases, target),
        "baseline": {"before": _shown(bases[cell]), "after": _shown(structured)},
        "bootstrap": {"resamples": resamples, "seed": seed},
        "structure": structure(material, cell),
        "sentence_valued": diagnose(material),
        "responses": len(rescored),
        "changed": sum(one.before != one.after for one in rescored),
        "models": rows,
    }
    return summary, rescored


def _evaluated(material: Material) -> dict[Cell, list[str]]:
    names: dict[Cell, set[str]] = defaultdict(set)
    for response in material.responses:
        names[material.items[response.item].cell].add(response.item)
    return {cell: sorted(found) for cell, found in names.items()}


def _paired(bases: dict[Cell, Baseline], target: Target) -> list[str]:
    if target.lower == target.upper:
        return []
    lower = {domain for domain, level in bases if level == target.lower}
    return sorted(domain for domain, level in bases if level == target.upper and domain in lower)


def _shown(one: Baseline) -> dict[str, Any]:
    return {"share": one.share, "right": one.right, "of": one.of, "answer": one.answer}


def _aggregates(
    material: Material,
    models: Sequence[str],
    scores: Scores,
    bases: dict[Cell, Baseline],
    target: Target,
    resamples: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    paired = _paired(bases, target)
    upper_cells = [cell for cell in sorted(bases) if cell[1] == target.upper]
    contrasts = _contrasts(material, models, scores, bases, target, paired, resamples, seed)
    result = {}
    for place, model in enumerate(models):
        accuracy = {
            cell: sum(scores[model, cell].values()) / len(scores[model, cell])
            for cell in bases
            if scores.get((model, cell))
        }
        own = {cell: float(adjusted(value, bases[cell].share)) for cell, value in accuracy.items()}
        complete = [one for one in paired if (one, target.upper) in own and (one, target.lower) in own]
        row: dict[str, Any] = {
            "paired_domains": len(complete),
            "raw_upper": _mean([accuracy[cell] for cell in upper_cells if cell in accuracy]),
            "adjusted_upper": _mean([own[one, target.upper] for one in paired if (one, target.upper) in own]),
            "overall": _mean(list(own.values())),
        }
        if contrasts is not None:
            samples = contrasts[:, place]
            found = interval(samples[1:])
            row["difference"] = _number(samples[0])
            row["difference_ci"] = [found.low, found.high] if found else None
            row["verdict"] = verdict(found.low, found.high) if found else "undefined"
            if found is None:
                row["difference_reason"] = "a constant answer is always right in one of the cells compared"
        else:
            row |= {"difference": None, "difference_ci": None, "verdict": None}
            row["difference_reason"] = f"no domain has both {target.lower} and {target.upper}"
        result[model] = row
    return result


def _mean(values: Sequence[float]) -> float | None:
    """Average what is defined; None if nothing is (a baseline of 1 leaves a cell undefined)."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _contrasts(
    material: Material,
    models: Sequence[str],
    scores: Scores,
    bases: dict[Cell, Baseline],
    target: Target,
    paired: Sequence[str],
    resamples: int,
    seed: int,
) -> npt.NDArray[np.float64] | None:
    """Return adjusted upper minus lower, averaged over domains, (1 + B, models); None without paired domains."""
    if not paired:
        return None
    strata = {domain: place for place, domain in enumerate(paired)}
    clusters: dict[tuple[str, str], int] = {}
    for item in material.items.values():
        evaluated = any(item.name in scores.get((model, item.cell), ()) for model in models)
        if item.domain in strata and item.level in (target.lower, target.upper) and evaluated:
            clusters.setdefault((item.domain, item.cluster), len(clusters))
    stratum = np.array([strata[domain] for domain, _ in clusters])
    levels = (target.lower, target.upper)
    # for each model and level: right answers and answers per cluster
    sums = np.zeros((len(models), 2, 2, len(clusters)))
    for place, model in enumerate(models):
        for side, level in enumerate(levels):
            for domain in paired:
                for name, right in scores.get((model, (domain, level)), {}).items():
                    cluster = clusters[domain, material.items[name].cluster]
                    sums[place, side, 0, cluster] += right
                    sums[place, side, 1, cluster] += 1
    resample = StratifiedResample(stratum, paired, resamples=resamples, seed=seed)
    totals = resample.totals(sums.reshape(-1, len(clusters)))
    shaped = totals.reshape(1 + resamples, len(models), 2, 2, len(paired))
    hits, answers = shaped[:, :, :, 0], shaped[:, :, :, 1]
    share = np.divide(hits, answers, out=np.full(hits.shape, np.nan), where=answers > 0)
    base = np.array([[bases[domain, level].share for domain in paired] for level in levels])
    values = adjusted(share, base)
    gaps = values[:, :, 1] - values[:, :, 0]
    defined = ~np.isnan(gaps)
    count = defined.sum(axis=2)
    total = np.where(defined, gaps, 0.0).sum(axis=2)
    means: npt.NDArray[np.float64] = np.divide(
        total, count, out=np.full(total.shape, np.nan), where=count > 0
    )
    return means
