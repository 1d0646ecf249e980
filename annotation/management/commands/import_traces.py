"""import_traces: questions with traces, in our own JSON Lines or a published format."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.imports import formats
from annotation.imports.traces import TracesReport, import_traces
from core.errors import ImportRefused
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = "Import questions with their traces: all of a file or nothing of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines, one JSON array, or HLE's Parquet")
        parser.add_argument("--study", required=True, help="slug of the study; it is made if there is none")
        parser.add_argument(
            "--name", default="", help="what people see a study that is made by; its slug if not given"
        )
        parser.add_argument("--format", choices=formats.NAMES, default=formats.AUTO)
        parser.add_argument("--pilot", action="store_true", help="a study that is made is a pilot")
        parser.add_argument(
            "--review", metavar="FILE", help="HLE questions to drop or exclude: question_id, reason, action"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, write nothing")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        report = import_traces(
            path=options["file"],
            study_slug=options["study"],
            format=options["format"],
            review=options["review"],
            pilot=options["pilot"],
            name=options["name"],
            dry_run=options["dry_run"],
        )
        if options["json"] != "-":
            self.say("\n".join(summary(report)))
        self.write_json(options["json"], report.as_json())
        if report.bad:
            raise ImportRefused(report.file, report.bad)


def summary(report: TracesReport) -> list[str]:
    """Return what an import did, in lines for a person."""
    lines = []
    new, same = report.new, report.same
    if report.dry_run:
        lines.append("dry run: nothing is written")
    if report.study_made:
        lines.append(f'study "{report.study}" {"would be" if report.dry_run else "is"} made')
    if not new.total() and not report.bad:
        number, noun = (same["questions"], "question") if report.funnel else (same["traces"], "trace")
        lines.append(f"nothing new: {count(number, noun)} {'was' if number == 1 else 'were'} already here")
    else:
        parts = [
            count(new["questions"], "question"),
            count(new["traces"], "trace"),
            count(new["labels"], "label"),
        ]
        lines.append(f"new: {', '.join(parts)} ({report.format})")
        lines.append(
            f"already here: {count(same['questions'], 'question')}, {count(same['traces'], 'trace')}"
        )
    if report.labelled:
        lines.append(
            f"{count(report.labelled, 'labelled trace')} in the file, {report.with_error} with an error"
        )
    for reason, number in report.passed_over.items():
        lines.append(f"passed over: {count(number, 'row')} ({reason})")
    if report.review:
        lines.append(
            f"for review, kept as they are ({len(report.review)}; their labels say so in the comment):"
        )
        lines += [
            f"  line {item.line}: {item.question_id}/{item.response_label}: {item.reason}"
            for item in report.review
        ]
    if report.funnel:
        lines += [f"{number:>7,}  {stage}" for stage, number in report.funnel.stages()]
        lines += [f"  dropped {who}: {why}" for who, why in report.funnel.dropped.items()]
        lines += [f"  excluded {who}: {why}" for who, why in report.funnel.excluded.items()]
    if report.dry_run:
        what = "questions" if report.funnel else "traces"
        lines.append(
            f"{what}: new {new[what]}, skipped {report.skipped}; rows: conflicting {report.conflicting}, "
            f"malformed {len(report.bad) - report.conflicting}"
        )
    return lines
