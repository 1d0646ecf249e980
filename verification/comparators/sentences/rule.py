"""Rules for structured sentences, as data: which status a key has, what must be named, and how it is said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from verification.comparators.outcome import (
    BadComparator,
    Comparison,
    different,
    equal,
    undecided,
    unreadable,
)
from verification.comparators.sentences.phrases import Things, Vocabulary
from verification.comparators.sentences.reading import Reading, answer_line, leading_status, words_of
from verification.comparators.sentences.templates import Template

FOLDER = Path(__file__).parent / "rules"
KINDS = ("thing", "group", "number")
MAX_RULE = 100_000
MAX_LINE = 2_000
FIELDS = {
    "name", "title", "answer_line", "statuses", "templates", "hedges", "retractions", "things", "words",
    "ignore", "claims",
}  # fmt: skip
CLAIM_FIELDS = {
    "name", "slots", "required_for", "patterns", "unless_before", "unless_after", "tolerance", "distinct",
}  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """Something that a response must name: its slots, and the patterns by which it may be said.

    Claims of one name are one claim that is said in several ways. A slot is a `thing`, a `group` (of which the
    lowest member counts) or a `number` with a tolerance. A match is void when the text before or after it fits
    one of the `unless` patterns. With `distinct`, a claim about a group and one of its own members is none.
    """

    name: str
    slots: Mapping[str, str]
    required_for: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]
    unless_before: tuple[re.Pattern[str], ...] = ()
    unless_after: tuple[re.Pattern[str], ...] = ()
    tolerance: Mapping[str, Fraction] = field(default_factory=dict)
    distinct: bool = True


@dataclass(frozen=True)
class Decision:
    """Whether a response is accepted for a key, why, and what was extracted from it."""

    accepted: bool
    reason: str
    reading: Reading


@dataclass(frozen=True)
class Rule:
    """A structured rule; `data` is what it was made from."""

    name: str
    title: str
    marker: str
    statuses: Mapping[str, tuple[str, ...]]
    templates: Mapping[str, Template]
    hedges: tuple[str, ...]
    retractions: tuple[str, ...]
    vocabulary: Vocabulary
    ignore: tuple[re.Pattern[str], ...]
    claims: tuple[Claim, ...]
    data: Mapping[str, Any]

    def key(self, text: str) -> tuple[str, dict[str, str]] | None:
        """Return a key's status and slot values; None if it follows no template."""
        for status, template in self.templates.items():
            values = template.match(text)
            if values is not None:
                return status, values
        return None

    def read(self, response: str) -> Reading:
        """Extract status and claims from a response; never raises, never guesses."""
        line, problem = answer_line(response, self.marker)
        if line is None:
            return Reading(None, problem=problem)
        if len(line) > MAX_LINE:
            return Reading(None, problem=f"the answer is longer than {MAX_LINE} characters")
        status, rest, problem = leading_status(
            line, self.statuses, hedges=self.hedges, retractions=self.retractions
        )
        if status is None:
            return Reading(None, problem=problem)
        wanted = [claim for claim in self.claims if status in claim.required_for]
        words = words_of(rest, self.vocabulary.things)
        for pattern in self.ignore:
            words = pattern.sub(lambda match: re.sub(r"(?:^|(?<= ))[A-Z](?= )", "one", match.group()), words)
        claims: dict[str, tuple[tuple[str, ...], ...]] = {}
        unclear = set()
        for claim in wanted:
            found, doubt = self._found(claim, words)
            claims[claim.name] = tuple(sorted({*claims.get(claim.name, ()), *found}))
            if doubt:
                unclear.add(claim.name)
        return Reading(status, claims, frozenset(unclear))

    def decide(self, key: str, response: str) -> Decision:
        """Decide whether a response says what a key says; BadComparator for a key without a template."""
        return self.judge(key, self.read(response))

    def judge(self, key: str, reading: Reading) -> Decision:
        """Decide like `decide` about a response that was read already."""
        parsed = self.key(key)
        if parsed is None:
            raise BadComparator(f"the key follows no template of the rule: {key[:120]}")
        status, values = parsed
        if reading.status is None:
            return Decision(False, reading.problem, reading)
        if reading.status != status:
            return Decision(False, f"the status is {reading.status}, not {status}", reading)
        for claim in self.claims:
            if status in claim.required_for:
                problem = _unmet(claim, values, reading)
                if problem:
                    return Decision(False, problem, reading)
        return Decision(True, "says what the key says", reading)

    def _found(self, claim: Claim, words: str) -> tuple[set[tuple[str, ...]], bool]:
        """Return the distinct value tuples that a claim's patterns find, and whether one is unclear."""
        found: set[tuple[str, ...]] = set()
        doubt = False
        for pattern in claim.patterns:
            for match in pattern.finditer(words):
                if any(one.match(words, match.end()) for one in claim.unless_after):
                    continue
                if any(one.search(words[: match.start()]) for one in claim.unless_before):
                    continue
                values = self._values(claim, match)
                if values is None:
                    continue
                one = self.vocabulary.things.one
                doubt |= bool(re.match(rf"(?:'s )?(?:or|/) (?:the )?{one}", words[match.end() :]))
                doubt |= bool(re.search(rf"{one} (?:or|/) $", words[: match.start()]))
                found.add(values)
        return found, doubt

    def _values(self, claim: Claim, match: re.Match[str]) -> tuple[str, ...] | None:
        things = self.vocabulary.things
        values: list[str] = []
        groups: list[list[str]] = []
        for name, kind in claim.slots.items():
            text = match.group(name)
            if kind == "number":
                values.append(text.replace(" ", ""))
                continue
            members = things.members(text)
            groups.append(members)
            values.append(min(members))
        if claim.distinct and any(
            set(groups[i]) & set(groups[j]) for i in range(len(groups)) for j in range(i)
        ):
            return None
        return tuple(values)


def _unmet(claim: Claim, key: Mapping[str, str], reading: Reading) -> str:
    """Return why a claim does not hold against the key, "" if it does."""
    found = reading.claims[claim.name]
    if claim.name in reading.unclear:
        return f"the {claim.name} is left open between alternatives"
    if not found:
        return f"no {claim.name} is named"
    if len(found) > 1:
        return f"{len(found)} conflicting values of the {claim.name} are named"
    for (name, kind), value in zip(claim.slots.items(), found[0], strict=True):
        want = key[name]
        if kind == "number":
            if abs(Fraction(value) - Fraction(want)) > claim.tolerance.get(name, Fraction(0)):
                return f"the {claim.name} is {value}, not {want}"
        elif value != want.strip().upper():
            shown, wanted = ",".join(found[0]), ",".join(key[slot] for slot in claim.slots)
            return f"the {claim.name} is ({shown}), not ({wanted})"
    return ""


@dataclass(frozen=True)
class SentenceRule:
    """A rule as a comparator: a key that follows no template is undecided."""

    rule: Rule

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the answer says what the key says, under the rule."""
        odd = unreadable(key, answer)
        if odd is not None:
            return odd
        try:
            decision = self.rule.decide(key, answer)
        except BadComparator as error:
            return undecided(str(error))
        reason = f"{decision.reason}; extracted {decision.reading.shown()}"
        return equal(reason) if decision.accepted else different(reason)


def builtin_rules() -> list[str]:
    """Return the names of the rules that come with the product."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@lru_cache(maxsize=16)
def _builtin(name: str) -> Rule:
    return _made(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def read_rule(data: Any) -> Rule:
    """Return a rule from its data, or a built-in one by name; BadComparator says what is wrong and where."""
    if isinstance(data, str):
        if data not in builtin_rules():
            raise BadComparator(f'no rule is called "{data}"; there are: {", ".join(builtin_rules())}')
        return _builtin(data)
    if not isinstance(data, Mapping):
        raise BadComparator("a rule is an object, or the name of a built-in one")
    if len(json.dumps(data)) > MAX_RULE:
        raise BadComparator(f"the rule is longer than {MAX_RULE} characters")
    return _made(data)


def _made(data: Mapping[str, Any]) -> Rule:
    strange = set(data) - FIELDS
    if strange:
        raise BadComparator(f'a rule has no field "{min(strange)}"')
    statuses = _statuses(data.get("statuses"))
    templates = {
        status: Template(text) for status, text in _texts_by_name(data.get("templates"), "templates").items()
    }
    for status, template in templates.items():
        if status not in statuses:
            raise BadComparator(f'the template "{status}" has no status of that name')
        template.match("")  # compiles it, and so finds a slot that stands twice
    things = data.get("things", {})
    if not isinstance(things, Mapping) or set(things) - {"nouns"}:
        raise BadComparator('"things" is an object with the list "nouns"')
    words = data.get("words", {})
    if not isinstance(words, Mapping):
        raise BadComparator('"words" must map names to lists of phrases')
    vocabulary = Vocabulary(
        {str(name): _phrases(phrases, f'words "{name}"') for name, phrases in words.items()},
        Things(_phrases(things.get("nouns", ["thing"]), "things.nouns")),
    )
    return Rule(
        name=_text(data, "name"),
        title=_text(data, "title"),
        marker=str(data.get("answer_line", "")),
        statuses=statuses,
        templates=templates,
        hedges=_phrases(data.get("hedges", []), "hedges", empty=True),
        retractions=_phrases(data.get("retractions", []), "retractions", empty=True),
        vocabulary=vocabulary,
        ignore=tuple(
            vocabulary.compile(one, {"ANY": "thing"})
            for one in _phrases(data.get("ignore", []), "ignore", empty=True)
        ),
        claims=tuple(_claims(data.get("claims", []), statuses, templates, vocabulary)),
        data=data,
    )


def _claims(
    rows: Any, statuses: Mapping[str, Any], templates: Mapping[str, Template], vocabulary: Vocabulary
) -> Iterator[Claim]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise BadComparator('"claims" must be a list')
    for place, row in enumerate(rows, start=1):
        at = f"claim {place}"
        if not isinstance(row, Mapping) or set(row) - CLAIM_FIELDS:
            raise BadComparator(f"{at} must be an object with the fields {', '.join(sorted(CLAIM_FIELDS))}")
        slots = _texts_by_name(row.get("slots"), f"{at}: slots")
        for name, kind in slots.items():
            if kind not in KINDS:
                raise BadComparator(f'{at}: the slot "{name}" must be one of {", ".join(KINDS)}')
        required = frozenset(_phrases(row.get("required_for"), f"{at}: required_for"))
        for status in required:
            if status not in statuses:
                raise BadComparator(f'{at}: there is no status "{status}"')
            lacking = set(slots) - set(templates[status].slots if status in templates else ())
            if lacking:
                raise BadComparator(f'{at}: the template "{status}" has no slot "{min(lacking)}"')

        def compiled(
            name: str, *, empty: bool = True, row: Any = row, slots: Any = slots, at: str = at
        ) -> Any:
            return [
                vocabulary.compile(one, slots)
                for one in _phrases(row.get(name, []), f"{at}: {name}", empty=empty)
            ]

        patterns = compiled("patterns", empty=False)
        for pattern in patterns:
            if set(pattern.groupindex) != set(slots):
                raise BadComparator(f"{at}: each pattern must hold each slot once")
        tolerance = row.get("tolerance", {})
        try:
            tolerances = {str(name): Fraction(str(value)) for name, value in tolerance.items()}
        except (AttributeError, ValueError, ZeroDivisionError) as error:
            raise BadComparator(f"{at}: a tolerance must be a number") from error
        yield Claim(
            name=_text(row, "name"),
            slots=slots,
            required_for=required,
            patterns=tuple(patterns),
            unless_before=tuple(re.compile(one.pattern + r"\Z") for one in compiled("unless_before")),
            unless_after=tuple(re.compile(one.pattern) for one in compiled("unless_after")),
            tolerance=tolerances,
            distinct=bool(row.get("distinct", True)),
        )


def _statuses(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not value:
        raise BadComparator('"statuses" must map each status to its phrases')
    return {str(name): _phrases(phrases, f'status "{name}"') for name, phrases in value.items()}


def _texts_by_name(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping) or not value or not all(isinstance(one, str) for one in value.values()):
        raise BadComparator(f"{where} must map names to texts")
    return {str(name): text for name, text in value.items()}


def _phrases(value: Any, where: str, *, empty: bool = False) -> tuple[str, ...]:
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or not all(isinstance(one, str) and one.strip() for one in value)
    ):
        raise BadComparator(f"{where} must be a list of texts")
    if not value and not empty:
        raise BadComparator(f"{where} must not be empty")
    return tuple(value)


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadComparator(f'"{name}" must be a text')
    return value
