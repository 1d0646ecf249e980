"""Look for anything that tells a lead, before deciding, which arm, person or model a proposal came from."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from adjudication.services.leaks import LeakReport, find_leaks
from annotation.access import study_named
from annotation.models import Role
from core.errors import UserError
from core.management.base import FalsestepCommand
from core.models import User


class Command(FalsestepCommand):
    help = "Read a study's pages as its lead and look for anything that gives a source away."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--lead", metavar="USERNAME", help="read as this lead (default: the first one)")
        parser.add_argument("--json", metavar="FILE", help="write what was found as JSON (- is stdout)")
        parser.add_argument("--limit", type=int, default=500, metavar="N", help="pages to read at most")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        lead = None
        if options["lead"]:
            lead = User.objects.filter(
                username=options["lead"], memberships__study=study, memberships__role=Role.LEAD
            ).first()
            if lead is None:
                raise UserError(f'"{options["lead"]}" is no lead of study "{study.slug}"')
        report = find_leaks(study=study, lead=lead, limit=options["limit"])
        self.write_json(options["json"], report.as_json())
        if options["json"] != "-":
            self.say("\n".join(_told(report)))
        if report.leaks:
            lines = [f"{leak.path}: {leak.what}: {leak.excerpt}" for leak in report.leaks]
            raise UserError(f"{len(lines)} leaks:\n" + "\n".join(lines))


def _told(report: LeakReport) -> list[str]:
    """What was read, in lines for a person; leaks are told as the error."""
    lines = [f"  read {number} {name}" for name, number in sorted(report.pages.items())]
    if report.skipped:
        lines.append(f"  skipped: {', '.join(sorted(report.skipped))}")
    if report.unvisited:
        lines.append(f"  {report.unvisited} pages left unread: raise --limit")
    if report.too_short:
        lines.append(f"  too short to look for: {', '.join(report.too_short)}")
    lines += [f"  in the text itself: {leak.path}: {leak.what}: {leak.excerpt}" for leak in report.in_texts]
    if not report.leaks:
        lines.append(f"no leak on {sum(report.pages.values())} pages")
    return lines
