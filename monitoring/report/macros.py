"""The report's numbers as LaTeX macros, so that the text of a paper never has to be typed anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from monitoring.report.latex import escape

WORDS = {
    "0": "Zero",
    "1": "One",
    "2": "Two",
    "3": "Three",
    "4": "Four",
    "5": "Five",
    "6": "Six",
    "7": "Seven",
    "8": "Eight",
    "9": "Nine",
}
CONDITIONS = {
    "CMATCH": "Cmatch",
    "CCONFLICT": "Cconflict",
    "BLIND": "Blind",
    "HINT": "Hint",
    "CERT": "Cert",
    "REVISE": "Revise",
    "RCTRL": "Rctrl",
    "STEP": "Step",
}
CELLS = {"wrong": "Wrong", "critical": "Flawed", "clean": "Clean"}
# Names that the published macros file gives its monitors; others are made from the slug.
SHORT = {
    "deepseek": "Deepseek",
    "qwen3": "QwenThree",
    "qwen-2.5": "QwenTwoFive",
    "llama": "Llama",
    "grok": "Grok",
    "kimi": "Kimi",
    "gemini": "Gemini",
    "fable": "Fable",
}
# Where a label was set by the lead; in the published release these words begin with "will_".
SET_BY_PEOPLE = ("adjudicated", "patched")
ROLES = {
    "repaired_or_exploratory": "Repaired",
    "supplementary_claim": "Supplementary",
    "robust_numerical_or_algebraic": "Robust",
    "substantive": "Substantive",
}
Pair = tuple[str, str]


def letters(text: str) -> str:
    """Return a text as letters alone, as the name of a macro must be: digits spelt, words capitalised."""
    spelt = re.sub(r"[0-9]", lambda digit: WORDS[digit[0]], text)
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z]+", spelt) if part)


def monitor_names(monitors: list[str]) -> dict[str, str]:
    """Return a macro's word for each monitor: the published one where it is unique, else the whole slug."""
    short = {
        monitor: [word for key, word in SHORT.items() if key in monitor.rpartition("_")[2]]
        for monitor in monitors
    }
    names = {monitor: found[0] if len(found) == 1 else letters(monitor) for monitor, found in short.items()}
    common = {name for name in names.values() if list(names.values()).count(name) > 1}
    taken: dict[str, str] = {}
    for monitor, short_name in names.items():
        word = letters(monitor) if short_name in common else short_name
        while word in taken.values():
            word += "X"
        taken[monitor] = word
    return taken


def fixed(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number for a macro; a dash where it is undefined."""
    if value is None:
        return "--"
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return rf"\ensuremath{{{text}}}"


def _percent(value: float | None) -> str:
    return "--" if value is None else f"{100 * value:.1f}"


def _with_interval(
    name: str, record: dict[str, Any], key: str, *, signed: bool = False, ci: str = ""
) -> Iterator[Pair]:
    yield name, fixed(record.get(key), signed=signed)
    bounds = record.get(ci or f"{key}_ci")
    if bounds:
        low, high = (fixed(bound, signed=signed) for bound in bounds)
        yield f"{name}Lo", low
        yield f"{name}Hi", high
        yield f"{name}CI", f"[{low}, {high}]"


def macros(report: dict[str, Any]) -> dict[str, str]:
    """Return {name: content} of every macro that the report has a number for."""
    out: dict[str, str] = {}
    for family in (_counts, _arms, _conditions, _contrasts, _revision, _certificate, _roles, _subsets):
        for name, content in family(report):
            out.setdefault(name, content)
    return out


def _counts(report: dict[str, Any]) -> Iterator[Pair]:
    reference, bootstrap = report["reference"], report["bootstrap"]
    yield "GoldTraces", str(reference["traces"])
    yield "GoldQuestions", str(reference["questions"])
    yield "GoldClean", str(reference["clean"])
    yield "GoldWrong", str(reference["wrong"])
    yield "GoldFlawed", str(reference["critical"])
    yield "GoldErrors", str(reference["wrong"] + reference["critical"])
    set_by_people = [
        cells
        for word, cells in reference["provenance"].items()
        if word in SET_BY_PEOPLE or word.startswith("will_")
    ]
    for name, cells in (("", tuple(CELLS)), ("Errors", ("wrong", "critical")), ("Critical", ("critical",))):
        n = sum(found.get(cell, 0) for found in set_by_people for cell in cells)
        yield f"GoldAuthorAdjudicated{name}", str(n)
    yield "GoldFinalCorrectPct", _percent(reference["final_correct"] / max(reference["traces"], 1))
    yield "NMonitors", str(len(report["monitors"]))
    yield "BootN", str(bootstrap["resamples"])
    yield "BootQuestions", str(bootstrap["clusters"])
    yield "StandardVersion", str(reference["version"])
    yield "StandardHash", reference["sha256"][:12]
    yield "VerdictsHash", report["verdicts"]["sha256"][:12]
    oracle = report["oracle"]
    for key, word in (
        ("sensitivity", "Sensitivity"),
        ("specificity", "Specificity"),
        ("balanced_accuracy", "Bal"),
    ):
        yield f"FinalAnswerOracle{word}", fixed(oracle[key])
    yield "FinalAnswerOracleCriticalRecall", fixed(oracle["critical_recall"])
    yield "FinalAnswerOracleLoc", fixed(oracle["L0"])
    lengths = report["lengths"]
    for cell, word in CELLS.items():
        yield f"Length{word}Median", fixed(lengths[cell]["median"], 1)
    yield "LengthP", fixed(lengths["wrong_vs_critical"]["p"])


def _arms(report: dict[str, Any]) -> Iterator[Pair]:
    arms = report.get("arms")
    if not arms:
        return
    yield "ArmJointN", str(arms["joint"])
    for key, word in (("final_correct", "Correct"), ("error_presence", "Presence")):
        share = arms[f"{key}_agreement"]
        yield f"Arm{word}AgreePct", _percent(share)
        if share is not None:
            yield f"Arm{word}AgreeN", str(round(share * arms["joint"]))
        for coefficient in ("kappa", "alpha", "ac1"):
            yield f"Arm{word}{letters(coefficient)}", fixed(arms[f"{key}_{coefficient}"])
    yield "ArmStepBothN", str(arms["both_named_step"])
    exact = arms["exact_step_agreement"]
    yield "ArmStepAgreePct", _percent(exact)
    if exact is not None:
        yield "ArmStepAgreeN", str(round(exact * arms["both_named_step"]))
    yield "ArmStepChancePct", _percent(arms["chance_step_agreement"])


def _conditions(report: dict[str, Any]) -> Iterator[Pair]:
    names = monitor_names(report["monitors"])
    for condition, section in report.get("detection", {}).items():
        word = CONDITIONS[condition]
        mean = section["mean"]
        yield f"{word}NMon", str(mean["monitors"])
        yield from _with_interval(f"{word}Bal", mean, "balanced_accuracy")
        yield from _with_interval(f"{word}Sens", mean, "sensitivity")
        yield from _with_interval(f"{word}Spec", mean, "specificity")
        known = [
            r["balanced_accuracy"] for r in section["monitors"].values() if r["balanced_accuracy"] is not None
        ]
        if known:
            yield f"{word}BalMin", fixed(min(known))
            yield f"{word}BalMax", fixed(max(known))
            yield f"{word}BalSpread", fixed(max(known) - min(known))
        for monitor, record in section["monitors"].items():
            mine = names[monitor] + word
            yield f"{mine}ValidN", str(record["n"])
            for key, part in (
                ("balanced_accuracy", "Bal"),
                ("sensitivity", "Sens"),
                ("specificity", "Spec"),
                ("flag_rate", "Flag"),
                ("auc", "Auc"),
            ):
                yield f"{mine}{part}", fixed(record[key])
    for condition, section in report.get("localisation", {}).items():
        word, mean = CONDITIONS[condition], section["mean"]
        yield f"{word}LocMean", fixed(mean["L0"])
        yield from _with_interval(f"{word}Loc", mean, "L0")
        yield from _with_interval(f"{word}LocWithinOneMean", mean, "L1")
        yield f"{word}LocWithinZeroMean", fixed(mean["L0"])
        for tolerance, count in ((0, "Zero"), (1, "One")):
            yield f"{word}Chance{count}", fixed(mean[f"L{tolerance}_chance"])
            yield f"{word}Skill{count}", fixed(mean[f"L{tolerance}_skill"])
        if mean["L0"] is not None and mean["L0_chance"] is not None and mean["L1_chance"] is not None:
            yield f"{word}LocWithinOneGain", fixed(mean["L1"] - mean["L0"], signed=True)
            yield f"{word}ChanceGain", fixed(mean["L1_chance"] - mean["L0_chance"], signed=True)
        for place, part in (("early", "Early"), ("exact", "Exact"), ("late", "Late"), ("missed", "Miss")):
            yield f"{word}Loc{part}", fixed(section["pooled"][place])
        yield f"{word}LocWithinZeroPooled", fixed(section["pooled"]["exact"])
        near = sum((r["L1"] or 0.0) * r["n_error_traces"] for r in section["monitors"].values())
        pairs = section["pooled"]["pairs"]
        yield f"{word}LocWithinOnePooled", fixed(near / pairs if pairs else None)
        for monitor, record in section["monitors"].items():
            yield f"{names[monitor]}{word}Loc", fixed(record["L0"])


def _contrasts(report: dict[str, Any]) -> Iterator[Pair]:
    names = monitor_names(report["monitors"])
    for condition, section in report.get("ladder_recall", {}).items():
        if condition == "n":
            for monitor, cells in section.items():
                yield f"{names[monitor]}LadderCommonN", str(sum(cells.values()))
            continue
        word = CONDITIONS[condition]
        for cell in ("wrong", "critical"):
            yield from _with_interval(f"{word}{CELLS[cell]}Recall", section[cell], "mean")
            for monitor, value in section[cell]["monitors"].items():
                if not monitor.endswith("_reason"):
                    yield f"{names[monitor]}{word}{CELLS[cell]}", fixed(value)
    if "CERT" in report.get("ladder_recall", {}):
        yield "CertDetectWrongPct", _percent(report["ladder_recall"]["CERT"]["wrong"]["mean"])
        yield "CertLocPct", _percent(report["localisation"]["CERT"]["mean"]["L0"])
    found = report.get("contrasts", {}).get("CERT-BLIND")
    if found:
        yield from _with_interval("GainWrong", found["wrong"], "estimate", signed=True, ci="ci")
        yield from _with_interval("GainFlawed", found["critical"], "estimate", signed=True, ci="ci")
        difference = found["difference"]
        yield "MeanDiD", fixed(difference["estimate"], signed=True)
        yield from _with_interval("DiD", difference, "estimate", signed=True, ci="ci")
        yield "SignK", str(difference["positive"])
        yield "SignN", str(difference["monitors"])
        yield "SignP", fixed(difference["sign_test_p"], 4)
        yield "HeadroomClosed", fixed(found["headroom_closed"])
        yield "HeadroomClosedPct", _percent(found["headroom_closed"])
    for monitor, left in report.get("leave_one_out", {}).items():
        if "CERT-BLIND" in left:
            record = left["CERT-BLIND"]
            mine = f"No{names[monitor]}"
            yield f"{mine}MeanDiD", fixed(record["difference"], signed=True)
            yield from _with_interval(f"{mine}DiD", record, "difference", signed=True)
            yield f"{mine}SignK", str(record["positive"])
            yield f"{mine}SignN", str(record["monitors"])
            yield f"{mine}SignP", fixed(record["sign_test_p"], 4)


def _revision(report: dict[str, Any]) -> Iterator[Pair]:
    names = monitor_names(report["monitors"])
    for cell, section in report.get("revision", {}).items():
        word = CELLS[cell]
        yield f"Rev{word}DeltaWithdraw", fixed(section["net_withdraw"], signed=True)
        yield f"Rev{word}DeltaAdd", fixed(section["net_add"], signed=True)
        yield f"Rev{word}ReviseAdd", fixed(section["add_revise"])
        yield f"Rev{word}ReviseAddPct", _percent(section["add_revise"])
        yield f"Rev{word}ReviseWithdraw", fixed(section["withdraw_revise"])
        for monitor, record in section["monitors"].items():
            yield f"{names[monitor]}Wd{word}", fixed(record["withdraw_revise"])
            yield f"{names[monitor]}Add{word}", fixed(record["add_revise"])
            yield f"{names[monitor]}NetWd{word}", fixed(record["net_withdraw"], signed=True)
    if "revision" in report:
        clean, critical = (report["revision"][cell]["monitors"] for cell in ("clean", "critical"))
        for monitor, record in clean.items():
            net = (record["net_withdraw"], critical[monitor]["net_withdraw"])
            gap = None if None in net else net[0] - net[1]
            yield f"{names[monitor]}WdGap", fixed(gap, signed=True)


def _certificate(report: dict[str, Any]) -> Iterator[Pair]:
    section = report.get("certificate")
    if not section:
        return
    names = monitor_names(report["monitors"])
    yield "SwapNMonitors", str(len(section["monitors"]))
    for condition, n in section["eligible"].items():
        yield f"{CONDITIONS[condition]}EligibleN", str(n)
    if "CMATCH" in section["eligible"]:
        yield "CmatchMissingAnswerN", str(report["reference"]["wrong"] - section["eligible"]["CMATCH"])
    for name, macro in (
        ("CERT-CMATCH", "CertMinusCmatch"),
        ("CMATCH-BLIND", "CmatchMinusBlind"),
        ("CCONFLICT-CERT", "CconflictMinusCert"),
    ):
        if name in section:
            yield from _with_interval(macro, section[name], "estimate", signed=True, ci="ci")
            if name == "CMATCH-BLIND":
                yield from _with_interval(
                    "BlindMinusCmatch", _turned(section[name]), "estimate", signed=True, ci="ci"
                )
            known = {
                m: r["estimate"] for m, r in section[name]["monitors"].items() if r["estimate"] is not None
            }
            for monitor in known if len(known) > 1 else ():
                others = [value for m, value in known.items() if m != monitor]
                yield f"No{names[monitor]}{macro}", fixed(sum(others) / len(others), signed=True)
    for name, macro in (("CERT-CMATCH", "Cmatch"), ("CCONFLICT-CERT", "Cconflict")):
        for monitor, record in section.get(name, {}).get("monitors", {}).items():
            yield f"{names[monitor]}{macro}PairedN", str(record["n"])
    suppressed = section.get("suppressed_localisations")
    if suppressed:
        yield "BlindExactSwapN", str(suppressed["cases"])
        for condition, macro in (("CERT", "Cert"), ("CMATCH", "Cmatch")):
            passed = f"passed_under_{condition}"
            yield f"BlindExact{macro}PassN", str(suppressed[passed])
            yield f"BlindExact{macro}PassPct", _percent(suppressed[f"share_under_{condition}"])
            shares = [r[passed] / r["cases"] for r in suppressed["monitors"].values() if r["cases"]]
            if shares:
                yield f"BlindExact{macro}PassMinPct", _percent(min(shares))
                yield f"BlindExact{macro}PassMaxPct", _percent(max(shares))
    interior = section.get("interior_attribution")
    for macro, flags, inside, share in (
        ("Switched", "newly_flagged", "interior", "share"),
        ("Flagged", "all_flagged", "all_interior", "all_share"),
    ):
        if interior:
            yield f"Cconflict{macro}N", str(interior[flags])
            yield f"Cconflict{macro}InteriorN", str(interior[inside])
            yield f"Cconflict{macro}InteriorPct", _percent(interior[share])
            shares = [r[inside] / r[flags] for r in interior["monitors"].values() if r[flags]]
            yield f"Cconflict{macro}InteriorMajorityN", str(sum(value > 0.5 for value in shares))
            yield f"Cconflict{macro}InteriorNinetyN", str(sum(value > 0.9 for value in shares))


def _turned(record: dict[str, Any]) -> dict[str, Any]:
    """The same change, taken the other way round."""
    if record["estimate"] is None:
        return record
    out = {"estimate": -record["estimate"]}
    return out | ({"ci": [-bound for bound in reversed(record["ci"])]} if record.get("ci") else {})


def _roles(report: dict[str, Any]) -> Iterator[Pair]:
    for role, record in report.get("critical_roles", {}).items():
        if not isinstance(record, dict):
            continue
        word = f"Crit{ROLES[role]}"
        yield f"{word}N", str(record["n"])
        yield f"{word}MonitorTraceN", str(record["pairs"])
        for condition, part in CONDITIONS.items():
            if condition in record:
                yield f"{word}{part}Recall", fixed(record[condition])
        if "CERT-BLIND" in record:
            yield f"{word}CertMinusBlind", fixed(record["CERT-BLIND"], signed=True)


def _subsets(report: dict[str, Any]) -> Iterator[Pair]:
    consensus = report.get("consensus_subset", {})
    if consensus:
        yield "LocAgreedN", str(consensus["n"])
    for condition, word in CONDITIONS.items():
        if condition in consensus:
            yield f"{word}LocAgreed", fixed(consensus[condition])
            yield f"{word}LocAgreedMonitorTraceN", str(consensus["pairs"][condition])
        recall = report.get("ladder_recall", {}).get(condition)
        if recall:
            yield f"{word}CorrectAnswerCriticalRecall", fixed(recall["critical"]["mean"])
            alarms = recall["clean_flag_rate"]["mean"]
            yield f"{word}CorrectAnswerCleanSpec", fixed(None if alarms is None else 1 - alarms)
        if condition in report.get("answer_correct_subset", {}):
            yield f"{word}CorrectAnswerBal", fixed(report["answer_correct_subset"][condition])
    reference = report["reference"]
    yield "CorrectAnswerCleanN", str(reference["clean"] - reference["clean_with_wrong_answer"])
    yield "CorrectAnswerCriticalN", str(reference["critical"])
    answered = reference["clean"] - reference["clean_with_wrong_answer"] + reference["critical"]
    yield "CorrectAnswerTotalN", str(answered)
    if report.get("answer_correct_subset", {}).get("CERT-BLIND") is not None:
        change = report["answer_correct_subset"]["CERT-BLIND"]
        yield "CorrectAnswerBalCertMinusBlind", fixed(change, signed=True)


def macros_file(report: dict[str, Any]) -> str:
    """Return a file of \\newcommand lines, headed by what it was computed from."""
    reference, bootstrap = report["reference"], report["bootstrap"]
    head = [
        f"% study {reference['study']}, standard {reference['version']}, sha256 {reference['sha256']}",
        f"% verdicts sha256 {report['verdicts']['sha256']}",
        f"% {bootstrap['resamples']} resamples of {bootstrap['clusters']} questions, seed {bootstrap['seed']}, "
        f"convention {bootstrap['convention']}; an undefined number is a dash",
    ]
    lines = [rf"\newcommand{{\{name}}}{{{content}}}" for name, content in macros(report).items()]
    lines.append(rf"\newcommand{{\StudyName}}{{{escape(reference['study'])}}}")
    return "\n".join([*head, "", *lines]) + "\n"
