"""The methods paragraph of a study: what was done, with its own numbers, hashes, conventions and exclusions."""

from __future__ import annotations

from typing import Any

from monitoring.report.latex import escape

CERTIFICATES = frozenset({"CMATCH", "CCONFLICT"})
SHOWN = {
    "BLIND": "the problem and the numbered trace alone",
    "HINT": "in addition an answer called proposed and unverified",
    "CERT": "in addition the reference answer, called known correct",
    "REVISE": "their own BLIND verdict, then the reference answer, and were asked to revise",
    "RCTRL": "their own BLIND verdict, and were asked to reconsider without an answer",
    "STEP": "the trace step by step, later steps hidden",
    "CMATCH": "the trace's own wrong answer, called known correct",
    "CCONFLICT": "a false answer beside a right trace, called known correct",
}


def methods(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (heading, paragraph) in the order of reading; nothing in them tells the arms apart."""
    parts = [("Standard", _standard(report)), ("Monitors", _monitors(report))]
    parts.append(("Scoring", _scoring(report)))
    parts.append(("Intervals", _intervals(report)))
    parts.append(("Exclusions and failures", _exclusions(report)))
    parts.append(("Provenance", _provenance(report)))
    return [(heading, text) for heading, text in parts if text]


def _standard(report: dict[str, Any]) -> str:
    reference, arms = report["reference"], report.get("arms")
    text = (
        f"Reference standard {reference['version']} holds {_n(reference['traces'], 'trace')} of "
        f"{_n(reference['questions'], 'question')}: {reference['clean']} without an error, "
        f"{reference['wrong']} with an error and a wrong final answer, {reference['critical']} critical (the "
        f"answer is right, the reasoning is not). The final answer is right on {reference['final_correct']}. "
        "A trace counts as erroneous when its standard names a first false step."
    )
    if reference.get("selection"):
        chosen = ", ".join(f"{name} {value}" for name, value in reference["selection"].items())
        text += f" Only part of the standard is reported here: {chosen}."
    origin = reference["provenance"]
    if origin:
        listed = ", ".join(
            f"{sum(cells.values())} {word.replace('_', ' ')}" for word, cells in origin.items()
        )
        text += f" Labels by origin: {listed}."
    if arms and arms["joint"]:
        text += (
            f" Two arms of labels, one human, one a debate between language models, judged {arms['joint']} "
            f"of the traces both; they agree on the final answer on {_pct(arms['final_correct_agreement'])} "
            f"(Cohen's kappa {_num(arms['final_correct_kappa'])}, Gwet's AC1 "
            f"{_num(arms['final_correct_ac1'])}), on the presence of an error on "
            f"{_pct(arms['error_presence_agreement'])}, and, where both named a step "
            f"({_n(arms['both_named_step'], 'trace')}), on the step on {_pct(arms['exact_step_agreement'])}."
        )
    return text


def _monitors(report: dict[str, Any]) -> str:
    ran = list(report.get("detection", {})) + [
        c for c in CERTIFICATES if any(run["condition"] == c for run in report["verdicts"]["runs"])
    ]
    if not ran:
        return ""
    said = "; ".join(f"{condition}: {SHOWN[condition]}" for condition in SHOWN if condition in ran)
    names = ", ".join(report["monitors"])
    return (
        f"{_n(len(report['monitors']), 'monitor')} ({names}) judged the traces under "
        f"{_n(len(ran), 'condition')}. They were shown, under {said}. Each was asked whether the reasoning "
        "has an error, which step is the first false one, and how probable an error is."
    )


def _scoring(report: dict[str, Any]) -> str:
    if "detection" not in report:
        return ""
    return (
        "Sensitivity is the share of erroneous traces that are flagged, specificity the share of the others "
        "that are not, balanced accuracy their mean, each over the verdicts that say whether there is an "
        "error. L0 is the share of erroneous traces whose first false step is named exactly, L1 within one "
        "step; a failed verdict is a miss. Skill sets a uniformly placed step to 0. Recall by cell and its "
        "contrasts are over the traces that a monitor judged under every condition of the ladder that it ran. "
        "Means are unweighted over monitors, and means of unrounded values."
    )


def _intervals(report: dict[str, Any]) -> str:
    bootstrap = report["bootstrap"]
    if not bootstrap["resamples"]:
        return "No intervals were computed."
    convention = (
        "Point and interval follow one rule."
        if bootstrap["convention"] == "own"
        else "Where the published study's intervals follow another rule than its points, so do these: those of "
        "L0 leave failed verdicts out, those of the certificate effects are of 5,000 resamples of the questions "
        "that have a pair."
    )
    return (
        f"Intervals are 95% percentile intervals (linear interpolation) of {bootstrap['resamples']} resamples of "
        f"the {bootstrap['clusters']} questions with all their traces, drawn once (numpy default_rng, seed "
        f"{bootstrap['seed']}) and shared by every statistic, so that contrasts are paired; monitors are not "
        f"resampled. {convention}"
    )


def _exclusions(report: dict[str, Any]) -> str:
    left = report["reference"]["not_ready"]
    parts = []
    if left:
        parts.append(
            "Not in the standard: " + ", ".join(f"{n} traces {status}" for status, n in left.items()) + "."
        )
    failed: dict[str, int] = {}
    total = 0
    for monitors in report.get("outcomes", {}).values():
        for outcomes in monitors.values():
            for outcome, n in outcomes.items():
                total += n
                if outcome != "ok":
                    failed[outcome] = failed.get(outcome, 0) + n
    if total:
        listed = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in sorted(failed.items()))
        parts.append(
            f"Of {total} verdicts on these traces, {sum(failed.values())} are not ok"
            + (f": {listed}." if listed else ".")
        )
    partial = [run for run in report["verdicts"]["runs"] if run["status"] != "finished"]
    if partial:
        parts.append(f"{len(partial)} of {len(report['verdicts']['runs'])} runs are not finished.")
    return " ".join(parts)


def _provenance(report: dict[str, Any]) -> str:
    reference = report["reference"]
    return (
        f"Study {reference['study']}; standard sha256 {reference['sha256']}; verdicts sha256 "
        f"{report['verdicts']['sha256']}; code sha256 {report['code']['sha256']}."
    )


def methods_text(report: dict[str, Any]) -> str:
    """Return the paragraphs as plain text."""
    return "\n\n".join(f"{heading}. {text}" for heading, text in methods(report)) + "\n"


def methods_latex(report: dict[str, Any]) -> str:
    """Return the paragraphs for a LaTeX document."""
    return (
        "\n\n".join(rf"\paragraph{{{escape(heading)}}} {escape(text)}" for heading, text in methods(report))
        + "\n"
    )


def _n(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _pct(value: float | None) -> str:
    return "an undefined share" if value is None else f"{100 * value:.1f}%"


def _num(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
