"""audit_answer_key: what a structured rule would change in the scores of stored responses; offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from annotation.imports.reading import load_object, read_bytes
from core.errors import UserError
from core.management.base import FalsestepCommand
from verification.answer_keys.audit import audit, diagnose, structure
from verification.answer_keys.inputs import read_material
from verification.answer_keys.records import BadAudit, Material, Target
from verification.answer_keys.scoring import Rescored
from verification.answer_keys.shapes import propose_rule
from verification.comparators.sentences import Rule, builtin_rules, read_rule
from verification.services.audits import LEVEL, in_force, material_of, save_audit


class Command(FalsestepCommand):
    help = (
        "Find sentence-valued keys, reduce them to templates and, with --rule, score the stored responses anew. "
        "Nothing is applied: --save keeps the audit as a proposal that somebody accepts or rejects on its page."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--keys", metavar="FILE", help="JSON Lines: item, domain, level, key, cluster")
        parser.add_argument("--responses", metavar="FILE", help="JSON Lines: item, model, response, correct")
        parser.add_argument(
            "--study", help="audit this study's own keys and traces; with files, keep it there"
        )
        parser.add_argument(
            "--rule", help=f"a JSON file, or one of: {', '.join(builtin_rules())}; without it: diagnosis only"
        )
        parser.add_argument(
            "--domain", help="the domain whose keys the rule is for (default: the only flagged)"
        )
        parser.add_argument("--level", help="its level (default: the upper level)")
        parser.add_argument("--lower", default="L4", help="the level to compare with (default L4)")
        parser.add_argument("--upper", default="L5", help="the level that is compared (default L5)")
        parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap (default 10000)")
        parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default 0)")
        parser.add_argument("--propose", metavar="FILE", help="write a proposed rule for the cell's keys")
        parser.add_argument("--save", metavar="TITLE", help="keep the audit in the study as a proposal")
        parser.add_argument("--json", metavar="FILE", help="write everything as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        if bool(options["keys"]) != bool(options["responses"]):
            raise UserError("--keys and --responses come together")
        if not options["keys"] and not options["study"]:
            raise UserError("give --keys and --responses, or --study")
        if options["save"] and not (options["study"] and options["rule"]):
            raise UserError("--save needs --study and --rule")
        if options["resamples"] < 1:
            raise UserError("--resamples must be at least 1")
        study = study_named(options["study"]) if options["study"] else None
        if options["keys"]:
            material, source = read_material(options["keys"], options["responses"])
            material = in_force(material, study) if study is not None else material
            lower, upper = options["lower"], options["upper"]
        else:
            assert study is not None
            material, source = material_of(study), {"study": study.slug}
            lower = upper = LEVEL
        found = diagnose(material)
        domain = options["domain"] or _only(found)
        level = options["level"] or upper
        result: dict[str, Any] = {"sentence_valued": found}
        quiet = options["json"] == "-"
        if not quiet:
            self.say_diagnosis(found)
        if domain is not None:
            result["structure"] = structure(material, (domain, level))
            if not quiet:
                self.say_structure(result["structure"])
            if options["propose"]:
                self.propose(material, (domain, level), options["propose"])
        if options["rule"]:
            if domain is None:
                raise BadAudit("name the --domain that the rule is for")
            rule = rule_from(options["rule"])
            summary, rescored = audit(
                material,
                rule,
                Target(domain, level, lower, upper),
                resamples=options["resamples"],
                seed=options["seed"],
            )
            result = {
                **summary,
                "responses_changed": [changed(one) for one in rescored if one.before != one.after],
            }
            if not quiet:
                self.say_summary(summary, result["responses_changed"])
            if options["save"] and study is not None:
                kept = save_audit(
                    study=study,
                    title=options["save"],
                    rule=rule,
                    summary=summary,
                    rescored=rescored,
                    source=source,
                    of_study=not options["keys"],
                )
                self.say(
                    f"kept as key audit {kept.number} of {study.slug}; nothing is applied until it is accepted"
                )
        self.write_json(options["json"], result)

    def propose(self, material: Material, cell: tuple[str, str], path: str) -> None:
        """Write a proposed rule to a file."""
        keys = [item.key for item in material.items.values() if item.cell == cell]
        rule = propose_rule(keys, name=f"{cell[0]}-{cell[1]}")
        if not rule["statuses"]:
            raise BadAudit("no rule can be proposed: no key begins with a status and a semicolon")
        try:
            Path(path).write_text(json.dumps(rule, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}") from error

    def say_diagnosis(self, rows: list[dict[str, Any]]) -> None:
        """Print the cells with sentence-valued keys."""
        if not rows:
            self.say("no key is a sentence")
        for row in rows:
            share = "-" if row["strict_accuracy"] is None else f"{100 * row['strict_accuracy']:.2f}%"
            self.say(
                f"{row['domain']} {row['level']}: {row['flagged_items']:,} of {row['items']:,} keys are sentences; "
                f"{row['strictly_correct']} of {row['evaluated_responses']} responses strictly right ({share})"
            )

    def say_structure(self, rows: list[dict[str, Any]]) -> None:
        """Print the templates of the audited cell."""
        for row in rows[:20]:
            self.say(f"{row['count']:>6,} keys, {row['distinct']} distinct: {row['template']}")
        if len(rows) > 20:
            self.say(f"       and {len(rows) - 20} more templates")

    def say_summary(self, summary: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Print scores before and after for each model, then each response that changes."""
        for side in ("before", "after"):
            base = summary["baseline"][side]
            self.say(
                f"constant answer {side}: {base['right']} of {base['of']} "
                f"({100 * base['share']:.2f}%), {base['answer']}"
            )
        for row in summary["models"]:
            parts = [
                f"{title} {_points(row['before'][name])} -> {_points(row['after'][name])}"
                for name, title in (
                    ("accuracy", "accuracy"), ("raw_upper", "raw"), ("adjusted_upper", "adjusted"),
                    ("difference", "difference"), ("overall", "overall"),
                )
            ]  # fmt: skip
            self.say(f"{row['model']}: {'; '.join(parts)}")
            if row["after"]["difference_ci"]:
                low, high = row["after"]["difference_ci"]
                self.say(
                    f"  {row['before']['verdict']} -> {row['after']['verdict']} "
                    f"(after: {_points(low)} to {_points(high)})"
                )
        self.say(f"{len(rows)} of {summary['responses']} responses change:")
        for one in rows:
            self.say(f"  {one['item']} {one['model']}: {one['before']} -> {one['after']}: {one['extracted']}")


def _only(rows: list[dict[str, Any]]) -> str | None:
    domains = {row["domain"] for row in rows}
    return domains.pop() if len(domains) == 1 else None


def _points(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:+.2f}"


def rule_from(text: str) -> Rule:
    """Return a built-in rule by name, or the rule in a JSON file."""
    if text in builtin_rules():
        return read_rule(text)
    return read_rule(load_object(text, read_bytes(Path(text))))


def changed(one: Rescored) -> dict[str, Any]:
    """Return a response whose score changes, as plain JSON."""
    return {
        "item": one.item.name,
        "model": one.response.model,
        "key": one.item.key,
        "response": one.response.text,
        "before": one.before,
        "after": one.after,
        "extracted": one.extracted,
        "reason": one.reason,
    }
