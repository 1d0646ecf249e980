"""`python -m tests.reproduction`: docs/reproduction.md, printed numbers beside ours. A test holds it up to date."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from stats import Options, build_report
from stats.report import PUBLISHED
from tests.stats import published as p
from tests.stats.release import load_panel, with_roles
from tests.stats.release import rows as released_rows

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reproduction.md"
FIVE = tuple(name for name in p.ORDER if name in p.TABLE_1)
COLUMNS = ("flag_rate", "sensitivity", "specificity", "balanced_accuracy", "auc")


def of(section: dict[str, Any], name: str) -> Any:
    """The entry of a monitor whose slug holds the name."""
    return next(value for slug, value in section.items() if name in slug)


def f(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """A number for the page."""
    if value is None:
        return "–"
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def pair(bounds: Sequence[float], digits: int = 3) -> str:
    """An interval for the page."""
    return f"[{bounds[0]:.{digits}f}, {bounds[1]:.{digits}f}]"


def share(part: int, whole: int) -> str:
    """A count with its percentage for the page."""
    return f"{part} ({100 * part / whole:.1f}%)"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(folder: Path) -> str:
    """Return the page from a release of at least the five monitors."""
    panel = with_roles(load_panel(folder), p.ROLES)
    five = panel.restricted(monitors=[m for m in panel.monitors if any(n in m for n in FIVE)])
    report = build_report(five, Options(convention=PUBLISHED, studies=0))
    own = build_report(five, Options(studies=0))
    superseded = load_panel(folder, {p.SUPERSEDED: 1}).restricted(monitors=five.monitors)
    old = build_report(superseded, Options(resamples=0, studies=0))
    parts = [
        HEAD,
        *_standard(report, folder),
        *_table_1(report, old),
        *_localisation(report),
        *_recall(report),
    ]
    parts += [*_revision(report), *_certificates(report, own), *_roles(report), *_means(report)]
    parts += [*_further(report), MISMATCHES, RULES]
    return "\n\n".join(parts) + "\n"


HEAD = """# Reproduction

What the study printed (arXiv 2609.00264) beside what this code computes from its released files. Written by
`python -m tests.reproduction`; a test computes it anew and fails when this page differs, and every figure of the
release's `EXPECTED.json` is compared to 1e-9 by another. The files at hand hold five of the eight monitors, four of
them under the false certificates: numbers of one monitor and of the standard can be set beside print, means over
monitors cannot. For those the tables say what was printed; `tests/stats/test_complete_release.py` compares all eight
when `FALSESTEP_RELEASE` names a folder with the complete release.

The same from a shell, without a database: `manage.py report --from-release DIR --convention published --json -`."""


def _standard(report: dict[str, Any], folder: Path) -> Iterator[str]:
    reference, arms, lengths = report["reference"], report["arms"], report["lengths"]
    by_authors = sum(
        row["gt_status"] == "ready"
        and row["gold_error_source"].startswith("will_")
        and bool(row["strict_error"] and row["final_is_correct"])
        for row in released_rows(folder / "ground_truth_gold.jsonl")
    )
    rows = [
        ("ready traces, questions", "237, 79", f"{reference['traces']}, {reference['questions']}", ""),
        (
            "clean, wrong, critical",
            "130, 83, 24",
            f"{reference['clean']}, {reference['wrong']}, {reference['critical']}",
            "",
        ),
        ("right final answer", "65.0%", f"{100 * reference['final_correct'] / reference['traces']:.1f}%", ""),
        ("traces judged by both arms", "174", str(arms["joint"]), "7"),
        ("arms agree on the answer", "95.6%", f"{100 * arms['final_correct_agreement']:.1f}%", "over 135"),
        (
            "arms agree on an error's presence",
            "79.3%",
            f"{100 * arms['error_presence_agreement']:.1f}%",
            "over 135",
        ),
        ("arms name the same step", "51.4%", f"{100 * arms['exact_step_agreement']:.1f}%", "19 of 37"),
        ("the same step by chance", "15.1%", f"{100 * arms['chance_step_agreement']:.1f}%", ""),
        (
            "oracle by the final answer, balanced accuracy",
            "0.888",
            f(report["oracle"]["balanced_accuracy"]),
            "",
        ),
        ("median steps, clean", "12.5", f(lengths["clean"]["median"], 1), ""),
        ("median steps, wrong", "12.5", f(lengths["wrong"]["median"], 1), "3"),
        ("median steps, critical", "10.0", f(lengths["critical"]["median"], 1), "3"),
        ("wrong against critical, p", "0.142", f(lengths["wrong_vs_critical"]["p"]), ""),
        ("critical labels that the authors set", "16 of 24", f"{by_authors} of {reference['critical']}", ""),
        ("erroneous traces whose step all agree on", "19", str(report["consensus_subset"]["n"]), ""),
    ]
    yield "## The standard\n\nThe last column is a note, or the number of the mismatch below."
    yield table(("", "printed", "ours", ""), rows)


def _table_1(report: dict[str, Any], old: dict[str, Any]) -> Iterator[str]:
    yield (
        "## Detection under BLIND (Table 1)\n\nPrint follows a standard with 108 errors, in which trace "
        f"`{p.SUPERSEDED[0]}`, {p.SUPERSEDED[1]}, still was critical (mismatch 1). With that label put back by "
        "`patch_standard`, all 25 numbers are as printed."
    )
    rows = []
    for name in FIVE:
        now, before = (of(r["detection"]["BLIND"]["monitors"], name) for r in (report, old))
        rows.append(
            (
                name,
                *(
                    f"{printed:.3f} / {before[column]:.3f} / {now[column]:.3f}"
                    for column, printed in zip(COLUMNS, p.TABLE_1[name], strict=True)
                ),
            )
        )
    head = (
        "printed / ours with 108 errors / ours with 107",
        "flag",
        "sensitivity",
        "specificity",
        "balanced",
        "AUC",
    )
    yield table(head, rows)


def _localisation(report: dict[str, Any]) -> Iterator[str]:
    yield (
        "## Exact localisations\n\nHits of 107 erroneous traces (24 under RCTRL): printed or released / ours. A failed "
        "verdict is a miss."
    )
    rows = []
    for name in FIVE:
        place = p.ORDER.index(name)
        cells = [
            f"{hits[place]} / {of(report['localisation'][condition]['monitors'], name)['exact']}"
            for condition, hits in p.L0_HITS.items()
        ]
        rows.append((name, *cells))
    yield table(("monitor", *p.L0_HITS), rows)


def _recall(report: dict[str, Any]) -> Iterator[str]:
    yield (
        "## Recall on wrong and critical traces (Figure 2)\n\nOn the traces judged under all four conditions. "
        "Each cell: wrong, critical; released / ours. Difference: CERT − BLIND on wrong less the same on critical."
    )
    rows = []
    found = report["contrasts"]["CERT-BLIND"]["difference"]["by_monitor"]["monitors"]
    for name in FIVE:
        *cells, difference, _ = p.RECALL[name]
        row = [name]
        for condition, (wrong, critical) in zip(p.LADDER, cells, strict=True):
            recall = report["ladder_recall"][condition]
            ours = [of(recall[cell]["monitors"], name) for cell in ("wrong", "critical")]
            row.append(f"{wrong:.3f}, {critical:.3f} / {ours[0]:.3f}, {ours[1]:.3f}")
        row.append(f"{difference:+.3f} / {of(found, name):+.3f}")
        n = of(report["common_subset"], name)
        row.append(f"{'/'.join(map(str, p.COMMON[name]))} / {n['wrong']}/{n['critical']}/{n['clean']}")
        rows.append(row)
    yield table(("monitor", *p.LADDER, "difference", "traces (wrong/critical/clean)"), rows)


def _roles(report: dict[str, Any]) -> Iterator[str]:
    yield (
        "## Critical traces by the role of their error (Table 2)\n\nRoles as the study coded them. Recall, mean over "
        "monitors: printed, of eight / ours, of the five at hand; the counts must agree, the recalls need not."
    )
    rows = []
    for role, (n, *printed) in p.TABLE_2.items():
        ours = report["critical_roles"][role]
        changes = (printed.pop(), ours["CERT-BLIND"])
        cells = [f"{value:.3f} / {ours[c]:.3f}" for c, value in zip(p.LADDER, printed, strict=True)]
        rows.append(
            (
                role.replace("_", " "),
                f"{n} / {ours['n']}",
                *cells,
                " / ".join(f(c, signed=True) for c in changes),
            )
        )
    yield table(("role", "n", *p.LADDER, "CERT − BLIND"), rows)


def _revision(report: dict[str, Any]) -> Iterator[str]:
    yield "## Second looks\n\nREVISE, gross, and net of RCTRL: released / ours."
    rows = []
    for name in FIVE:
        cells = {
            cell: of(report["revision"][cell]["monitors"], name) for cell in ("wrong", "critical", "clean")
        }
        ours = [
            cells["wrong"]["add_revise"],
            cells["critical"]["withdraw_revise"],
            cells["critical"]["add_revise"],
            cells["clean"]["withdraw_revise"],
            cells["clean"]["add_revise"],
            cells["clean"]["net_withdraw"],
            cells["critical"]["net_withdraw"],
        ]
        theirs = (*p.REVISION[name], *p.NET[name])
        rows.append((name, *(f"{a:.3f} / {b:.3f}" for a, b in zip(theirs, ours, strict=True))))
    head = (
        "monitor",
        "added, wrong",
        "withdrawn, critical",
        "added, critical",
        "withdrawn, clean",
        "added, clean",
        "net withdrawn, clean",
        "net withdrawn, critical",
    )
    yield table(head, rows)


def _certificates(report: dict[str, Any], own: dict[str, Any]) -> Iterator[str]:
    section = report["certificate"]
    yield (
        "## False certificates\n\nPrinted: seven monitors. Ours: the four of them at hand, with the published interval "
        "(5,000 resamples of the pairs' own questions) and our own (2,000 resamples of all questions; mismatch 4)."
    )
    rows = []
    for name, (estimate, low, high) in p.CERTIFICATE.items():
        ours = section[name]
        rows.append(
            (
                name.replace("-", " − "),
                f"{estimate:+.3f} [{low:.3f}, {high:.3f}]",
                f(ours["estimate"], signed=True),
                pair(ours["ci"]),
                pair(own["certificate"][name]["ci"]),
            )
        )
    yield table(("change of flag rate", "printed, 7", "ours, 4", "published interval", "own interval"), rows)
    gemini = of(section["CMATCH-BLIND"]["monitors"], p.GEMINI)
    blind = (gemini["both"] + gemini["lost"]) / gemini["n"]
    matched = (gemini["both"] + gemini["gained"]) / gemini["n"]
    printed = p.MATCHED_RATES[p.GEMINI]
    yield (
        f"{p.GEMINI} on the {gemini['n']} traces valid under BLIND and CMATCH flags {printed[0]:.3f} and "
        f"{printed[1]:.3f} in print, {blind:.3f} and {matched:.3f} here."
    )
    fate, interior = section["suppressed_localisations"], section["interior_attribution"]
    cases, under_cert, under_cmatch = p.SUPPRESSED
    flagged, inside = p.INTERIOR
    n, n_cert, n_cmatch = (fate[k] for k in ("cases", "passed_under_CERT", "passed_under_CMATCH"))
    of_rows = (
        ("exact BLIND localisations valid under all three", str(cases), str(n)),
        ("of them passed under CERT", share(under_cert, cases), share(n_cert, n)),
        ("of them passed under CMATCH", share(under_cmatch, cases), share(n_cmatch, n)),
        ("flagged under CCONFLICT, passed under CERT", str(flagged), str(interior["newly_flagged"])),
        (
            "of them on an interior step",
            share(inside, flagged),
            share(interior["interior"], interior["newly_flagged"]),
        ),
        (
            "monitors with over one half, over nine tenths of them interior",
            "{} and {} of 7".format(*p.INTERIOR_MONITORS),
            f"{interior['monitors_over_half']} and {interior['monitors_over_nine_tenths']} of 4",
        ),
    )
    yield table(("pairs of monitor and trace", "printed, 7", "ours, 4"), of_rows)


def _means(report: dict[str, Any]) -> Iterator[str]:
    yield (
        "## Means over monitors\n\nPrint: eight monitors, as unrounded as the released files allow. Ours: the five at "
        "hand; the two columns are not meant to agree."
    )
    rows = []
    for condition, means in p.MEANS.items():
        accuracy = report["detection"][condition]["mean"]
        placed = report["localisation"][condition]["mean"]
        known = p.INTERVALS.get((condition, "balanced_accuracy")) or p.INTERVALS_4.get(
            (condition, "balanced_accuracy")
        )
        rows.append(
            (
                condition,
                f"{means['balanced_accuracy']:.5f}" + (f" {pair(known)}" if known else ""),
                f"{accuracy['balanced_accuracy']:.5f} {pair(accuracy['balanced_accuracy_ci'])}",
                f"{means['L0']:.5f}",
                f"{placed['L0']:.5f} {pair(placed['L0_ci'])}",
            )
        )
    yield table(("condition", "balanced accuracy, 8", "ours, 5", "L0, 8", "ours, 5"), rows)


def _further(report: dict[str, Any]) -> Iterator[str]:
    yield (
        "## Changes, subsets and skill\n\nPrint: eight monitors. Ours: the five at hand; not meant to agree. CERT − "
        "BLIND on the common subset; skill at 0 and at 1 step."
    )
    found = report["contrasts"]["CERT-BLIND"]
    rows = []
    for cell, (estimate, low, high) in p.CONTRAST.items():
        ours = found[cell]
        rows.append(
            (
                f"CERT − BLIND, {cell}",
                f"{estimate:+.3f} [{low:+.3f}, {high:+.3f}]",
                f"{ours['estimate']:+.3f} [{ours['ci'][0]:+.3f}, {ours['ci'][1]:+.3f}]",
            )
        )
    rows.append(("headroom closed, wrong", f(p.HEADROOM), f(report["headroom_closed"])))
    for condition, value in p.ANSWER_CORRECT.items():
        rows.append((f"right answers, {condition}", f(value), f(report["answer_correct_subset"][condition])))
    for condition, value in p.CONSENSUS.items():
        rows.append((f"agreed step, L0, {condition}", f(value), f(report["consensus_subset"][condition])))
    for (cell, name), value in p.REVISION_MEANS.items():
        rows.append((f"{name.replace('_', ' ')}, {cell}", f(value), f(report["revision"][cell][name])))
    for condition, (*_, exact, near) in p.CHANCE.items():
        mean = report["localisation"][condition]["mean"]
        ours = f"{mean['L0_skill']:.3f}, {mean['L1_skill']:.3f}"
        rows.append((f"skill, {condition}", f"{exact:.3f}, {near:.3f}", ours))
    yield table(("", "printed, 8", "ours, 5"), rows)


MISMATCHES = """## Where print and data differ

1. **Table 1 is of a superseded standard.** The printed table, and "spec 0.078" and "AUC 0.473" in the text,
   follow labels with 108 errors; the released labels, which the rest of the text uses, have 107. One trace
   was judged anew. Both columns stand above; `patch_standard` makes the old one as a version of its own,
   and `report --compare` sets them side by side.
2. **Balanced accuracy under CERT prints as 0.796 and is 0.79656.** The published means are means of values
   rounded to 3 decimals; their exact mean is 0.7965, which one version of Python prints as 0.796 and
   another as 0.797. Nothing is rounded here before it is shown, so the eight give 0.797.
3. **The medians of length are exchanged in the text.** Wrong traces have a median of 10 steps and critical
   ones of 12.5, not the other way round. The p value holds: the test does not care which sample is named
   first.
4. **The intervals of the certificate effects rest on 5,000 resamples** of the at most 46 (CMATCH) or 32
   (CCONFLICT) questions that have a pair, not on 2,000 of 79, and Figure 3c draws them with other seeds
   than the text. `--convention published` gives the text's; by default one resample of all questions serves
   every statistic, so that all contrasts are paired.
5. **L0 has two denominators.** "All 107 erroneous traces" are 105 for one monitor under REVISE, whose file
   lacks three traces. The published points count failed verdicts as misses while their intervals leave them
   out; here both count them, and `--convention published` leaves them out of the intervals.
6. **Figure 2's bands are not of its lines.** The recall lines are on the common subset, their bands on each
   condition's own valid traces, and panel (a) is on no common subset although the caption speaks of one.
   Here line and band of a panel are of the same traces.
7. **174 traces with a human label cannot be found in the files.** 135 ready traces have one; the agreement
   figures are over those 135.
8. **RCTRL was run on the 154 traces with a right answer only**, so nothing net can be said of wrong traces;
   "93.8%" and "18.0%" are gross rates under REVISE and unweighted means over monitors.
9. **"Interior" means anything but the last numbered step**, a flag that names no step included. The report
   counts those flags apart (`no_step`).
10. **STEP did not ask about every prefix.** The public runner stopped at the first flag and after 40 steps.
    A trace is flagged by the same prefix either way, but errors beyond step 40 could not be found (one
    critical trace has its error at step 53).
11. **The pilot's agreement of 74.5% on the type of error** is that of the single most frequent category,
    not of two as worded. The pilot's files are not public; its rules are in the protocol, its numbers not
    here.
12. **One released summary is out of date:** it says 43 of 107 exact localisations for one monitor under
    BLIND, the raw file 46, and only 46 gives the printed mean of 0.261.
13. **The stored files of the false certificates are not free of text** in the authors' store, and the list
    of their targets is missing there. Neither is used: targets are the traces that occur in the files, and
    fields outside the white list are left out at import, which says so."""


RULES = """## Where our rule is another

On the released files these change nothing above but what the mismatches name; on other data they can.

- **Nothing is rounded before it is shown**, and a mean is a mean of unrounded values.
- **A failed verdict is one thing in a point and in its interval:** left out of detection, a miss for L0, L1 and
  the four places. Its count and its bounds stand beside the number. The bounds are over all traces that a monitor
  was given; the common subset drops a trace that failed under any rung, so a number on it may lie outside them.
- **A reply that contradicts itself is kept as `inconsistent`.** The published parser takes a named step for a flag
  whatever the reply says of an error. Here the reply counts for detection as it says, and is a miss for L0. A step
  outside the trace makes a reply `invalid`; the published parser checks no range.
- **STEP with an unreadable reply** before the first flag has no verdict; after it the flag stands. The published
  runner skips that step and counts the trace as failed either way.
- **The common subset** is of the rungs of BLIND, HINT, CERT, REVISE that a monitor ran, all four in the paper.
- **Each certificate condition is reported by itself**; the published code leaves out all when one is missing. The
  rival of CCONFLICT is another generator's wrong trace, the first by response label whose answer can be taken; the
  published order is not public.
- **Intervals resample questions** for every number, also where the released summaries resampled traces, and a
  monitor that has no value in a resample is left out of that resample's mean. What is undefined says why.
- **The oracle raises a false alarm** on a trace without an error whose answer is wrong. The published standard has
  none such.
- **Differences that are rounding alone** count as 0 in sign tests and in counts of monitors.
- **Families of models** for self-review are read off names where a verdict does not say (`self_review` goes
  before): `claude-fable-5` and `claude-opus-4.7` are one family.
- **Chance-corrected agreement** (kappa, alpha, AC1) stands beside the published percentages, and is undefined, with
  the reason, for one class or fewer than two traces."""


def main() -> None:
    """Write the page from FALSESTEP_SHARED's release, or the folder beside the checkout."""
    shared = Path(os.environ.get("FALSESTEP_SHARED", ROOT.parent / "shared"))
    PAGE.write_text(page(shared / "release"), encoding="utf-8")


if __name__ == "__main__":
    main()
