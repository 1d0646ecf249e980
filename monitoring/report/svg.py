"""Figures for the page: small SVG with classes alone, so that the style sheet gives light, dark and print.

`traces` is the address that a point's query is put behind, None where points lead nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from math import cos, pi, sin

from django.utils.safestring import SafeString, mark_safe

from monitoring.report.links import link
from monitoring.report.series import PLACES, Bars, Line, Panel

WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 34, 12, 26, 26


def frame(
    key: str,
    size: tuple[float, float],
    title: str,
    words: str,
    parts: Iterable[str],
    *,
    traces: str | None,
    kind: str = "figure",
) -> SafeString:
    """Return a figure of this size with its title and its description in words."""
    # What is inside an image is hidden from assistive technology, and links must not be.
    role = "img" if traces is None else "group"
    name = f"figure-{key}"
    head = (
        f'<svg class="{kind}" viewBox="0 0 {size[0]:g} {size[1]:g}" role="{role}" '
        f'aria-labelledby="{name}-title" aria-describedby="{name}-words">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-words">{escape(words)}</desc>'
    )
    return mark_safe(head + "".join(parts) + "</svg>")  # noqa: S308  (all words are escaped)


def led(traces: str | None, link: str, words: str, drawn: str) -> str:
    """Let what is drawn lead to the traces behind it; `words` name it, also to those who point at it."""
    inside = f"<title>{escape(words)}</title>{drawn}"
    return (
        f"<g>{inside}</g>"
        if traces is None or not link
        else f'<a href="{escape(traces + link)}">{inside}</a>'
    )


def _polygon(points: list[tuple[float, float]], x: float, y: float) -> str:
    where = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
    return f'<polygon points="{where}" class="series-mark"/>'


def marker(shape: str, x: float, y: float, r: float = 4.0) -> str:
    """Draw one mark about (x, y); the eight shapes differ without colour."""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="series-mark"/>'
    if shape in ("plus", "cross"):
        a, b = (r, 0.0) if shape == "plus" else (r * 0.75, r * 0.75)
        one = f"M{x - a:.1f} {y - b:.1f}L{x + a:.1f} {y + b:.1f}"
        other = f"M{x + b:.1f} {y - a:.1f}L{x - b:.1f} {y + a:.1f}"
        return f'<path d="{one}{other}" class="series-stroke"/>'
    if shape == "hexagon":
        return _polygon([(r * cos(k * pi / 3), r * sin(k * pi / 3)) for k in range(6)], x, y)
    corners: dict[str, list[tuple[float, float]]] = {
        "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "up": [(0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
        "down": [(0, 1.2), (1.1, -0.9), (-1.1, -0.9)],
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    }
    return _polygon([(r * dx * 0.9, r * dy * 0.9) for dx, dy in corners[shape]], x, y)


def legend_mark(line: Line) -> SafeString:
    """Draw the line's mark by itself, for a list of names."""
    return mark_safe(  # noqa: S308  (numbers and fixed words alone)
        f'<svg class="legend-mark series-{line.colour}" viewBox="0 0 28 12" width="28" height="12" '
        'aria-hidden="true"><path d="M1 6H27" class="series-line"/>' + marker(line.marker, 14, 6) + "</svg>"
    )


def panel_svg(panel: Panel, traces: str | None = None) -> SafeString:
    """Draw one panel: a line per monitor, the mean in ink with its interval as a band."""
    parts = _panel_parts(panel, traces)
    return frame(panel.key, (WIDTH, HEIGHT), panel.title, panel.alternative(), parts, traces=traces)


def _x(panel: Panel, place: int) -> float:
    steps = max(len(panel.conditions) - 1, 1)
    inner = WIDTH - LEFT - RIGHT - 40
    return LEFT + 20 + (inner / 2 if len(panel.conditions) == 1 else inner * place / steps)


def _y(panel: Panel, value: float) -> float:
    return HEIGHT - BOTTOM - value / panel.top * (HEIGHT - TOP - BOTTOM)


def _path(panel: Panel, values: tuple[float | None, ...]) -> str:
    """Join neighbouring values; a gap where one is undefined."""
    parts, pen = [], "M"
    for place, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        parts.append(f"{pen}{_x(panel, place):.1f} {_y(panel, value):.1f}")
        pen = "L"
    return "".join(parts)


def _panel_parts(panel: Panel, traces: str | None) -> Iterator[str]:
    yield f'<text x="{LEFT - 28}" y="14" class="chart-title">{escape(panel.title)}</text>'
    step = 0.2 if panel.top > 0.6 else 0.1
    for tick in range(round(panel.top / step + 0.01) + 1):
        level = tick * step
        if level > panel.top + 0.001:
            break
        y, kind = _y(panel, level), "chart-grid" if tick else "chart-axis"
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" class="{kind}"/>'
        yield (
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" class="chart-tick">{level:.2g}</text>'
        )
    for place, condition in enumerate(panel.conditions):
        x, half = _x(panel, place), 3.8 * len(condition)
        x = min(x, WIDTH - half)
        yield f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle" class="chart-tick">{escape(condition)}</text>'
    if panel.chance is not None:
        yield f'<path d="M{LEFT} {_y(panel, panel.chance):.1f}H{WIDTH - RIGHT}" class="chart-chance"/>'
    yield from _band(panel)
    for line in panel.lines:
        yield f'<g class="series-{line.colour}"><title>{escape(line.name)}</title>'
        yield f'<path d="{_path(panel, line.values)}" class="series-line"/>'
        for place, value in enumerate(line.values):
            if value is not None:
                words = f"{line.name}, {panel.conditions[place]}: {value:.3f}"
                mark = marker(line.marker, _x(panel, place), _y(panel, value))
                yield led(traces, line.links[place], words, mark)
        yield "</g>"
    if panel.mean:
        yield f'<path d="{_path(panel, panel.mean)}" class="chart-mean-line"/>'
    for place, value in enumerate(panel.mean):
        if value is not None:
            x, y = _x(panel, place), _y(panel, value)
            mark = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="chart-mean"/>'
            yield led(traces, panel.links[place], f"mean, {panel.conditions[place]}: {value:.3f}", mark)


def _band(panel: Panel) -> Iterator[str]:
    edges = [(place, band) for place, band in enumerate(panel.band) if band]
    if len(edges) > 1 and len(edges) == len(panel.conditions):
        upper = [f"{_x(panel, place):.1f},{_y(panel, band[1]):.1f}" for place, band in edges]
        lower = [f"{_x(panel, place):.1f},{_y(panel, band[0]):.1f}" for place, band in reversed(edges)]
        yield f'<polygon points="{" ".join(upper + lower)}" class="chart-band"/>'
        return
    for place, (low, high) in edges:
        x = _x(panel, place)
        yield (
            f'<rect x="{x - 8:.1f}" y="{_y(panel, high):.1f}" width="16" '
            f'height="{_y(panel, low) - _y(panel, high):.1f}" class="chart-band"/>'
        )


def bars_svg(bars: Bars, traces: str | None = None) -> SafeString:
    """Draw the shares as stacked bars, each part named or numbered where it has room."""
    size = (690, 24 + len(bars.conditions) * 38)
    title = "Where the named step lies"
    return frame("places", size, title, bars.alternative(), _bar_parts(bars, traces), traces=traces)


def _bar_parts(bars: Bars, traces: str | None) -> Iterator[str]:
    left, bar, gap, width = 70, 26, 12, 620
    for row, (condition, shares) in enumerate(zip(bars.conditions, bars.shares, strict=True)):
        y, x = 20 + row * (bar + gap), float(left)
        yield (
            f'<text x="{left - 8}" y="{y + 17}" text-anchor="end" class="chart-label">'
            f"{escape(condition)}</text>"
        )
        for place, share in zip(PLACES, shares, strict=True):
            part = share * width
            drawn = f'<rect x="{x:.1f}" y="{y}" width="{part:.1f}" height="{bar}" class="place-{place}"/>'
            if part > 34:
                drawn += (
                    f'<text x="{x + part / 2:.1f}" y="{y + 17}" text-anchor="middle" class="chart-value">'
                    f"{share:.3f}</text>"
                )
            behind = link(condition=condition, cell="error", place=place)
            yield led(traces, behind, f"{place}, {condition}: {share:.3f}", drawn)
            if row == 0 and part > 7.5 * len(place):
                yield f'<text x="{x + 2:.1f}" y="14" class="chart-label">{place}</text>'
            x += part
