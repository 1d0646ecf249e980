"""What the report says in words, before its figures and tables."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Cell, Words, count, counted, figure, listed, say, words
from monitoring.report.links import ALL, BEHIND, link
from monitoring.report.series import conditions_of


def summary(report: dict[str, Any]) -> Words:
    """Say the main results in a few sentences: what was scored, and the two ends of the ladder."""
    reference = report["reference"]
    said = say(
        "The standard holds {} of {}: {} clean, {} with a wrong answer, {} critical.",
        counted(reference["traces"], "trace", ALL),
        counted(reference["questions"], "question", ALL),
        *(count(reference[cell], link(cell=cell)) for cell in ("clean", "wrong", "critical")),
    )
    ran = conditions_of(report)
    if not ran:
        return (*said, words(" No monitor has run yet."))
    last = "CERT" if "CERT" in ran else ran[-1]
    conditions = list(dict.fromkeys((ran[0], last)))
    for section, name, opening in (
        ("detection", "balanced_accuracy", say(" Over {}, mean balanced accuracy is ", _monitors(report))),
        ("localisation", "L0", say(" The first false step is named exactly on a share of ")),
    ):
        means = [
            say("{} under " + c, figure(mean, name, link=link(condition=c, **BEHIND[name])))
            for c in conditions
            for mean in [report[section][c]["mean"]]
            if mean[name] is not None
        ]
        if means:
            said += (*opening, *listed(means, " and "), words("."))
    return said


def _monitors(report: dict[str, Any]) -> Cell:
    n = len(report["monitors"])
    behind = link(said="any")
    return Cell("one monitor", link=behind) if n == 1 else counted(n, "monitor", behind)


def warning(found: dict[str, Any]) -> Words:
    """Return a warning; its number leads to the traces that it is about."""
    asked = {name: found.get(name, "") for name in ("condition", "monitor", "cell")}
    if found["kind"] == "confidence_in_the_verdict":
        asked["said"] = "pass with a confidence"
    number = next((str(found[n]).removesuffix(".0") for n in ("verdicts", "median") if n in found), "")
    if "questions" in found:
        number = f"{found['questions']} questions"
    before, _, after = found["text"].rpartition(number) if number else (found["text"], "", "")
    parts = (words(before), Cell(number, link=link(**asked) or ALL), words(after))
    return tuple(part for part in parts if part.text)


def small_print(report: dict[str, Any]) -> list[tuple[str, Words]]:
    """Return (term, words) of what the numbers rest on."""
    reference, bootstrap = report["reference"], report["bootstrap"]
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
        ("Standard", say(f"version {reference['version']}, sha256 {reference['sha256']}")),
        ("Left out of the standard", left_out(reference) or say("nothing")),
        (
            "Verdicts",
            say(
                f"sha256 {report['verdicts']['sha256']}; {{}} of them not ok, counted above",
                count(failed, link(said="not ok")),
            ),
        ),
        (
            "Intervals",
            say(
                f"95%, percentiles of {bootstrap['resamples']} resamples of the {{}} (seed "
                f"{bootstrap['seed']}); monitors are not resampled",
                counted(bootstrap["clusters"], "question", ALL),
            ),
        ),
        ("Convention", say(convention)),
        (
            "Detection",
            say("on valid verdicts; sensitivity on traces with an error, specificity on the others"),
        ),
        (
            "Localisation",
            say("on all traces with an error that a monitor was given; a failed verdict is a miss"),
        ),
        (
            "Arms",
            say("{} traces were judged by both", count(joint, link(arms="both")))
            if joint
            else say("no trace was judged by both"),
        ),
        ("Computed by", say(f"code {report['code']['sha256'][:16]}")),
    ]


def left_out(reference: dict[str, Any]) -> Words:
    """List the traces of the standard that are not ready, by status."""
    return listed(
        say("{} " + status, count(n, link(status=status))) for status, n in reference["not_ready"].items()
    )
