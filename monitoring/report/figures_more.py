"""The further figures for files: the study at a glance, certificates, lengths, calibration, questions."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from monitoring.report.series import Line, Panel
from monitoring.report.series_more import Effects, Heat, Overview, Reliability, two_lines

INK, MUTED, ACCENT = "#1c1e21", "#5d6066", "#1f4e8c"
CELL_COLOURS = {"clean": "#a9d5c2", "wrong": "#f0b592", "critical": "#d9b8dd"}


def overview_figure(found: Overview) -> Figure:
    """Draw the stages, the split of the standard, and the conditions."""
    rows = len(found.conditions)
    height = 1.75 + 0.26 * (rows + 1)
    figure = Figure(figsize=(8.6, height))
    axis = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    axis.set_axis_off()
    axis.set_xlim(0, 900)
    axis.set_ylim(170 + 26 * (rows + 1), 0)
    width, gap = 189.0, 48.0
    for place, box in enumerate(found.stages):
        x = place * (width + gap)
        axis.plot([x, x + width], [4, 4], color=INK, linewidth=1.6, solid_capstyle="butt")
        axis.text(x, 24, box.title, fontsize=9, weight="bold", va="center")
        axis.text(x, 52, str(box.number), fontsize=16, va="center")
        for row, line in enumerate(box.lines):
            axis.text(x, 78 + 17 * row, str(line), fontsize=8, color=MUTED, va="center")
        if place:
            axis.annotate(
                "", (x - 10, 52), (x - gap + 8, 52), arrowprops={"arrowstyle": "->", "color": MUTED, "lw": 1}
            )
    total, x = sum(n for _, n in found.cells) or 1, 0.0
    for name, n in found.cells:
        part = 900 * n / total
        axis.barh(128, part, height=18, left=x, color=CELL_COLOURS[name], edgecolor="white")
        inside = part > 70
        axis.text(x + 6 if inside else x, 128 if inside else 147, f"{n} {name}", fontsize=8, va="center")
        x += part
    top = 170.0
    if rows:
        for left, words in (
            (0, "condition"),
            (110, "the monitor is shown"),
            (360, "balanced accuracy"),
            (640, "exact localisation"),
        ):
            axis.text(left, top, words, fontsize=8, color=MUTED, va="center")
    for row, (name, shown, *values) in enumerate(found.conditions):
        y = top + 26 * (row + 1)
        axis.text(0, y, name, fontsize=8, weight="bold", va="center")
        axis.text(110, y, shown, fontsize=8, va="center")
        for left, value in zip((360, 640), values, strict=True):
            if value is None:
                axis.text(left, y, "not scored alone", fontsize=8, color=MUTED, va="center")
                continue
            axis.barh(y, 200, height=12, left=left, color="#ececec")
            axis.barh(y, 200 * value, height=12, left=left, color=ACCENT)
            axis.text(left + 208, y, f"{value:.3f}", fontsize=8, va="center")
    return figure


def certificate_figure(
    panels: list[Panel], found: Effects | None, draw: Any, legend: Any, style: Any
) -> Figure:
    """Draw flag rates side by side and the paired effects."""
    columns = len(panels) + (found is not None)
    figure = Figure(figsize=(2.6 * columns + 1.9, 2.9), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for letter, axis, panel in zip("abc", axes, panels, strict=False):
        draw(axis, panel, letter)
    if found is not None:
        _draw_effects(axes[-1], found, "abc"[len(panels)], style)
    if panels:
        legend(figure, axes[0])
    return figure


def _draw_effects(axis: Axes, found: Effects, letter: str, style: Any) -> None:
    for row, (name, estimate, band, own) in enumerate(found.rows):
        for line, value in own:
            axis.plot(value, row - 0.16, markersize=4, linestyle="none", **style(line))
        if band:
            axis.plot(band, [row + 0.12, row + 0.12], color="black", linewidth=1.8)
        axis.plot(estimate, row + 0.12, "o", color="black", markersize=4)
        axis.text(-1, row - 0.34, name, fontsize=7)
    axis.axvline(0, color="grey", linewidth=0.7)
    axis.set_xlim(-1.05, 1.05)
    axis.set_ylim(len(found.rows) - 0.5, -0.6)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_title(f"({letter}) {found.title}")


def length_figure(panels: list[Panel], draw: Any) -> Figure:
    """Draw accuracy against length and where flags point, each with its own names."""
    figure = Figure(figsize=(4.3 * len(panels), 2.9), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for letter, axis, panel in zip("ab", axes, panels, strict=False):
        draw(axis, panel, letter)
        axis.set_xlabel(panel.axis, fontsize=8)
        axis.legend(frameon=False, fontsize=7)
    return figure


def reliability_figure(condition: str, curves: list[Reliability], style: Any) -> Figure:
    """Draw one small panel a monitor."""
    rows = -(-len(curves) // 4)
    columns = -(-len(curves) // rows)
    figure = Figure(figsize=(2.1 * columns + 0.3, 2.2 * rows + 0.2), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[len(curves) :]:
        axis.set_axis_off()
    for axis, curve in zip(axes, curves, strict=False):
        axis.plot([0, 1], [0, 1], color="grey", linewidth=0.7, linestyle="--")
        most = max(n for *_, n in curve.points)
        xs, ys = [x for x, *_ in curve.points], [y for _, y, _ in curve.points]
        colour = style(curve.line)["color"]
        axis.plot(xs, ys, color=colour, linewidth=0.9)
        axis.scatter(xs, ys, s=[8 + 50 * n / most for *_, n in curve.points], color=colour, zorder=3)
        axis.set_xlim(-0.05, 1.05)
        axis.set_ylim(-0.05, 1.05)
        axis.set_xticks([0, 0.5, 1])
        axis.set_yticks([0, 0.5, 1])
        name = "\n".join(two_lines(curve.line.name, 30))
        axis.set_title(name + ("\n(in the verdict?)" if curve.doubtful else ""), fontsize=7)
    figure.supxlabel(f"confidence in an error, {condition}", fontsize=8)
    figure.supylabel("share of errors", fontsize=8)
    return figure


def heat_figure(maps: list[Heat]) -> Figure:
    """Draw the maps under each other."""
    rows = sum(len(one.monitors) for one in maps)
    figure = Figure(figsize=(8.6, 0.24 * rows + 0.55 * len(maps) + 0.3), layout="constrained")
    axes = figure.subplots(len(maps), 1, squeeze=False).ravel()
    shades = ListedColormap(["#f5f7fa", "#c9d8ea", "#93b2d6", "#5485bd", "#1f4e8c"]).with_extremes(
        bad="#c8c3b8"
    )
    image = None
    for axis, one in zip(axes, maps, strict=True):
        values = [[float("nan") if value is None else value for value in row] for row in one.right]
        image = axis.imshow(values, cmap=shades, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axis.set_yticks(range(len(one.monitors)), one.monitors, fontsize=7)
        axis.set_xticks([])
        axis.set_title(
            f"{one.condition}: {len(one.questions)} questions, the most splitting first", fontsize=8
        )
    if image is not None:
        bar = figure.colorbar(image, ax=list(axes), shrink=0.6, aspect=40, ticks=[0, 0.5, 1])
        bar.set_label("share of right verdicts (grey: none)", fontsize=7)
    return figure


def marker_style(line: Line, colours: tuple[str, ...], shapes: dict[str, str]) -> dict[str, Any]:
    """Return the colour and shape of a monitor for matplotlib."""
    return {"color": colours[line.colour - 1], "marker": shapes[line.marker]}
