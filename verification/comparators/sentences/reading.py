"""Reading one response under a rule: its answer line, its status, and the claims it makes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from verification.comparators.sentences.phrases import Things, plain

EMPHASIS = " \t\r\n*_`"
UNSURE_BEFORE = r"(?:[,;:.()\-] )*"
REASONS = ("because", "since", "as", "due", "for")


@dataclass(frozen=True)
class Reading:
    """What a rule extracts: `status` None with a `problem`; claims by name, each a set of value tuples."""

    status: str | None
    claims: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    unclear: frozenset[str] = frozenset()
    problem: str = ""

    def shown(self) -> str:
        """The extraction on one line, as an audit prints it."""
        if self.status is None:
            return f"(none: {self.problem})"
        parts = [self.status]
        for name, found in self.claims.items():
            if name in self.unclear:
                parts.append(f"unclear {name}")
            elif found:
                parts += ["(" + ",".join(values) + ")" for values in found]
            else:
                parts.append(f"no {name}")
        return "(" + ", ".join(parts) + ")"


def answer_line(response: str, marker: str) -> tuple[str | None, str]:
    """Return (the text of the single line that begins with the marker, "") or (None, what is wrong)."""
    if not marker:
        return response, ""
    lines = re.findall(
        rf"^[ \t>*_`#-]*{re.escape(marker.rstrip(':'))}[*_` \t]*:(.*)$",
        response,
        re.IGNORECASE | re.MULTILINE,
    )
    if not lines:
        return None, f"no line begins with {marker}"
    if len(lines) > 1:
        return None, f"{len(lines)} lines begin with {marker}"
    if not lines[0].strip(EMPHASIS):
        return None, f"nothing follows {marker}"
    return lines[0].strip(), ""


def leading_status(
    line: str, statuses: Mapping[str, Sequence[str]], *, hedges: Sequence[str], retractions: Sequence[str]
) -> tuple[str | None, str, str]:
    """Return (status, the rest of the line, "") or (None, "", what is wrong).

    The status must be the very first words, and not be hedged, joined with another, or taken back.
    """
    text = line.lstrip(EMPHASIS)
    found = [
        (match.end(), name)
        for name, phrases in statuses.items()
        for phrase in phrases
        if (match := re.match(_phrase(phrase) + r"(?![^\W_])(?!-\w)(?!['’]\w)", text, re.IGNORECASE))
    ]
    if not found:
        return None, "", "the answer does not begin with a status"
    end, status = max(found)
    rest = text[end:]
    words = plain(rest).lower() + " "
    others = _any(tuple(phrase for name, phrases in statuses.items() if name != status for phrase in phrases))
    if re.match(r"(?:[,;:.()] )*\?", words):
        return None, "", "the status is followed by a question mark"
    joined = rf"{UNSURE_BEFORE}(?:or|and|/|vs|versus|but|then|to) (?:/ or )?(?:[^\W\d]+ ){{0,2}}?{others} "
    if others and re.match(joined, words):
        return None, "", "two statuses are given"
    because = "|".join(REASONS)
    if hedges and re.match(rf"{UNSURE_BEFORE}{_any(tuple(hedges))} (?!(?:{because}) )", words):
        return None, "", "the status is hedged"
    if (
        retractions
        and others
        and re.search(rf"(?:^| ){_any(tuple(retractions))} (?:[^\W\d]+ |, ){{0,4}}?{others} ", words)
    ):
        return None, "", "the status is taken back"
    return status, rest, ""


def _phrase(phrase: str) -> str:
    return r"[\s-]*".join(re.escape(word) for word in re.split(r"[\s-]+", phrase))


@lru_cache(maxsize=256)
def _any(phrases: tuple[str, ...]) -> str:
    texts = sorted({plain(phrase).lower() for phrase in phrases}, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(text) for text in texts) + ")" if texts else ""


def words_of(text: str, things: Things) -> str:
    """Return a text as words for patterns: asides without names gone, names in capitals, articles not."""
    words = plain(text)
    if not re.search(r"(?:^| )[A-Z](?= |$)", words):
        words = re.sub(r"(?:^|(?<= ))[b-hj-wyz](?= |$)", lambda match: match.group().upper(), words)
        words = re.sub(r"(?<= )a(?= (?:'s|and|is|by|[^\w\s])|$)", "A", words)
    words = re.sub(
        rf"(?<= )((?i:{things.noun}) )([a-z])(?= |$)",
        lambda match: match.group(1) + match.group(2).upper(),
        " " + words,
    ).strip()
    words = re.sub(rf"(?:^|(?<= ))A(?= (?i:{things.noun}|stack|tower) )", "a", words + " ").strip()
    # "(x = 369)" between a subject and its verb says nothing of names
    words = re.sub(r"\( [^()]*\) ?", lambda match: match.group() if _names(match.group()) else "", words)
    return words.strip() + " "


def _names(text: str) -> bool:
    return bool(re.search(r" [A-Z] ", text))
