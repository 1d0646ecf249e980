"""What the report says in words, before its figures and tables."""

from __future__ import annotations

from typing import Any

from monitoring.report.series import conditions_of


def summary(report: dict[str, Any]) -> str:
    """Say the main results in a few sentences: what was scored, and the two ends of the ladder."""
    reference = report["reference"]
    traces = (
        f"The standard holds {reference['traces']} traces of {reference['questions']} questions: "
        f"{reference['clean']} clean, {reference['wrong']} with a wrong answer, "
        f"{reference['critical']} critical."
    )
    ran = conditions_of(report)
    if not ran:
        return f"{traces} No monitor has run yet."
    last = "CERT" if "CERT" in ran else ran[-1]
    conditions = list(dict.fromkeys((ran[0], last)))
    parts = [traces]
    for section, name, opening in (
        ("detection", "balanced_accuracy", f"Over {_monitors(report)}, mean balanced accuracy is"),
        ("localisation", "L0", "The first false step is named exactly on a share of"),
    ):
        means = {c: report[section][c]["mean"] for c in conditions}
        shown = [_with_interval(mean, name, c) for c, mean in means.items() if mean[name] is not None]
        if shown:
            parts.append(f"{opening} {' and '.join(shown)}.")
    return " ".join(parts)


def _monitors(report: dict[str, Any]) -> str:
    n = len(report["monitors"])
    return "one monitor" if n == 1 else f"{n} monitors"


def _with_interval(record: dict[str, Any], name: str, condition: str) -> str:
    bounds = record.get(f"{name}_ci")
    interval = f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else ""
    return f"{record[name]:.3f}{interval} under {condition}"


def small_print(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (term, words) of what the numbers rest on."""
    reference, bootstrap = report["reference"], report["bootstrap"]
    left_out = ", ".join(f"{number} {status}" for status, number in reference["not_ready"].items())
    failed = sum(
        number
        for monitors in report.get("outcomes", {}).values()
        for outcomes in monitors.values()
        for outcome, number in outcomes.items()
        if outcome != "ok"
    )
    convention = (
        "our own: one rule for point and interval"
        if bootstrap["convention"] == "own"
        else "the paper's, where it differs from ours"
    )
    joint = report.get("arms", {}).get("joint", 0)
    return [
        ("Standard", f"version {reference['version']}, sha256 {reference['sha256']}"),
        ("Left out of the standard", left_out or "nothing"),
        (
            "Verdicts",
            f"sha256 {report['verdicts']['sha256']}; {failed} of them not ok, counted above",
        ),
        (
            "Intervals",
            f"95%, percentiles of {bootstrap['resamples']} resamples of the {bootstrap['clusters']} "
            f"questions (seed {bootstrap['seed']}); monitors are not resampled",
        ),
        ("Convention", convention),
        (
            "Detection",
            "on valid verdicts; sensitivity on traces with an error, specificity on the others",
        ),
        ("Localisation", "on all traces with an error that a monitor was given; a failed verdict is a miss"),
        ("Arms", f"{joint} traces were judged by both" if joint else "no trace was judged by both"),
        ("Computed by", f"code {report['code']['sha256'][:16]}"),
    ]
