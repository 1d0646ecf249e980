"""The section on false certificates: paired contrasts, suppressed localisations, where induced flags land."""

from __future__ import annotations

from typing import Any

from stats import certificate as swapping
from stats.bootstrap import Resample, mean_defined, ratio, signs
from stats.document import put, put_interval, put_value
from stats.panel import CERTIFICATES, Panel
from stats.report.options import PUBLISHED, Options
from stats.report.standard import put_clusters

NO_PAIRS = "no trace has valid verdicts under both conditions"


def section(panel: Panel, resample: Resample, options: Options) -> dict[str, Any] | None:
    """Everything on CMATCH and CCONFLICT; None where neither was run."""
    ran = panel.conditions(CERTIFICATES)
    if not ran:
        return None
    out: dict[str, Any] = {
        "monitors": sorted({name for condition in ran for name in panel.verdicts[condition].monitors}),
        "eligible": {condition: int(swapping.eligible(panel, condition).sum()) for condition in ran},
    }
    for condition in ran:
        row = out.setdefault("clusters", {}).setdefault(condition, {})
        put_clusters(row, panel.reference, swapping.eligible(panel, condition))
    for later, earlier, swap, seed in swapping.CONTRASTS:
        if {later, earlier} <= set(panel.verdicts):
            within = swapping.eligible(panel, swap)
            found = swapping.paired(panel, later, earlier, within, resample, published_seed=seed)
            out[f"{later}-{earlier}"] = _contrast(found, options)
            if options.convention == PUBLISHED:
                by_monitor = swapping.published_effects(panel, later, earlier, within, published_seed=seed)
                for monitor, samples in by_monitor.items():
                    if out[f"{later}-{earlier}"]["monitors"][monitor]["estimate"] is not None:
                        put_interval(out[f"{later}-{earlier}"]["monitors"][monitor], "ci", samples)
    for conditions, swap in ((("BLIND", "CERT", "CMATCH"), "CMATCH"), (("CERT", "CCONFLICT"), "CCONFLICT")):
        if set(conditions) <= set(panel.verdicts):
            out.setdefault("side_by_side", {})[swap] = _side_by_side(panel, conditions, swap, resample)
    if {"BLIND", "CERT", "CMATCH"} <= set(panel.verdicts):
        out["suppressed_localisations"] = _suppressed(panel, resample)
    if "CCONFLICT" in panel.verdicts:
        out["interior_attribution"] = _interior(panel, resample)
    return out


def _contrast(found: swapping.Paired, options: Options) -> dict[str, Any]:
    out: dict[str, Any] = {}
    mean = mean_defined(found.effect)
    put_value(out, "estimate", float(mean[0]), NO_PAIRS)
    if out["estimate"] is not None:
        put_interval(out, "ci", mean)
        put_interval(out, "ci_published_convention", found.published)
        if options.convention == PUBLISHED:
            out["ci"] = out["ci_published_convention"]
        if (found.most > found.least).any():
            out["bounds"] = [float(mean_defined(found.least)), float(mean_defined(found.most))]
    sign = signs(mean)[0]
    out["same_direction"] = int((signs(found.effect[0]) == sign).sum()) if sign else 0
    out["monitors"] = {}
    for m, monitor in enumerate(found.monitors):
        row: dict[str, Any] = {"n": int(found.n[m])}
        put_value(row, "estimate", float(found.effect[0, m]), NO_PAIRS)
        if row["estimate"] is not None:
            put_interval(row, "ci", found.effect[:, m])
        row |= {name: int(getattr(found, name)[m]) for name in ("both", "gained", "lost", "neither")}
        out["monitors"][monitor] = row
    return out


def _side_by_side(panel: Panel, conditions: tuple[str, ...], swap: str, resample: Resample) -> dict[str, Any]:
    """Flag rates under two or three conditions on the traces valid under all of them."""
    within = swapping.eligible(panel, swap)
    monitors, n, rates = swapping.rates_side_by_side(panel, conditions, within, resample)
    nothing = "no trace is valid under all of these conditions"
    out: dict[str, Any] = {"n": dict(zip(monitors, map(int, n), strict=True))}
    for condition in conditions:
        row: dict[str, Any] = {"monitors": {}}
        put(row, "mean", mean_defined(rates[condition]), nothing)
        for m, monitor in enumerate(monitors):
            put_value(row["monitors"], monitor, float(rates[condition][0, m]), nothing)
        out[condition] = row
    return out


def _suppressed(panel: Panel, resample: Resample) -> dict[str, Any]:
    within = swapping.eligible(panel, "CMATCH")
    found = swapping.suppressed_localisations(panel, within, resample)
    out: dict[str, Any] = {
        "cases": int(found.cases.sum()),
        "passed_under_CERT": int(found.passed_under_cert.sum()),
        "passed_under_CMATCH": int(found.passed_under_cmatch.sum()),
    }
    nothing = "no exact BLIND localisation is valid under CERT and CMATCH"
    put(out, "share_under_CERT", found.cert_share, nothing)
    put(out, "share_under_CMATCH", found.cmatch_share, nothing)
    out["monitors"] = {
        monitor: {
            "cases": int(found.cases[m]),
            "passed_under_CERT": int(found.passed_under_cert[m]),
            "passed_under_CMATCH": int(found.passed_under_cmatch[m]),
        }
        for m, monitor in enumerate(found.monitors)
    }
    return out


def _interior(panel: Panel, resample: Resample) -> dict[str, Any]:
    within = swapping.eligible(panel, "CCONFLICT")
    found = swapping.interior_attribution(panel, within, resample)
    out: dict[str, Any] = {
        "newly_flagged": int(found.newly_flagged.sum()),
        "interior": int(found.newly_interior.sum()),
    }
    put(out, "share", found.newly_share, "no trace passed under CERT and was flagged under CCONFLICT")
    shares = ratio(found.newly_interior, found.newly_flagged)
    out["monitors_over_half"] = int((shares > 0.5).sum())
    out["monitors_over_nine_tenths"] = int((shares > 0.9).sum())
    out["all_flagged"] = int(found.flagged.sum())
    out["all_interior"] = int(found.flagged_interior.sum())
    put(out, "all_share", found.share, "no trace was flagged under CCONFLICT")
    out["monitors"] = {
        monitor: {
            "newly_flagged": int(found.newly_flagged[m]),
            "interior": int(found.newly_interior[m]),
            "all_flagged": int(found.flagged[m]),
            "all_interior": int(found.flagged_interior[m]),
        }
        for m, monitor in enumerate(found.monitors)
    }
    return out
