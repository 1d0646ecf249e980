"""The report as CSV, one file per section, numbers unrounded."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


def csv_files(report: dict[str, Any]) -> dict[str, str]:
    """Return {file name: content}; intervals are `<name>_low` and `<name>_high`, undefined numbers empty."""
    sections = {
        "detection": _by_condition(report.get("detection", {})),
        "localisation": _by_condition(report.get("localisation", {})),
        "ladder_recall": _recall(report.get("ladder_recall", {})),
        "common_subset": _keyed(report.get("common_subset", {}), "monitor"),
        "contrasts": _contrasts(report.get("contrasts", {})),
        "certificate": _certificate(report.get("certificate", {})),
        "revision": _revision(report.get("revision", {})),
        "outcomes": _outcomes(report.get("outcomes", {})),
        "runs": list(report.get("verdicts", {}).get("runs", [])),
        "critical_roles": _keyed(report.get("critical_roles", {}), "role"),
        "lengths": _keyed(report.get("lengths", {}), "cell"),
        "step": _step(report.get("step", {})),
        "processbench": _by_condition(report.get("processbench", {})),
        "pairwise": [
            {"condition": condition, **flat(row)}
            for condition, rows in report.get("pairwise", {}).items()
            for row in rows
        ],
        "leave_one_out": [
            {"without": monitor, "condition": condition, **flat(record)}
            for monitor, found in report.get("leave_one_out", {}).items()
            for condition, record in found.items()
        ],
        "calibration": _by_condition(report.get("calibration", {})),
        "reliability": [
            {"condition": condition, "monitor": monitor, **row}
            for condition, found in report.get("calibration", {}).items()
            for monitor, record in found["monitors"].items()
            for row in record["bins"]
        ],
        "positions": [
            {"condition": condition, "cell": cell, **flat(row), **_tenths(row["tenths"])}
            for condition, cells in report.get("positions", {}).get("by_condition", {}).items()
            for cell, row in cells.items()
        ],
        "questions": [
            {
                "question": question,
                "split": row["split"],
                "condition": condition,
                "monitor": monitor,
                "right": value,
            }
            for question, row in report.get("questions", {}).get("by_question", {}).items()
            for condition, monitors in row["right"].items()
            for monitor, value in monitors.items()
        ],
        "power": [
            {"contrast": report["power"]["contrast"], "figure": name, "spread": row["spread"], **entry}
            for name, row in report.get("power", {}).get("statistics", {}).items()
            for entry in row["questions_needed"]
        ],
        "grading": [
            {"condition": condition, "monitor": monitor, **flat(record)}
            for condition, monitors in report.get("grading", {}).get("conditions", {}).items()
            for monitor, record in monitors.items()
        ],
        "dependence": _readings({**report.get("dependence", {}), **report.get("by_arm", {})}),
        "involvement": _involvement({**report.get("involvement", {}), **report.get("by_arm", {})}),
        "warnings": [dict(row) for row in report.get("warnings", [])],
    }
    for name in ("reference", "bootstrap", "arms", "oracle", "answer_correct_subset", "consensus_subset"):
        sections[name] = [flat(report[name])] if name in report else []
    return {f"{name}.csv": _write(rows) for name, rows in sections.items() if rows}


def flat(record: dict[str, Any]) -> Row:
    """Return the numbers and words of a record, intervals split in two; what is nested is left out."""
    out: Row = {}
    for name, value in record.items():
        if isinstance(value, list) and len(value) == 2 and (name == "ci" or "_ci" in name):
            base = "" if name == "ci" else f"{name.removesuffix('_ci')}_"
            out[f"{base}low"], out[f"{base}high"] = value
        elif not isinstance(value, dict | list):
            out[name] = value
    return out


def _keyed(section: dict[str, Any], title: str) -> list[Row]:
    return [{title: name, **flat(record)} for name, record in section.items() if isinstance(record, dict)]


def _by_condition(section: dict[str, Any]) -> list[Row]:
    rows = []
    for condition, content in section.items():
        for monitor, record in content["monitors"].items():
            rows.append({"condition": condition, "monitor": monitor, **flat(record)})
        for name in ("mean", "pooled"):
            if name in content:
                record = {key: value for key, value in flat(content[name]).items() if key != "monitors"}
                rows.append({"condition": condition, "monitor": f"({name})", **record})
    return rows


def _points(record: dict[str, Any], name: str) -> Iterator[Row]:
    """Yield a row per monitor of {"monitors": {M: x}, "monitors_ci": {M: [low, high]}}."""
    intervals = record.get("monitors_ci", {})
    for monitor, value in record["monitors"].items():
        if monitor.endswith("_reason"):
            continue
        yield {"monitor": monitor, **flat({name: value, f"{name}_ci": intervals.get(monitor)})}


def _recall(section: dict[str, Any]) -> list[Row]:
    rows = []
    for condition, cells in section.items():
        if condition == "n":
            continue
        for cell, record in cells.items():
            where = {"condition": condition, "cell": "clean" if cell == "clean_flag_rate" else cell}
            rows += [{**where, **row} for row in _points(record, "flag_rate")]
            mean = flat({"flag_rate": record["mean"], "flag_rate_ci": record.get("mean_ci")})
            rows.append({**where, "monitor": "(mean)", **mean})
    return rows


def _contrasts(section: dict[str, Any]) -> list[Row]:
    rows = []
    for contrast, cells in section.items():
        for cell in ("clean", "wrong", "critical", "difference"):
            record = cells[cell]
            where = {"contrast": contrast, "cell": cell}
            points = record["by_monitor"] if cell == "difference" else record
            rows += [{**where, **row} for row in _points(points, "estimate")]
            mean = flat({"estimate": record["estimate"], "estimate_ci": record.get("ci")})
            rows.append({**where, "monitor": "(mean)", **mean})
    return rows


def _certificate(section: dict[str, Any]) -> list[Row]:
    rows = []
    for contrast, content in section.items():
        if not isinstance(content, dict) or "monitors" not in content:
            continue
        rows += [
            {"part": contrast, "monitor": monitor, **flat(record)}
            for monitor, record in content["monitors"].items()
        ]
        rows.append({"part": contrast, "monitor": "(all)", **flat(content)})
    return rows


def _revision(section: dict[str, Any]) -> list[Row]:
    rows = []
    for cell, content in section.items():
        rows += [
            {"cell": cell, "monitor": monitor, **flat(record)}
            for monitor, record in content["monitors"].items()
        ]
        rows.append({"cell": cell, "monitor": "(mean)", **flat(content)})
    return rows


def _outcomes(section: dict[str, Any]) -> list[Row]:
    return [
        {"condition": condition, "monitor": monitor, "outcome": outcome, "verdicts": number}
        for condition, monitors in section.items()
        for monitor, outcomes in monitors.items()
        for outcome, number in outcomes.items()
    ]


def _step(section: dict[str, Any]) -> list[Row]:
    return [
        {**flat(band), "condition": condition, **flat(band[condition])}
        for band in section.get("by_length", [])
        for condition in ("STEP", "BLIND")
        if condition in band
    ]


def _tenths(values: list[float]) -> Row:
    return {f"tenth_{number}": value for number, value in enumerate(values, 1)}


def _readings(section: dict[str, Any]) -> list[Row]:
    rows = []
    for reading, content in section.items():
        if "traces" not in content:
            continue
        for condition, found in content["conditions"].items():
            where = {"traces_of": reading, "traces": content["traces"], "condition": condition}
            rows += [{**where, "monitor": m, **flat(record)} for m, record in found["monitors"].items()]
            for name in ("mean", "standard", "change"):
                if name in found:
                    rows.append({**where, "monitor": f"({name})", **flat(found[name])})
    return rows


def _involvement(section: dict[str, Any]) -> list[Row]:
    return [
        {"kind": kind, "condition": condition, "monitor": monitor, **flat(record)}
        for kind, content in section.items()
        if "traces" not in content
        for condition, found in content["conditions"].items()
        for monitor, record in [*found["monitors"].items(), ("(mean)", found["mean"])]
    ]


def _write(rows: list[Row]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return out.getvalue()
