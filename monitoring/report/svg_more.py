"""The further figures for the page: the study at a glance, effects, reliability, the map of questions."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from django.utils.safestring import SafeString

from monitoring.report.cells import Cell
from monitoring.report.links import BEHIND, link
from monitoring.report.series_more import Effects, Heat, Overview, Reliability, two_lines
from monitoring.report.svg import frame, led, marker


def _text(x: float, y: float, words: str, kind: str = "chart-label", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def _led_text(traces: str | None, x: float, y: float, cell: Cell, kind: str = "chart-label") -> str:
    return (
        led(traces, cell.link, cell.text, _text(x, y, cell.text, kind))
        if cell.link
        else _text(x, y, cell.text, kind)
    )


def overview_svg(found: Overview, traces: str | None = None) -> SafeString:
    """Draw the stages, the split of the standard, and what each condition shows and gives."""
    height = 196 + 24 * len(found.conditions)
    size = (900, height if found.conditions else 164)
    parts = _overview(found, traces)
    return frame("overview", size, "The study at a glance", found.alternative(), parts, traces=traces)


def _overview(found: Overview, traces: str | None) -> Iterator[str]:
    width, gap = 189.0, 48.0
    for place, box in enumerate(found.stages):
        x = place * (width + gap)
        yield f'<path d="M{x:.1f} 6H{x + width:.1f}" class="chart-mean-line"/>'
        yield _text(x, 26, box.title, "chart-title")
        yield _led_text(traces, x, 58, box.number, "chart-number")
        for row, line in enumerate(box.lines):
            yield _led_text(traces, x, 78 + 16 * row, line)
        if place:
            head = f"M{x - 18:.1f} 47L{x - 12:.1f} 52L{x - 18:.1f} 57"
            yield f'<path d="M{x - gap + 8:.1f} 52H{x - 12:.1f}{head}" class="chart-arrow"/>'
    total = sum(n for _, n in found.cells) or 1
    x = 0.0
    for name, n in found.cells:
        part = 900 * n / total
        drawn = f'<rect x="{x:.1f}" y="116" width="{part:.1f}" height="18" class="cell-{name}"/>'
        if part > 60:
            drawn += _text(x + 6, 129, f"{n} {name}", "chart-value")
        elif n:
            drawn += _text(min(x, 840), 150, f"{n} {name}")
        yield led(traces, link(cell=name), f"{n} {name}", drawn)
        x += part
    if not found.conditions:
        return
    top = 176.0
    yield _text(0, top, "condition")
    yield _text(110, top, "the monitor is shown")
    yield _text(360, top, "balanced accuracy")
    yield _text(640, top, "exact localisation")
    for row, (name, shown, accuracy, exact) in enumerate(found.conditions):
        y = top + 22 + 24 * row
        yield _text(0, y, name, "chart-title")
        yield _text(110, y, shown)
        for left, value, figure in ((360, accuracy, "balanced_accuracy"), (640, exact, "L0")):
            if value is None:
                yield _text(left, y, "not scored alone")
                continue
            drawn = f'<rect x="{left}" y="{y - 10:.1f}" width="200" height="12" class="bar-ground"/>'
            drawn += (
                f'<rect x="{left}" y="{y - 10:.1f}" width="{200 * value:.1f}" height="12" class="bar-value"/>'
            )
            drawn += _text(left + 208, y, f"{value:.3f}", "chart-value")
            behind = link(condition=name, **BEHIND[figure])
            yield led(traces, behind, f"{name}, {figure.replace('_', ' ')}: {value:.3f}", drawn)


def effects_svg(found: Effects, traces: str | None = None) -> SafeString:
    """Draw each effect as a dot with its interval, the monitors' own as marks above it."""
    parts = _effects(found, traces)
    return frame("effects", (340, 250), found.title, found.alternative(), parts, traces=traces)


def _effects(found: Effects, traces: str | None) -> Iterator[str]:
    left, right, top, bottom = 18.0, 322.0, 34.0, 222.0
    yield _text(6, 14, found.title, "chart-title")

    def at(value: float) -> float:
        return left + (value + 1) / 2 * (right - left)

    for tick in (-1.0, -0.5, 0.0, 0.5, 1.0):
        yield f'<path d="M{at(tick):.1f} {top}V{bottom}" class="{"chart-axis" if tick == 0 else "chart-grid"}"/>'
        words = f"{tick:+g}".replace("-", "−") if tick else "0"
        yield _text(at(tick), bottom + 16, words, "chart-tick", "middle")
    step = (bottom - top) / len(found.rows)
    for row, (name, estimate, band, own) in enumerate(found.rows):
        y = top + step * row + step * 0.62
        yield _text(left, top + step * row + 14, name, "chart-over")
        for line, value in own:
            mark = marker(line.marker, at(value), y - 10, 3.5)
            words = f"{line.name}, {name}: {value:+.3f}"
            yield f'<g class="series-{line.colour}">{led(traces, line.links[0], words, mark)}</g>'
        if band:
            yield f'<path d="M{at(band[0]):.1f} {y + 6:.1f}H{at(band[1]):.1f}" class="chart-mean-line"/>'
        mark = f'<circle cx="{at(estimate):.1f}" cy="{y + 6:.1f}" r="4" class="chart-mean"/>'
        yield led(traces, found.links[row], f"mean, {name}: {estimate:+.3f}", mark)


def reliability_svg(found: Reliability, traces: str | None = None) -> SafeString:
    """Draw one monitor's curve on the diagonal; the size of a dot is its number of verdicts."""
    key, title = f"reliability-{found.line.place}", f"Reliability of {found.line.name}"
    return frame(key, (190, 214), title, found.alternative(), _reliability(found, traces), traces=traces)


def _reliability(found: Reliability, traces: str | None) -> Iterator[str]:
    left, top, size = 30.0, 38.0, 148.0
    for row, words in enumerate(two_lines(found.line.name, 24)):
        yield _text(4, 13 + 14 * row, words, "chart-title")
    yield f'<path d="M{left} {top}V{top + size}H{left + size}" class="chart-axis"/>'
    yield f'<path d="M{left} {top + size}L{left + size} {top}" class="chart-chance"/>'
    for tick in (0, 50, 100):
        place = size * tick / 100
        yield _text(left + place, top + size + 15, f"{tick}", "chart-tick", "middle")
        yield _text(left - 4, top + size - place + 4, f"{tick}", "chart-tick", "end")
    most = max(n for *_, n in found.points)
    where = [(left + size * x, top + size * (1 - y), n) for x, y, n in found.points]
    yield f'<g class="series-{found.line.colour}"><path d="M'
    yield "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in where) + '" class="series-line"/>'
    for (said, share, n), (x, y, _), behind in zip(found.points, where, found.line.links, strict=True):
        mark = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + 6 * (n / most) ** 0.5:.1f}" class="series-mark"/>'
        yield led(traces, behind, f"{100 * said:.0f}% said, {100 * share:.0f}% erroneous, {n} verdicts", mark)
    yield "</g>"
    if found.doubtful:
        yield _text(left + 4, top + 12, "confidence in the verdict?")


def heat_svg(found: Heat, traces: str | None = None) -> SafeString:
    """Draw the map: the darker, the more verdicts are right; a stroke where there is none."""
    size = (900, 26 + 20 * len(found.monitors))
    key, title = f"heat-{found.condition.lower()}", f"Right verdicts by question under {found.condition}"
    parts = _heat(found, traces)
    return frame(key, size, title, found.alternative(), parts, traces=traces, kind="figure heat")


def _heat(found: Heat, traces: str | None) -> Iterator[str]:
    left, row = 230.0, 20.0
    width = (900 - left) / len(found.questions)
    yield _text(left, 12, f"{found.condition}: questions, the most splitting first →")
    for m, monitor in enumerate(found.monitors):
        y = 20 + m * row
        yield _text(left - 8, y + 14, monitor if len(monitor) < 36 else monitor[:34] + "…", anchor="end")
        for q, value in enumerate(found.right[m]):
            x = left + q * width
            if value is None:
                yield f'<path d="M{x + 1:.1f} {y + 5:.1f}l{width - 2:.1f} 9" class="chart-axis"/>'
                continue
            question = found.questions[q]
            behind = link(condition=found.condition, monitor=monitor, said="valid", question=question)
            drawn = (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width - 0.6, 0.5):.1f}" height="{row - 2:.0f}" '
                f'class="heat-{round(4 * value)}"/>'
            )
            yield led(traces, behind, f"{question}, {monitor}: {value:.2f} right", drawn)
