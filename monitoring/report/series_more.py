"""What the further figures show: the study at a glance, certificates, lengths, calibration, questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitoring.report.cells import Cell, count, counted, words
from monitoring.report.links import ALL, certificate_pairs, link
from monitoring.report.series import Line, Panel, conditions_of

MOST_QUESTIONS = 120
SHOWN = {
    "BLIND": "no answer",
    "HINT": "an unverified answer",
    "CERT": "the certified answer",
    "REVISE": "own verdict, then the answer",
    "RCTRL": "own verdict, no answer",
    "STEP": "step by step",
    "CMATCH": "its own wrong answer, certified",
    "CCONFLICT": "a false answer, certified",
}


@dataclass(frozen=True)
class Box:
    """One stage of the study: its title, the large number, and lines under it."""

    title: str
    number: Cell
    lines: tuple[Cell, ...]


@dataclass(frozen=True)
class Overview:
    """The study at a glance: stages from left to right, cells of the standard, conditions with means."""

    stages: tuple[Box, ...]
    cells: tuple[tuple[str, int], ...]
    conditions: tuple[tuple[str, str, float | None, float | None], ...]

    def alternative(self) -> str:
        """Say in words what the figure shows."""
        stages = "; ".join(
            f"{box.title}: {box.number} ({', '.join(map(str, box.lines))})" for box in self.stages
        )
        cells = ", ".join(f"{n} {name}" for name, n in self.cells)
        scores = "; ".join(
            f"{name} ({shown}): balanced accuracy {_said(accuracy)}, exact localisation {_said(exact)}"
            for name, shown, accuracy, exact in self.conditions
        )
        return f"The study at a glance. {stages}. Cells of the standard: {cells}. Conditions: {scores}."


def _said(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def overview(report: dict[str, Any]) -> Overview:
    """Fill the stages with the study's own counts; the arms are told as one, whoever they are."""
    reference, arms = report["reference"], report.get("arms", {})
    outcomes: dict[str, int] = {}
    for monitors in report.get("outcomes", {}).values():
        for found in monitors.values():
            for outcome, n in found.items():
                outcomes[outcome] = outcomes.get(outcome, 0) + n
    total = sum(outcomes.values())
    settled = sum(sum(cells.values()) for cells in reference["provenance"].values())
    left = sum(reference["not_ready"].values())
    stages = (
        Box(
            "Traces",
            count(reference["traces"] + left, link(status="any")),
            (
                counted(reference["questions"], "question", ALL),
                _left_out(reference["not_ready"]) if left else words("all in the standard"),
            ),
        ),
        Box(
            "Labels",
            count(arms.get("joint", 0) + arms.get("one_arm_only", 0), link(arms="either")),
            (
                Cell(f"{arms.get('joint', 0)} by both arms", link=link(arms="both")),
                Cell(f"{arms.get('one_arm_only', 0)} by one arm", link=link(arms="one alone")),
            ),
        ),
        Box(
            "Standard",
            count(settled, ALL),
            (words(f"version {reference['version']}"), words(f"sha256 {reference['sha256'][:8]}")),
        ),
        Box(
            "Verdicts",
            count(total, link(said="any")),
            (
                counted(len(report["monitors"]), "monitor", link(said="any")),
                Cell(f"{total - outcomes.get('ok', 0)} not ok", link=link(said="not ok")),
            ),
        ),
    )
    ran = list(report.get("detection", {}))
    ran += [c for c in ("CMATCH", "CCONFLICT") if c in report.get("certificate", {}).get("eligible", {})]
    return Overview(
        stages=stages,
        cells=tuple((name, reference[name]) for name in ("clean", "wrong", "critical")),
        conditions=tuple(
            (
                condition,
                SHOWN[condition],
                report["detection"].get(condition, {}).get("mean", {}).get("balanced_accuracy"),
                report["localisation"].get(condition, {}).get("mean", {}).get("L0"),
            )
            for condition in ran
        ),
    )


def _left_out(not_ready: dict[str, int]) -> Cell:
    """Say how many traces are not ready; one status leads to its traces, several to all labels of the standard."""
    status = next(iter(not_ready)) if len(not_ready) == 1 else "any"
    return Cell(f"{sum(not_ready.values())} left out", link=link(status=status))


def certificate_panels(report: dict[str, Any]) -> list[Panel]:
    """Flag rates on wrong traces under BLIND, CERT and CMATCH, and on clean ones under CERT and CCONFLICT."""
    out = []
    titles = {"CMATCH": "Flag rate, wrong traces", "CCONFLICT": "Flag rate, clean traces"}
    for swap, section in report.get("certificate", {}).get("side_by_side", {}).items():
        conditions = tuple(name for name in section if name != "n")
        cell = "clean" if swap == "CCONFLICT" else "wrong"
        asked = {
            c: {"condition": c, "cell": cell, "said": "valid", "valid": ",".join(conditions)}
            for c in conditions
        }
        lines = tuple(
            Line(
                monitor,
                tuple(section[c]["monitors"].get(monitor) for c in conditions),
                place,
                tuple(link(monitor=monitor, **asked[c]) for c in conditions),
            )
            for place, monitor in enumerate(report["monitors"])
            if monitor in section["n"]
        )
        bands = [section[c].get("mean_ci") for c in conditions]
        out.append(
            Panel(
                key=f"swap_{swap.lower()}",
                title=titles[swap],
                conditions=conditions,
                lines=lines,
                mean=tuple(section[c]["mean"] for c in conditions),
                band=tuple((band[0], band[1]) if band else None for band in bands),
                links=tuple(link(**asked[c]) for c in conditions),
            )
        )
    return out


@dataclass(frozen=True)
class Effects:
    """Effects with intervals, one row each, and the monitors' own as marks; `links` of the rows."""

    title: str
    rows: tuple[tuple[str, float, tuple[float, float] | None, tuple[tuple[Line, float], ...]], ...]
    links: tuple[str, ...] = ()

    def alternative(self) -> str:
        """Say in words what the figure shows."""
        rows = "; ".join(
            f"{name} {estimate:+.3f}" + (f" ({band[0]:+.3f} to {band[1]:+.3f})" if band else "")
            for name, estimate, band, _ in self.rows
        )
        return f"{self.title}, mean over monitors with 95% interval: {rows}."


def certificate_effects(report: dict[str, Any]) -> Effects | None:
    """The paired effects of false certificates; None where none was run."""
    rows, links = [], []
    section = report.get("certificate", {})
    for name in ("CERT-CMATCH", "CMATCH-BLIND", "CCONFLICT-CERT"):
        record = section.get(name, {})
        if record.get("estimate") is None:
            continue
        own = tuple(
            (
                Line(monitor, (), place, (link(monitor=monitor, **certificate_pairs(name)),)),
                record["monitors"][monitor]["estimate"],
            )
            for place, monitor in enumerate(report["monitors"])
            if record["monitors"].get(monitor, {}).get("estimate") is not None
        )
        band = record.get("ci")
        rows.append((name.replace("-", " − "), record["estimate"], (band[0], band[1]) if band else None, own))
        links.append(link(**certificate_pairs(name)))
    return Effects("Change of flag rate", tuple(rows), tuple(links)) if rows else None


def step_panel(report: dict[str, Any]) -> Panel | None:
    """Balanced accuracy under STEP and BLIND against the length of traces."""
    bands = report.get("step", {}).get("by_length", [])
    ran = [c for c in ("STEP", "BLIND") if any(c in band for band in bands)]
    if len(bands) < 2 or not ran:
        return None
    steps = [f"{band['from_steps']}-{band['to_steps']}" for band in bands]
    return Panel(
        key="step_by_length",
        title="Balanced accuracy by number of steps",
        conditions=tuple(name.replace("-", "–") for name in steps),
        lines=tuple(
            Line(
                c,
                tuple(band.get(c, {}).get("balanced_accuracy") for band in bands),
                place,
                tuple(link(condition=c, steps=name, said="valid") for name in steps),
            )
            for place, c in enumerate(ran)
        ),
        mean=(),
        band=(),
        chance=0.5,
        axis="steps",
    )


def position_panel(report: dict[str, Any]) -> Panel | None:
    """In which tenth of a trace flags point, beside where the first false steps lie."""
    section = report.get("positions")
    if not section:
        return None
    rows = [("first false steps", section["of_errors"], link(cell="error"))]
    conditions = [c for c in ("BLIND", "CERT", "CCONFLICT") if c in section["by_condition"]]
    for condition in conditions:
        cells = section["by_condition"][condition]
        if condition != "CCONFLICT":
            tenths = [
                a + b for a, b in zip(cells["wrong"]["tenths"], cells["critical"]["tenths"], strict=True)
            ]
            behind = link(condition=condition, cell="error", place="named")
            rows.append((f"{condition}, erroneous", tenths, behind))
        else:
            behind = link(condition=condition, cell="clean", place="named")
            rows.append((f"{condition}, clean", cells["clean"]["tenths"], behind))
    shares = [
        (name, [n / sum(tenths) for n in tenths], behind) for name, tenths, behind in rows if sum(tenths)
    ]
    if not shares:
        return None
    highest = max(max(values) for _, values, _ in shares)
    return Panel(
        key="positions",
        title="Where flags point",
        conditions=tuple(str(k) for k in range(1, 11)),
        lines=tuple(
            Line(name, tuple(values), place, (behind,) * len(values))
            for place, (name, values, behind) in enumerate(shares)
        ),
        mean=(),
        band=(),
        top=min(1.0, (int(highest * 10) + 1) / 10),
        axis="tenth of the trace",
    )


@dataclass(frozen=True)
class Reliability:
    """One monitor's reliability curve: (confidence, share of errors, verdicts) by tenth of the scale.

    The line's `links` ask for the verdicts of each tenth.
    """

    line: Line
    points: tuple[tuple[float, float, int], ...]
    doubtful: bool

    def alternative(self) -> str:
        """Say in words what the curve shows."""
        points = ", ".join(f"{100 * x:.0f}% said, {100 * y:.0f}% erroneous ({n})" for x, y, n in self.points)
        doubt = " It may have given its confidence in its verdict instead." if self.doubtful else ""
        return f"{self.line.name}: {points}.{doubt}"


def reliability(report: dict[str, Any]) -> tuple[str, list[Reliability]]:
    """The curves of the first condition of the ladder that was run, and its name."""
    section = report.get("calibration", {})
    for condition in conditions_of(report):
        curves = [
            Reliability(
                Line(
                    monitor,
                    (),
                    place,
                    tuple(
                        link(condition=condition, monitor=monitor, confidence=f"{b['from']}-{b['to']}")
                        for b in found["bins"]
                    ),
                ),
                tuple((b["mean_confidence"], b["error_share"], b["n"]) for b in found["bins"]),
                found["confidence_in_the_verdict"],
            )
            for place, monitor in enumerate(report["monitors"])
            if (found := section.get(condition, {}).get("monitors", {}).get(monitor)) and found["n"]
        ]
        if curves:
            return condition, curves
    return "", []


def two_lines(name: str, longest: int) -> list[str]:
    """Break a name that is too long for one line after a sign near its middle; what is longer still is cut."""
    if len(name) <= longest:
        return [name]
    ends = [n for n in range(1, min(len(name), longest + 1)) if name[n - 1] in "-_/. "]
    end = min(ends, key=lambda n: abs(n - len(name) / 2), default=longest)
    rest = name[end:]
    return [name[:end], rest if len(rest) <= longest else rest[: longest - 1] + "…"]


@dataclass(frozen=True)
class Heat:
    """Shares of right verdicts, monitors down, questions across, the most splitting first. None = no verdict."""

    condition: str
    monitors: tuple[str, ...]
    questions: tuple[str, ...]
    right: tuple[tuple[float | None, ...], ...]

    def alternative(self) -> str:
        """Say in words what the map shows."""
        means = []
        for monitor, row in zip(self.monitors, self.right, strict=True):
            known = [value for value in row if value is not None]
            if known:
                means.append(f"{monitor} {sum(known) / len(known):.3f}")
        first = ", ".join(self.questions[:5])
        return (
            f"Share of right verdicts under {self.condition} by monitor on {len(self.questions)} questions, those that "
            f"split the monitors most first ({first}). Means: {'; '.join(means)}."
        )


def heat(report: dict[str, Any], condition: str) -> Heat | None:
    """The map of one condition; None where nobody ran it."""
    section = report.get("questions", {}).get("by_question", {})
    shown = list(section.items())[:MOST_QUESTIONS]
    monitors = tuple(
        m for m in report["monitors"] if any(m in row["right"].get(condition, {}) for _, row in shown)
    )
    if not monitors:
        return None
    return Heat(
        condition=condition,
        monitors=monitors,
        questions=tuple(name for name, _ in shown),
        right=tuple(
            tuple(row["right"].get(condition, {}).get(monitor) for _, row in shown) for monitor in monitors
        ),
    )


def heat_maps(report: dict[str, Any]) -> list[Heat]:
    """The maps that are shown: under BLIND and CERT, or else under the first condition that was run."""
    chosen = [m for m in (heat(report, c) for c in ("BLIND", "CERT")) if m]
    return chosen or [m for m in (heat(report, c) for c in report.get("detection", {})) if m][:1]
