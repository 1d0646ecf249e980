"""Calculate what grading error does to scores, and what correcting or avoiding it costs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from core.errors import UserError
from core.management.base import FalsestepCommand
from verification import grading


class Command(FalsestepCommand):
    help = (
        "Calculate with an imperfect grader. alpha: share of invalid work accepted; beta: share of valid "
        "work rejected. Give the values that you have; what follows from them is printed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--theta", type=float, help="true share of valid work")
        parser.add_argument("--alpha", type=float, help="share of invalid work that is accepted")
        parser.add_argument(
            "--beta", type=float, default=0.0, help="share of valid work rejected (default 0)"
        )
        parser.add_argument("--observed", type=float, help="observed share of accepted work, to be corrected")
        parser.add_argument(
            "--against",
            type=float,
            nargs=3,
            metavar=("THETA", "ALPHA", "BETA"),
            help="a second system to rank",
        )
        parser.add_argument(
            "--sample", nargs=3, metavar=("FAMILIES", "PER_FAMILY", "RHO"), help="effective sample size"
        )
        parser.add_argument(
            "--break-even",
            type=float,
            nargs=4,
            metavar=("FIXED", "UNRESOLVED", "EXPERT", "CHECK"),
            help="number of items from which checking certificates pays",
        )
        parser.add_argument(
            "--json", metavar="FILE", help="write the results as JSON (- for standard output)"
        )

    def run(self, **options: Any) -> None:
        results = calculate(options)
        if not results:
            raise UserError(
                "nothing to calculate: give --alpha with --theta or --observed, --sample or --break-even"
            )
        if options["json"] != "-":
            for name, value in results.items():
                self.say(
                    f"{name.replace('_', ' ')}: {value:.6g}"
                    if isinstance(value, float)
                    else f"{name}: {value}"
                )
        self.write_json(options["json"], results)


def calculate(options: dict[str, Any]) -> dict[str, float | bool]:
    """Return every quantity that the given options determine; UserError outside a formula's domain."""
    results: dict[str, float | bool] = {}
    theta, alpha, beta = options["theta"], options["alpha"], options["beta"]
    if theta is not None and alpha is not None:
        results["observed_score"] = grading.observed_score(theta, alpha, beta)
        results["gradient_shift"] = grading.gradient_shift(theta, alpha, beta)
        if options["against"]:
            results["observed_score_against"] = grading.observed_score(*options["against"])
            results["reversed"] = grading.is_reversed((theta, alpha, beta), tuple(options["against"]))
    elif options["against"]:
        raise UserError("--against needs --theta and --alpha of the first system")
    if options["observed"] is not None:
        if alpha is None:
            raise UserError("--observed needs --alpha")
        results["corrected_score"] = grading.corrected_score(options["observed"], alpha, beta)
        results["variance_factor"] = grading.variance_factor(alpha, beta)
    if options["sample"]:
        try:
            families, per_family, rho = (
                int(options["sample"][0]),
                int(options["sample"][1]),
                float(options["sample"][2]),
            )
        except ValueError as error:
            raise UserError("--sample takes two whole numbers and a correlation") from error
        results["effective_sample_size"] = grading.effective_sample_size(families, per_family, rho)
    if options["break_even"]:
        results["break_even"] = grading.break_even(*options["break_even"])
    return results
