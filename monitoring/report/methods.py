"""The methods paragraph of a study: what was done, with its own numbers, hashes, conventions and exclusions."""

from __future__ import annotations

import re
from typing import Any

from monitoring.report.cells import Cell, Words, count, counted, listed, plain, say, words
from monitoring.report.latex import escape
from monitoring.report.links import ALL, link

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


def methods(report: dict[str, Any]) -> list[tuple[str, Words]]:
    """Return (heading, paragraph) in the order of reading; nothing in them tells the arms apart."""
    parts = [("Standard", _standard(report)), ("Monitors", _monitors(report))]
    parts.append(("Scoring", _scoring(report)))
    parts.append(("Intervals", _intervals(report)))
    parts.append(("Exclusions and failures", _exclusions(report)))
    parts.append(("Provenance", _provenance(report)))
    return [(heading, text) for heading, text in parts if text]


def _standard(report: dict[str, Any]) -> Words:
    reference, arms = report["reference"], report.get("arms")
    text = say(
        f"Reference standard {reference['version']} holds {{}} of {{}}: {{}} without an error, {{}} with an error "
        "and a wrong final answer, {} critical (the answer is right, the reasoning is not). The final answer is "
        "right on {}. A trace counts as erroneous when its standard names a first false step.",
        counted(reference["traces"], "trace", ALL),
        counted(reference["questions"], "question", ALL),
        *(count(reference[cell], link(cell=cell)) for cell in ("clean", "wrong", "critical")),
        count(reference["final_correct"], link(cell="right answer")),
    )
    if reference.get("selection"):
        chosen = ", ".join(f"{name} {value}" for name, value in reference["selection"].items())
        text += (words(f" Only part of the standard is reported here: {chosen}."),)
    origin = reference["provenance"]
    if origin:
        labels = listed(
            say("{} " + word.replace("_", " "), count(sum(cells.values()), link(origin=word)))
            for word, cells in origin.items()
        )
        text += (words(" Labels by origin: "), *labels, words("."))
    if arms and arms["joint"]:
        both, named = link(arms="both"), link(arms="both named a step")
        text += say(
            " Two arms of labels, one human, one a debate between language models, judged {} of the traces both; "
            "they agree on the final answer on {} (Cohen's kappa {}, Gwet's AC1 {}), on the presence of an error on "
            "{}, and, where both named a step ({}), on the step on {}.",
            count(arms["joint"], both),
            _pct(arms["final_correct_agreement"], both),
            _num(arms["final_correct_kappa"], both),
            _num(arms["final_correct_ac1"], both),
            _pct(arms["error_presence_agreement"], both),
            counted(arms["both_named_step"], "trace", named),
            _pct(arms["exact_step_agreement"], named),
        )
    return text


def _monitors(report: dict[str, Any]) -> Words:
    ran = list(report.get("detection", {})) + [
        c for c in CERTIFICATES if any(run["condition"] == c for run in report["verdicts"]["runs"])
    ]
    if not ran:
        return ()
    said = "; ".join(f"{condition}: {SHOWN[condition]}" for condition in SHOWN if condition in ran)
    names = ", ".join(report["monitors"])
    return say(
        f"{{}} ({names}) judged the traces under {{}}. They were shown, under {said}. Each was asked whether the "
        "reasoning has an error, which step is the first false one, and how probable an error is.",
        counted(len(report["monitors"]), "monitor", link(said="any")),
        counted(len(ran), "condition", link(said="any")),
    )


def _scoring(report: dict[str, Any]) -> Words:
    if "detection" not in report:
        return ()
    return say(
        "Sensitivity is the share of erroneous traces that are flagged, specificity the share of the others "
        "that are not, balanced accuracy their mean, each over the verdicts that say whether there is an "
        "error. L0 is the share of erroneous traces whose first false step is named exactly, L1 within one "
        "step; a failed verdict is a miss. Skill sets a uniformly placed step to 0. Recall by cell and its "
        "contrasts are over the traces that a monitor judged under every condition of the ladder that it ran. "
        "Means are unweighted over monitors, and means of unrounded values."
    )


def _intervals(report: dict[str, Any]) -> Words:
    bootstrap = report["bootstrap"]
    if not bootstrap["resamples"]:
        return say("No intervals were computed.")
    convention = (
        "Point and interval follow one rule."
        if bootstrap["convention"] == "own"
        else "Where the published study's intervals follow another rule than its points, so do these: those of "
        "L0 leave failed verdicts out, those of the certificate effects are of 5,000 resamples of the questions "
        "that have a pair."
    )
    return say(
        f"Intervals are 95% percentile intervals (linear interpolation) of {bootstrap['resamples']} resamples of "
        f"the {{}} with all their traces, drawn once (numpy default_rng, seed {bootstrap['seed']}) and "
        "shared by every statistic, so that contrasts are paired; monitors are not resampled. " + convention,
        counted(bootstrap["clusters"], "question", ALL),
    )


def _exclusions(report: dict[str, Any]) -> Words:
    left = report["reference"]["not_ready"]
    parts: list[Words] = []
    if left:
        excluded = listed(
            say("{} traces " + status, count(n, link(status=status))) for status, n in left.items()
        )
        parts.append((words("Not in the standard: "), *excluded, words(".")))
    failed: dict[str, int] = {}
    total = 0
    for monitors in report.get("outcomes", {}).values():
        for outcomes in monitors.values():
            for outcome, n in outcomes.items():
                total += n
                if outcome != "ok":
                    failed[outcome] = failed.get(outcome, 0) + n
    if total:
        kinds = listed(
            say("{} " + kind.replace("_", " "), count(n, link(said=kind)))
            for kind, n in sorted(failed.items())
        )
        told = say(
            "Of {} verdicts on these traces, {} are not ok",
            count(total, link(said="any")),
            count(sum(failed.values()), link(said="not ok")),
        )
        parts.append((*told, *((words(": "), *kinds) if kinds else ()), words(".")))
    runs = report["verdicts"]["runs"]
    partial = [run for run in runs if run["status"] != "finished"]
    if partial:
        every = link(said="any")
        parts.append(
            say("{} of {} runs are not finished.", count(len(partial), every), count(len(runs), every))
        )
    return listed(parts, " ")


def _provenance(report: dict[str, Any]) -> Words:
    reference = report["reference"]
    return say(
        f"Study {reference['study']}; standard sha256 {reference['sha256']}; verdicts sha256 "
        f"{report['verdicts']['sha256']}; code sha256 {report['code']['sha256']}."
    )


def methods_text(report: dict[str, Any]) -> str:
    """Return the paragraphs as plain text."""
    return "\n\n".join(f"{heading}. {plain(text)}" for heading, text in methods(report)) + "\n"


def methods_latex(report: dict[str, Any]) -> str:
    """Return the paragraphs for a LaTeX document, which may break a hash after every fourth sign."""

    def breakable(text: str) -> str:
        return re.sub(
            r"\b[0-9a-f]{64}\b", lambda found: re.sub(r".{4}(?=.)", r"\g<0>\\allowbreak{}", found[0]), text
        )

    return (
        "\n\n".join(
            rf"\paragraph{{{escape(heading)}}} {breakable(escape(plain(text)))}"
            for heading, text in methods(report)
        )
        + "\n"
    )


def _pct(value: float | None, link: str) -> Cell:
    return words("an undefined share") if value is None else Cell(f"{100 * value:.1f}%", link=link)


def _num(value: float | None, link: str) -> Cell:
    return words("undefined") if value is None else Cell(f"{value:.3f}", link=link)
