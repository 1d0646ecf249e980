"""pilot_agreement: how alike a pilot's annotators used the instrument, and which of its fields are usable."""

from __future__ import annotations

import math
from typing import Any

from django.core.management.base import CommandParser

from annotation import pilot
from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from stats.agreement import Coefficient


class Command(FalsestepCommand):
    help = "Compare the annotators of a study field by field: pairs, exact and near steps, modal values."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument(
            "--least-agreement",
            type=float,
            default=pilot.LEAST_AGREEMENT,
            metavar="SHARE",
            help="pairwise agreement from which a field is usable (0.8)",
        )
        parser.add_argument(
            "--largest-share",
            type=float,
            default=pilot.LARGEST_SHARE,
            metavar="SHARE",
            help="share of one value from which a field tells almost nothing (0.9)",
        )
        parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        for name in ("least_agreement", "largest_share"):
            if not 0 <= options[name] <= 1:
                raise UserError(f"--{name.replace('_', '-')} is a share, 0 to 1")
        found = pilot.report(
            study_named(options["study"]),
            least_agreement=options["least_agreement"],
            largest_share=options["largest_share"],
        )
        if options["json"] != "-":
            self.say("\n".join(summary(found)))
        self.write_json(options["json"], pilot.as_json(found))


def summary(found: pilot.PilotReport) -> list[str]:
    """Return the agreement in lines for a person."""
    agreement = found.agreement
    who = ", ".join(found.annotators) or "nobody"
    lines = [
        f"{count(agreement.items, 'trace')} judged by all of {count(len(found.annotators), 'annotator')}: {who}"
    ]
    lines += [
        f"left out, not finished: {name} ({done} of {found.traces})" for name, done in found.left_out.items()
    ]
    fields = {
        "final answer": agreement.final_correct,
        "presence of an error": agreement.error_presence,
        **{name.replace("_", " "): field for name, field in agreement.others.items()},
    }
    for name, field in fields.items():
        lines.append(
            f"{name}: {_said(field.percent)} of {count(field.pairs, 'pair')}, alpha {_said(field.alpha)}, "
            f"AC1 {_said(field.ac1)}; modal value on {_said(field.modal.share)} of {field.modal.share.n}"
        )
    lines.append(
        f"step, where both named one ({count(agreement.exact_step.n, 'pair')}): exact "
        f"{_said(agreement.exact_step)}, within one {_said(agreement.step_within_one)}"
    )
    lines.append(
        f"unanimous on the final answer: {_said(agreement.unanimous)} of {count(agreement.unanimous.n, 'trace')}"
    )
    for judged in found.fields:
        verdict = "usable" if judged.usable else "not usable: " + "; ".join(judged.reasons)
        lines.append(f"{judged.field}: {verdict}")
    return lines


def _said(found: Coefficient) -> str:
    return f"undefined ({found.reason})" if math.isnan(found.value) else f"{found.value:.3f}"
