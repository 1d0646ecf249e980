"""Compute a study's report against a standard: print its tables, write JSON, CSV, LaTeX and figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.access import study_named
from annotation.models import Study
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring.report.build import build_named
from monitoring.report.cells import as_text
from monitoring.report.compare import changed_labels, comparison, comparison_tables
from monitoring.report.csvs import csv_files
from monitoring.report.latex import latex_file
from monitoring.report.macros import macros_file
from monitoring.report.methods import methods_latex, methods_text
from monitoring.report.queries import document_of, standard_for
from monitoring.report.released import read_release
from monitoring.report.selection import LENGTHS, Selection, choices
from monitoring.report.services import compute_report
from monitoring.report.tables import tables
from stats.report import CONVENTIONS, OWN, Options

SELECTING = ("generator", "subject", "length")
PRINTED = ("detection_", "localisation_")
TEXTS = ("json", "latex", "macros", "methods")  # - writes one of them to standard output

MOST_RESAMPLES = 100_000


def not_negative(text: str) -> int:
    """Read an integer that is not negative; argparse turns the error into usage and status 2."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def resamples(text: str) -> int:
    """Read a number of resamples: memory grows with it, and a hundred thousand settle every digit shown."""
    number = not_negative(text)
    if number > MOST_RESAMPLES:
        raise argparse.ArgumentTypeError(f"at most {MOST_RESAMPLES}")
    return number


class Command(FalsestepCommand):
    help = __doc__

    def add_arguments(self, parser: Any) -> None:
        origin = parser.add_mutually_exclusive_group(required=True)
        origin.add_argument("--study", metavar="SLUG")
        origin.add_argument(
            "--from-release",
            metavar="DIR",
            help="a text-free release, read as it lies there; needs no database",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--standard", type=int, metavar="N", help="version; the newest by default")
        which.add_argument(
            "--compare",
            type=int,
            nargs=2,
            metavar=("STANDARD_A", "STANDARD_B"),
            help="score the same verdicts against two standards; takes --json alone beside it",
        )
        parser.add_argument(
            "--json", metavar="FILE", help="the whole report, unrounded (- is standard output)"
        )
        parser.add_argument("--csv", metavar="DIR", help="one file per section, unrounded")
        parser.add_argument("--latex", metavar="FILE", help="tables for a paper that loads booktabs (or -)")
        parser.add_argument(
            "--macros", metavar="FILE", help="the numbers as LaTeX macros, for the text of a paper"
        )
        parser.add_argument(
            "--methods", metavar="FILE", help="a methods paragraph with the study's own numbers (.tex: LaTeX)"
        )
        parser.add_argument("--figures", metavar="DIR", help="SVG, PDF and PNG, with text alternatives")
        parser.add_argument("--generator", default="", metavar="NAME", help="only traces that it wrote")
        parser.add_argument("--subject", default="", metavar="NAME", help="only questions on it")
        parser.add_argument(
            "--length",
            default="",
            choices=[name for name, *_ in LENGTHS],
            help="only traces of so many steps",
        )
        parser.add_argument("--resamples", type=resamples, default=2000)
        parser.add_argument("--seed", type=not_negative, default=0)
        parser.add_argument(
            "--convention",
            choices=CONVENTIONS,
            default=OWN,
            help="`published` takes the intervals of the paper where its rule differs from ours",
        )

    def run(self, **options: Any) -> None:
        _check_standard_output(options)
        self.progress = bool(getattr(self.stderr, "isatty", lambda: False)())
        if options["compare"]:
            self._compare(options)
            return
        if options["from_release"]:
            report = self._released(options)
        else:
            study = study_named(options["study"])
            report = self._report(study, standard_for(study, options["standard"]), options)
        written = self._write(report, options)
        if not any(options[name] == "-" for name in TEXTS):
            self._print(report)
            for path in written:
                self.say(f"wrote {path}")

    def _report(self, study: Study, standard: ReferenceStandard, options: dict[str, Any]) -> dict[str, Any]:
        stored = compute_report(
            study=study,
            standard=standard,
            resamples=options["resamples"],
            seed=options["seed"],
            convention=options["convention"],
            selection=_selection(standard, options),
            progress=self._tell,
        )
        self._tell("")
        return document_of(stored)

    def _released(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["standard"]:
            raise UserError("a release holds one standard; leave --standard away")
        for name in SELECTING:
            if options[name]:
                raise UserError(f"--{name} selects traces of a study; import the release to use it")
        release = read_release(options["from_release"])
        chosen = Options(
            resamples=options["resamples"], seed=options["seed"], convention=options["convention"]
        )
        named = {"study": release.name, "version": 1, "sha256": release.sha256}
        report = build_named(release.source, named, chosen, progress=self._tell)
        self._tell("")
        return report

    def _compare(self, options: dict[str, Any]) -> None:
        if not options["study"]:
            raise UserError("--compare needs --study: a release holds one standard")
        for name in ("csv", "latex", "macros", "methods", "figures"):
            if options[name]:
                raise UserError(f"--compare writes --json alone, not --{name}")
        study = study_named(options["study"])
        standards = [standard_for(study, version) for version in options["compare"]]
        before, after = (self._report(study, standard, options) for standard in standards)
        changed = changed_labels(*standards)
        self.write_json(options["json"], comparison(before, after, changed=changed))
        if options["json"] == "-":
            return
        first, second = options["compare"]
        self.say(f"{study.slug}: standard {first} and standard {second}; {count(changed, 'label')} differ")
        for table in comparison_tables(before, after):
            self.say()
            self.say(as_text(table))

    def _tell(self, part: str) -> None:
        """Show a person at a terminal what is being computed; the last call clears the line."""
        if self.progress:
            self.stderr.write(f"\r{part:<30}", ending="" if part else "\r")

    def _write(self, report: dict[str, Any], options: dict[str, Any]) -> list[str]:
        written = []
        self.write_json(options["json"], report)
        if options["json"] and options["json"] != "-":
            written.append(options["json"])
        if options["csv"]:
            folder = Path(options["csv"])
            for name, content in csv_files(report).items():
                written.append(str(write_text(folder / name, content)))
        for name, made in (("latex", latex_file), ("macros", macros_file)):
            if options[name]:
                written += self._put(options[name], made(report))
        if options["methods"]:
            made = methods_latex if options["methods"].endswith(".tex") else methods_text
            written += self._put(options["methods"], made(report))
        if options["figures"]:
            from monitoring.report.figures import write_figures  # matplotlib is heavy and seldom wanted

            written += [str(path) for path in write_figures(report, Path(options["figures"]))]
        return written

    def _put(self, path: str, content: str) -> list[str]:
        """Write a text to a file, or to standard output where that is asked for; return what to tell of."""
        if path == "-":
            self.stdout.write(content, ending="" if content.endswith("\n") else "\n")
            return []
        return [str(write_text(Path(path), content))]

    def _print(self, report: dict[str, Any]) -> None:
        reference, bootstrap = report["reference"], report["bootstrap"]
        self.say(
            f"{reference['study']}, standard {reference['version']} (sha256 {reference['sha256'][:12]}): "
            f"{reference['traces']} traces of {reference['questions']} questions: "
            f"{reference['clean']} clean, {reference['wrong']} wrong, {reference['critical']} critical"
        )
        if "selection" in reference:
            self.say(f"only {Selection(**reference['selection']).words}")
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


def _selection(standard: ReferenceStandard, options: dict[str, Any]) -> Selection:
    """Return what is selected; UserError where the standard has no such trace."""
    selection = Selection(**{name: options[name] for name in SELECTING})
    known = choices(standard, generators=True)
    for name, there in (("generator", known.generators), ("subject", known.subjects)):
        if options[name] and options[name] not in there:
            raise UserError(
                f'no trace of the {name} "{options[name]}"; there are: {", ".join(there) or "none"}'
            )
    ready = standard.labels.filter(selection.on_labels(), status=StandardLabel.Status.READY)
    if selection.parts and not ready.exists():
        raise UserError(f"standard {standard.version} has no {selection.words}")
    return selection


def _check_standard_output(options: dict[str, Any]) -> None:
    """Refuse `-` where a folder belongs, and for more than one text."""
    for name in ("csv", "figures"):
        if options[name] == "-":
            raise UserError(f"--{name} writes files into a folder, not to standard output")
    asked = [name for name in TEXTS if options[name] == "-"]
    if len(asked) > 1:
        raise UserError(f"standard output takes one text, not {' and '.join(f'--{name}' for name in asked)}")


def write_text(path: Path, content: str) -> Path:
    """Write a file, making its folder; UserError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    return path
