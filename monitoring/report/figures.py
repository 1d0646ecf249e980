"""Figures for files, by matplotlib: SVG, PDF and PNG, the same bytes for the same report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.errors import UserError
from monitoring.report import figures_more as further
from monitoring.report import series_more
from monitoring.report.series import (
    PLACES,
    Bars,
    Line,
    Panel,
    ladder_panels,
    localisation_panel,
    place_bars,
)

# Okabe and Ito's colours, darkened where they would fade on paper.
COLOURS = ("#0072b2", "#d55e00", "#00805f", "#a8568a", "#8a6d00", "#2f7fb0", "#5b5b5b", "#6a3d9a")
SHAPES = {
    "circle": "o",
    "square": "s",
    "up": "^",
    "diamond": "D",
    "down": "v",
    "cross": "x",
    "plus": "+",
    "hexagon": "h",
}
PLACE_STYLE: Any = {
    "early": ("#f2c45f", "//"),
    "exact": ("#6cc3a5", ""),
    "late": ("#a6d3f0", "\\\\"),
    "missed": ("#dedede", ""),
}
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "svg.hashsalt": "falsestep",
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}
# Dates and versions would make equal figures differ. Under the second name a format keeps the figure in words.
FORMATS: dict[str, tuple[dict[str, None], str]] = {
    "svg": ({"Date": None, "Creator": None}, "Description"),
    "pdf": ({"CreationDate": None, "Creator": None, "Producer": None}, "Subject"),
    "png": ({"Software": None}, "Description"),
}


def write_figures(report: dict[str, Any], folder: Path) -> list[Path]:
    """Write each figure that the report has data for, with its text alternative beside it."""
    with mpl.rc_context(STYLE):
        return [path for drawn in _drawn(report) for path in _write(folder, *drawn)]


def _drawn(report: dict[str, Any]) -> Iterator[tuple[str, Figure, str]]:
    """Yield (name, figure, words) of each figure."""

    def said(*shown: Any) -> str:
        return "\n".join(one.alternative() for one in shown)

    def style(line: Line) -> dict[str, Any]:
        return further.marker_style(line, COLOURS, SHAPES)

    glance = series_more.overview(report)
    yield "overview", further.overview_figure(glance), said(glance)
    panels = ladder_panels(report)
    if panels:
        yield "ladder", ladder_figure(panels), said(*panels)
    panel, bars = localisation_panel(report), place_bars(report)
    if panel is not None and bars is not None:
        yield "localisation", localisation_figure(panel, bars), said(panel, bars)
    swaps, effects = series_more.certificate_panels(report), series_more.certificate_effects(report)
    if swaps or effects:
        figure = further.certificate_figure(swaps, effects, _draw, _legend, style)
        yield "certificates", figure, said(*swaps, *([effects] if effects else []))
    lengths = [p for p in (series_more.step_panel(report), series_more.position_panel(report)) if p]
    if lengths:
        yield "lengths", further.length_figure(lengths, _draw), said(*lengths)
    condition, curves = series_more.reliability(report)
    if curves:
        yield "reliability", further.reliability_figure(condition, curves, style), said(*curves)
    maps = series_more.heat_maps(report)
    if maps:
        yield "questions", further.heat_figure(maps), said(*maps)


def _write(folder: Path, name: str, figure: Figure, alternative: str) -> list[Path]:
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, (left_out, words) in FORMATS.items():
            path = folder / f"{name}.{kind}"
            metadata = {**left_out, "Title": name, words: alternative}
            figure.savefig(path, format=kind, metadata=metadata)
            written.append(path)
        path = folder / f"{name}.txt"
        path.write_text(alternative + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error
    return [*written, path]


def ladder_figure(panels: list[Panel]) -> Figure:
    """Draw balanced accuracy and recall by cell side by side, with one legend."""
    figure = Figure(figsize=(2.6 * len(panels) + 1.9, 2.9), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for letter, axis, panel in zip("abcdefgh", axes, panels, strict=False):
        _draw(axis, panel, letter)
    _legend(figure, axes[0])
    return figure


def localisation_figure(panel: Panel, bars: Bars) -> Figure:
    """Draw exact localisation by monitor, and where the named steps lie."""
    figure = Figure(figsize=(8.6, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, panel, "a")
    _draw_bars(right, bars, "b")
    _legend(figure, left)
    return figure


def _legend(figure: Figure, axis: Axes) -> None:
    handles, names = axis.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=7, handlelength=2.4)


def _draw(axis: Axes, panel: Panel, letter: str) -> None:
    places = list(range(len(panel.conditions)))
    for line in panel.lines:
        axis.plot(
            places,
            [float("nan") if value is None else value for value in line.values],
            color=COLOURS[line.colour - 1],
            marker=SHAPES[line.marker],
            markersize=4,
            linewidth=0.9,
            label=line.name,
        )
    if panel.mean:
        _draw_mean(axis, panel)
    if panel.chance is not None:
        axis.axhline(panel.chance, color="grey", linewidth=0.7, linestyle="--")
    axis.set_xticks(places, panel.conditions)
    axis.set_xlim(-0.3, len(places) - 0.7)
    axis.set_ylim(0, panel.top * 1.03)
    axis.set_title(f"({letter}) {panel.title}")


def _draw_mean(axis: Axes, panel: Panel) -> None:
    places = list(range(len(panel.conditions)))
    mean = [float("nan") if value is None else value for value in panel.mean]
    axis.plot(
        places, mean, color="black", linewidth=1.8, marker="o", markersize=3, label="mean, 95% interval"
    )
    low = [band[0] if band else float("nan") for band in panel.band]
    high = [band[1] if band else float("nan") for band in panel.band]
    if len(places) > 1:
        axis.fill_between(places, low, high, color="black", alpha=0.12, linewidth=0)
    else:
        axis.vlines(places, low, high, color="black", alpha=0.35, linewidth=6)


def _draw_bars(axis: Axes, bars: Bars, letter: str) -> None:
    places = list(range(len(bars.conditions)))
    bottom = [0.0] * len(places)
    for number, place in enumerate(PLACES):
        heights = [shares[number] for shares in bars.shares]
        colour, hatch = PLACE_STYLE[place]
        axis.bar(
            places,
            heights,
            bottom=bottom,
            width=0.62,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=place,
        )
        for at, (start, height) in enumerate(zip(bottom, heights, strict=True)):
            if height > 0.06:
                behind = {"facecolor": colour, "edgecolor": "none", "pad": 0.8}
                axis.text(
                    at, start + height / 2, f"{height:.2f}", ha="center", va="center", fontsize=7, bbox=behind
                )
        bottom = [start + height for start, height in zip(bottom, heights, strict=True)]
    axis.set_xticks(places, bars.conditions)
    axis.set_ylim(0, 1)
    axis.set_title(f"({letter}) Where the named step lies")
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=7, reverse=True)
