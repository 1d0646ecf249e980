"""import_release: a text-free release, its standard and its verdicts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from core.management.base import FalsestepCommand, count
from monitoring.imports.release import import_release
from monitoring.imports.report import ReleaseReport


class Command(FalsestepCommand):
    help = "Import a text-free release (standard and verdicts) after checking it against its manifest."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", help="the folder with public_manifest.json")
        parser.add_argument("--study", required=True, help="slug of the study; it is made if there is none")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, write nothing")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        report = import_release(
            path=options["folder"], study_slug=options["study"], dry_run=options["dry_run"]
        )
        if options["json"] != "-":
            self.say("\n".join(summary(report)))
        self.write_json(options["json"], report.as_json())


def summary(report: ReleaseReport) -> list[str]:
    """Return what an import did, in lines for a person."""
    traces = f"{count(report.traces['ready'], 'ready trace')}, {report.traces['excluded']} excluded"
    if not report.new.total():
        return [
            f"nothing new: standard {report.standard} ({traces}) and "
            f"{count(report.total('verdicts'), 'verdict')} were already here"
        ]
    lines = ["dry run: nothing is written"] if report.dry_run else []
    if report.study_made:
        lines.append(f'study "{report.study}" {"would be" if report.dry_run else "is"} made')
    lines.append(
        f"standard {report.standard}: {traces}, sha256 {report.standard_sha256[:12]}..."
        + ("" if report.standard_new else " (already here)")
    )
    new = report.new
    lines.append(
        f"new: {count(new['questions'], 'question')}, {count(new['traces'], 'trace')}, "
        f"{count(new['labels'], 'label')}, {count(new['monitors'], 'monitor')}"
    )
    fresh = [file for file in report.files if file["new"]]
    if fresh:
        lines.append(
            f"batch {report.batch}: {count(new['verdicts'], 'verdict')} in {count(len(fresh), 'run')}"
        )
        lines.append(f"  {'rows':>5} {'repeats':>7} {'kept':>5} {'not ready':>9} {'not ok':>6}  file")
        lines += [
            f"  {file['rows']:>5} {file['repeats_dropped']:>7} {file['verdicts']:>5} "
            f"{file['outside_the_ready_set']:>9} {file['verdicts'] - file['outcomes'].get('ok', 0):>6}"
            f"  {file['file']}"
            for file in fresh
        ]
    if len(fresh) < len(report.files):
        lines.append(f"already here: {count(len(report.files) - len(fresh), 'verdict file')}")
    if report.fields_left_out:
        names = ", ".join(sorted(report.fields_left_out))
        lines.append(f"fields that a text-free release does not have, left out: {names}")
    if report.not_read:
        lines.append(f"in the manifest, but not read: {', '.join(report.not_read)}")
    if report.left_alone:
        lines.append(f"not in the manifest, left alone: {', '.join(report.left_alone)}")
    return lines
