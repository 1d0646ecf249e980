"""Compute a study's report against a standard: print its tables, write JSON, CSV, LaTeX and figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand
from monitoring.report.csvs import csv_files
from monitoring.report.latex import latex_file
from monitoring.report.queries import document_of, standard_for
from monitoring.report.services import compute_report
from monitoring.report.tables import as_text, tables
from stats.report import CONVENTIONS, OWN

PRINTED = ("detection_", "localisation_")


def not_negative(text: str) -> int:
    """Read an integer that is not negative; argparse turns the error into usage and status 2."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


class Command(FalsestepCommand):
    help = __doc__

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--standard", type=int, metavar="N", help="version; the newest by default")
        parser.add_argument(
            "--json", metavar="FILE", help="the whole report, unrounded (- is standard output)"
        )
        parser.add_argument("--csv", metavar="DIR", help="one file per section, unrounded")
        parser.add_argument("--latex", metavar="FILE", help="tables for a paper that loads booktabs")
        parser.add_argument("--figures", metavar="DIR", help="SVG, PDF and PNG, with text alternatives")
        parser.add_argument("--resamples", type=not_negative, default=2000)
        parser.add_argument("--seed", type=not_negative, default=0)
        parser.add_argument(
            "--convention",
            choices=CONVENTIONS,
            default=OWN,
            help="`published` takes the intervals of the paper where its rule differs from ours",
        )

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        standard = standard_for(study, options["standard"])
        stored = compute_report(
            study=study,
            standard=standard,
            resamples=options["resamples"],
            seed=options["seed"],
            convention=options["convention"],
        )
        report = document_of(stored)
        written = self._write(report, options)
        if options["json"] != "-":
            self._print(report)
            for path in written:
                self.say(f"wrote {path}")

    def _write(self, report: dict[str, Any], options: dict[str, Any]) -> list[str]:
        written = []
        self.write_json(options["json"], report)
        if options["json"] and options["json"] != "-":
            written.append(options["json"])
        if options["csv"]:
            folder = Path(options["csv"])
            for name, content in csv_files(report).items():
                written.append(str(write_text(folder / name, content)))
        if options["latex"]:
            written.append(str(write_text(Path(options["latex"]), latex_file(report))))
        if options["figures"]:
            from monitoring.report.figures import write_figures  # matplotlib is heavy and seldom wanted

            written += [str(path) for path in write_figures(report, Path(options["figures"]))]
        return written

    def _print(self, report: dict[str, Any]) -> None:
        reference, bootstrap = report["reference"], report["bootstrap"]
        self.say(
            f"{reference['study']}, standard {reference['version']} (sha256 {reference['sha256'][:12]}): "
            f"{reference['traces']} traces of {reference['questions']} questions: "
            f"{reference['clean']} clean, {reference['wrong']} wrong, {reference['critical']} critical"
        )
        self.say(
            f"intervals: 95%, {bootstrap['resamples']} resamples of the questions, seed {bootstrap['seed']}, "
            f"convention {bootstrap['convention']}"
        )
        if "detection" not in report:
            self.say("no monitor has run yet, so there is nothing to score")
        for table in tables(report):
            if table.key.startswith(PRINTED):
                self.say()
                self.say(as_text(table))
        for warning in report["warnings"]:
            self.say()
            self.say(f"warning: {warning['text']}")


def write_text(path: Path, content: str) -> Path:
    """Write a file, making its folder; UserError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    return path
