"""The report's tables as LaTeX, for a paper that loads booktabs and graphicx."""

from __future__ import annotations

import re
from typing import Any

from monitoring.report.cells import MINUS, Cell, Table, plain
from monitoring.report.tables import tables

ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": r"$-$",
    "–": "--",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "ρ": r"$\rho$",
    "≥": r"$\ge$",
}
_SPECIAL = re.compile("|".join(map(re.escape, ESCAPES)))


def escape(text: str) -> str:
    """Return text that LaTeX sets as it stands."""
    return _SPECIAL.sub(lambda match: ESCAPES[match[0]], text)


# Characters that fit across a page; a table that is wider has its intervals under the numbers.
ACROSS = 104
_NUMBER = re.compile(r"[+−]?\d+(\.\d+)?|\[[-+−.\d, ]+\]")


def _typeset(text: str) -> str:
    """Numbers and intervals stand in math mode, where a minus is a minus."""
    return f"${text.replace(MINUS, '-')}$" if _NUMBER.fullmatch(text) else escape(text)


def _small(interval: str) -> str:
    return rf"{{\footnotesize {_typeset(interval)}}}" if interval else ""


def _row(row: tuple[Cell, ...], *, stacked: bool) -> list[str]:
    texts, intervals = [_typeset(cell.text) for cell in row], [_small(cell.interval) for cell in row]
    if not stacked:
        cells = (f"{text} {interval}".strip() for text, interval in zip(texts, intervals, strict=True))
        return [" & ".join(cells) + r" \\"]
    under = [" & ".join(intervals) + r" \\"] if any(intervals) else []
    return [" & ".join(texts) + r" \\", *under]


def as_latex(table: Table) -> str:
    """Typeset one table: a `table` with caption and label, rules of booktabs, never wider than the text."""
    shown = [list(table.columns), *([str(cell) for cell in row] for row in table.rows)]
    stacked = sum(max(map(len, column)) + 2 for column in zip(*shown, strict=True)) > ACROSS
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {escape(plain(table.note))}}}",
        rf"\label{{tab:{table.key.replace('_', '-')}}}",
        r"\smallskip",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for _, number in table.heads)}}}",
        r"\toprule",
        " & ".join(map(escape, table.columns)) + r" \\",
        r"\midrule",
    ]
    for is_total, row in table.body:
        if is_total:
            lines.append(r"\midrule")
        lines += _row(row, stacked=stacked)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}"])


def latex_file(report: dict[str, Any]) -> str:
    """Return all tables of a report in one file, headed by what they were computed from."""
    reference, bootstrap = report["reference"], report["bootstrap"]
    head = [
        f"% study {reference['study']}, standard {reference['version']}, sha256 {reference['sha256']}",
        f"% verdicts sha256 {report['verdicts']['sha256']}",
        f"% {bootstrap['resamples']} resamples of {bootstrap['clusters']} questions, "
        f"seed {bootstrap['seed']}, convention {bootstrap['convention']}",
        "% needs \\usepackage{booktabs,graphicx}",
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(map(as_latex, tables(report))) + "\n"
