"""The report's tables as LaTeX, for a paper that loads booktabs."""

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


def _cell(cell: Cell) -> str:
    if not cell.number:
        return escape(cell.text)
    # Numbers stand in math mode, where a minus is a minus.
    shown = f"${_plain(cell.text)}$" if cell.text[:1] in "+−0123456789" else escape(cell.text)
    return f"{shown} {{\\footnotesize ${_plain(cell.interval)}$}}" if cell.interval else shown


def _plain(number: str) -> str:
    return number.replace(MINUS, "-")


def as_latex(table: Table) -> str:
    """Typeset one table: a `table` with caption and label, rules of booktabs."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {escape(plain(table.note))}}}",
        rf"\label{{tab:{table.key.replace('_', '-')}}}",
        rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for _, number in table.heads)}}}",
        r"\toprule",
        " & ".join(map(escape, table.columns)) + r" \\",
        r"\midrule",
    ]
    for is_total, row in table.body:
        if is_total:
            lines.append(r"\midrule")
        lines.append(" & ".join(map(_cell, row)) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def latex_file(report: dict[str, Any]) -> str:
    """Return all tables of a report in one file, headed by what they were computed from."""
    reference, bootstrap = report["reference"], report["bootstrap"]
    head = [
        f"% study {reference['study']}, standard {reference['version']}, sha256 {reference['sha256']}",
        f"% verdicts sha256 {report['verdicts']['sha256']}",
        f"% {bootstrap['resamples']} resamples of {bootstrap['clusters']} questions, "
        f"seed {bootstrap['seed']}, convention {bootstrap['convention']}",
        "% needs \\usepackage{booktabs}",
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(map(as_latex, tables(report))) + "\n"
