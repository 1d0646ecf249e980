"""What the figures show, taken from a report: the page and the files draw the same points."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from monitoring.report.links import BEHIND, link, recall_of
from stats.panel import LADDER

PLACES = ("early", "exact", "late", "missed")
MARKERS = ("circle", "square", "up", "diamond", "down", "cross", "plus", "hexagon")


@dataclass(frozen=True)
class Line:
    """One monitor: its values by condition (None where undefined), and its place in the order of markers.

    `links` ask for the traces behind each value.
    """

    name: str
    values: tuple[float | None, ...]
    place: int
    links: tuple[str, ...] = ()

    @property
    def marker(self) -> str:
        """The shape that tells this monitor without its colour; after 8 monitors colour and shape part."""
        return MARKERS[(self.place + self.place // len(MARKERS)) % len(MARKERS)]

    @property
    def colour(self) -> int:
        """The number of the colour, from 1 to 8."""
        return self.place % 8 + 1


@dataclass(frozen=True)
class Panel:
    """One panel of lines over conditions, with the mean over monitors and its interval.

    Without a mean (`mean`, `band` and `links` empty) the lines stand for themselves; `axis` names what lies across.
    """

    key: str
    title: str
    conditions: tuple[str, ...]
    lines: tuple[Line, ...]
    mean: tuple[float | None, ...]
    band: tuple[tuple[float, float] | None, ...]
    links: tuple[str, ...] = ()
    top: float = 1.0
    chance: float | None = None
    axis: str = "condition"

    def alternative(self) -> str:
        """Say in words what the panel shows."""
        parts = []
        for condition, value, band in zip(self.conditions, self.mean, self.band, strict=False):
            if value is not None:
                interval = f" ({band[0]:.3f} to {band[1]:.3f})" if band else ""
                parts.append(f"{condition} {value:.3f}{interval}")
        monitors = "; ".join(
            f"{line.name} "
            + ", ".join("undefined" if value is None else f"{value:.3f}" for value in line.values)
            for line in self.lines
        )
        if not self.mean:
            return f"{self.title} by {self.axis} ({', '.join(self.conditions)}). {monitors}."
        means = ", ".join(parts) or "undefined"
        return (
            f"{self.title} by condition ({', '.join(self.conditions)}). Mean with 95% interval: {means}. "
            f"By monitor: {monitors}."
        )


@dataclass(frozen=True)
class Bars:
    """Shares of early, exact, late and missed by condition, pooled over monitors."""

    conditions: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]

    def alternative(self) -> str:
        """Say in words what the bars show."""
        rows = "; ".join(
            f"{condition}: "
            + ", ".join(f"{place} {share:.3f}" for place, share in zip(PLACES, shares, strict=True))
            for condition, shares in zip(self.conditions, self.shares, strict=True)
        )
        return f"Where the named step lies, as shares of all pairs of monitor and erroneous trace. {rows}."


def conditions_of(report: dict[str, Any]) -> tuple[str, ...]:
    """The ladder's conditions that were run; all others too where none of the ladder was."""
    ran = report.get("detection", {})
    return tuple(name for name in LADDER if name in ran) or tuple(ran)


def ladder_panels(report: dict[str, Any]) -> list[Panel]:
    """Balanced accuracy, and recall on wrong and on critical traces, over the ladder."""
    conditions = conditions_of(report)
    if not conditions:
        return []
    detection = report["detection"]
    panels = [
        _panel(
            report,
            "balanced_accuracy",
            "Balanced accuracy",
            {c: {m: r["balanced_accuracy"] for m, r in detection[c]["monitors"].items()} for c in conditions},
            {c: detection[c]["mean"] for c in conditions},
            "balanced_accuracy",
            {c: {"condition": c, **BEHIND["balanced_accuracy"]} for c in conditions},
            chance=0.5,
        )
    ]
    recall = report.get("ladder_recall", {})
    for cell, title in (("wrong", "Recall, wrong answer"), ("critical", "Recall, critical")):
        panels.append(
            _panel(
                report,
                f"recall_{cell}",
                title,
                {c: recall.get(c, {}).get(cell, {}).get("monitors", {}) for c in conditions},
                {c: recall.get(c, {}).get(cell, {}) for c in conditions},
                "mean",
                {c: recall_of(c, cell) for c in conditions},
            )
        )
    return panels


def localisation_panel(report: dict[str, Any]) -> Panel | None:
    """Exact localisation over the ladder."""
    conditions = conditions_of(report)
    section = report.get("localisation", {})
    if not conditions:
        return None
    points = {c: {m: r["L0"] for m, r in section[c]["monitors"].items()} for c in conditions}
    highest = max((v for values in points.values() for v in values.values() if v is not None), default=1.0)
    return _panel(
        report,
        "L0",
        "Exact localisation L0",
        points,
        {c: section[c]["mean"] for c in conditions},
        "L0",
        {c: {"condition": c, **BEHIND["L0"]} for c in conditions},
        top=min(1.0, ceil(10 * highest + 0.5) / 10),
    )


def place_bars(report: dict[str, Any]) -> Bars | None:
    """Early, exact, late, missed by condition; None where no trace has an error."""
    section = report.get("localisation", {})
    conditions = tuple(c for c in conditions_of(report) if section[c]["pooled"]["exact"] is not None)
    if not conditions:
        return None
    return Bars(conditions, tuple(tuple(section[c]["pooled"][p] for p in PLACES) for c in conditions))


def _panel(
    report: dict[str, Any],
    key: str,
    title: str,
    points: dict[str, dict[str, float | None]],
    means: dict[str, dict[str, Any]],
    name: str,
    asked: dict[str, dict[str, str]],
    *,
    top: float = 1.0,
    chance: float | None = None,
) -> Panel:
    conditions = tuple(points)
    bands = [means[c].get(f"{name}_ci") for c in conditions]
    return Panel(
        key=key,
        title=title,
        conditions=conditions,
        lines=tuple(
            Line(
                monitor,
                tuple(points[c].get(monitor) for c in conditions),
                place,
                tuple(link(monitor=monitor, **asked[c]) for c in conditions),
            )
            for place, monitor in enumerate(report["monitors"])
            if any(monitor in points[c] for c in conditions)
        ),
        mean=tuple(means[c].get(name) for c in conditions),
        band=tuple((band[0], band[1]) if band else None for band in bands),
        links=tuple(link(**asked[c]) for c in conditions),
        top=top,
        chance=chance,
    )
