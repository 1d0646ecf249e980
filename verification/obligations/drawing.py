"""Where to draw a graph of obligations: boxes in rows by depth, lines from need to what rests on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verification.obligations.graph import Graph

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 168, 56, 24, 48, 8
LINE, LINES = 22, 2


@dataclass(frozen=True)
class Box:
    """An obligation at its place; `lines` is its text, cut to fit."""

    name: str
    text: str
    state: str
    x: int
    y: int
    lines: tuple[tuple[int, str], ...]
    steps: str = ""

    @property
    def middle(self) -> int:
        """The horizontal middle of the box."""
        return self.x + WIDTH // 2


@dataclass(frozen=True)
class Line:
    """A line from the bottom of a need to the top of what rests on it."""

    path: str
    broken: bool


@dataclass(frozen=True)
class Drawing:
    """Everything to draw, in units of the view box."""

    width: int
    height: int
    box_width: int
    box_height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def draw(graph: Graph, states: Mapping[str, str], steps: Mapping[str, Sequence[int]]) -> Drawing:
    """Return the drawing of a graph with its states, and the steps that discharge each obligation."""
    rows: dict[int, list[str]] = {}
    for name in graph.order:
        rows.setdefault(graph.depth[name], []).append(name)
    widest = max((len(row) for row in rows.values()), default=1)
    full = widest * WIDTH + (widest - 1) * GAP_X
    boxes: dict[str, Box] = {}
    for depth, names in rows.items():
        # under what it needs, as far as the row allows
        ordered = sorted(names, key=lambda name: _pull(graph, boxes, name))
        used = len(names) * WIDTH + (len(names) - 1) * GAP_X
        for place, name in enumerate(ordered):
            x = MARGIN + (full - used) // 2 + place * (WIDTH + GAP_X)
            y = MARGIN + depth * (HEIGHT + GAP_Y)
            text = graph.by_name[name].text
            lines = tuple((y + 34 + 14 * row, part) for row, part in enumerate(_wrapped(text)))
            boxes[name] = Box(name, text, states[name], x, y, lines, _steps(steps.get(name, ())))
    return Drawing(
        width=full + 2 * MARGIN,
        height=2 * MARGIN + len(rows) * HEIGHT + max(0, len(rows) - 1) * GAP_Y,
        box_width=WIDTH,
        box_height=HEIGHT,
        boxes=tuple(boxes[name] for name in graph.order),
        lines=tuple(
            _line(boxes[need], boxes[name], broken=states[need] != "valid")
            for name in graph.order
            for need in graph.by_name[name].needs
        ),
    )


def _pull(graph: Graph, boxes: Mapping[str, Box], name: str) -> float:
    needs = graph.by_name[name].needs
    return sum(boxes[need].middle for need in needs) / len(needs) if needs else 0.0


def _line(start: Box, end: Box, *, broken: bool) -> Line:
    x1, y1, x2, y2 = start.middle, start.y + HEIGHT, end.middle, end.y
    bend = (y2 - y1) // 2
    return Line(f"M{x1} {y1} C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}", broken)


def _steps(steps: Sequence[int]) -> str:
    if not steps:
        return ""
    return f"step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}"


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > LINE:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], lines[LINES - 1][: LINE - 1] + "…"]
    return [line if len(line) <= LINE + 2 else line[: LINE + 1] + "…" for line in lines]
