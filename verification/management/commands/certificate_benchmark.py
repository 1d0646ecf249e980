"""Compare three ways of grading on families of quadratic programmes with valid and defective submissions."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from core.management.base import FalsestepCommand
from verification.certificates import run_benchmark

_TITLES = {
    "final_answer": "final-answer matching",
    "reference_path": "strict reference-path matching",
    "certificate": "certificate verification",
}


class Command(FalsestepCommand):
    help = "Judge six submissions per family under three protocols, in exact rational arithmetic."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--families", type=int, default=600, help="number of programmes (default 600)")
        parser.add_argument("--seed", type=int, default=0, help="seed of the generator (default 0)")
        parser.add_argument("--json", metavar="FILE", help="write the counts as JSON (- for standard output)")

    def run(self, **options: Any) -> None:
        result = run_benchmark(families=options["families"], seed=options["seed"])
        if options["json"] != "-":
            self.print_table(result)
        self.write_json(options["json"], result)

    def print_table(self, result: dict[str, Any]) -> None:
        """Print the counts per protocol, and how often the residual bound held."""
        submissions = result["submissions"]
        accepted = f"false acceptances of {submissions['invalid']:,}"
        rejected = f"false rejections of {submissions['valid']:,}"
        self.say(f"{'protocol':<32}{accepted:>30}{rejected:>30}")
        for name, title in _TITLES.items():
            counts = result["protocols"][name]
            self.say(f"{title:<32}{counts['false_acceptances']:>30,}{counts['false_rejections']:>30,}")
        bound = result["residual_bound"]
        self.say(
            f"{bound['held']:,} of {bound['checked']:,} feasible perturbations satisfy the residual bound."
        )
        self.say(f"{submissions['invalid_with_right_value']:,} invalid submissions report the right value.")
