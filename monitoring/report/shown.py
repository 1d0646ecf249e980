"""What the report's page shows of a document: sentences, figures, tables by section."""

from __future__ import annotations

from typing import Any

from monitoring.report import methods, sentences, series, series_more, svg, svg_more
from monitoring.report.tables import tables

SECTIONS = (
    ("detection", "Detection"),
    ("localisation", "Localisation"),
    ("cells", "Wrong and critical traces"),
    ("certificates", "False certificates"),
    ("revision", "Second looks"),
    ("comparison", "Monitors beside each other"),
    ("length", "Length and position"),
    ("calibration", "Calibration"),
    ("questions", "Question by question"),
    ("dependence", "How much hangs on the standard"),
    ("power", "How many questions"),
    ("grading", "Grading error"),
    ("standard", "The standard"),
    ("outcomes", "Outcomes"),
)


def shown(document: dict[str, Any], traces: str | None) -> dict[str, Any]:
    """Return the context of the page; a number's query follows `traces`, None where numbers lead nowhere."""
    panels = series.ladder_panels(document)
    localisation, bars = series.localisation_panel(document), series.place_bars(document)
    swaps, effects = series_more.certificate_panels(document), series_more.certificate_effects(document)
    condition, curves = series_more.reliability(document)
    lengths = [p for p in (series_more.step_panel(document), series_more.position_panel(document)) if p]
    maps = series_more.heat_maps(document)
    made = tables(document)
    lines = {line.name: line for panel in panels for line in panel.lines}
    figures = {"questions"} if maps else set()
    return {
        "document": document,
        "traces": traces,
        "warnings": [sentences.warning(one) for one in document["warnings"]],
        "not_drawn": document["reference"]["questions"] - len(maps[0].questions) if maps else 0,
        "summary": sentences.summary(document),
        "small_print": sentences.small_print(document),
        "methods": methods.methods(document),
        "overview": svg_more.overview_svg(series_more.overview(document), traces),
        "panels": [svg.panel_svg(panel, traces) for panel in panels],
        "localisation": svg.panel_svg(localisation, traces) if localisation else "",
        "bars": svg.bars_svg(bars, traces) if bars else "",
        "places": series.PLACES,
        "legend": _legend(list(lines.values())),
        "swaps": [svg.panel_svg(panel, traces) for panel in swaps],
        "effects": svg_more.effects_svg(effects, traces) if effects else "",
        "lengths": [(svg.panel_svg(panel, traces), _legend(list(panel.lines))) for panel in lengths],
        "reliability": [svg_more.reliability_svg(curve, traces) for curve in curves],
        "reliability_condition": condition,
        "maps": [svg_more.heat_svg(one, traces) for one in maps],
        "sections": [
            (key, title, [table for table in made if table.section == key])
            for key, title in SECTIONS
            if key in figures or any(table.section == key for table in made)
        ],
    }


def _legend(lines: list[series.Line]) -> list[tuple[Any, str]]:
    return [(svg.legend_mark(line), line.name) for line in lines]
