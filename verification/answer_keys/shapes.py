"""What keys look like: which are sentences, and the templates that they follow."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from verification.comparators.sentences.templates import SLOT

WORDS = 6
LEAST_VARIANTS = 3


def is_sentence_valued(key: str) -> bool:
    """Whether a key is a sentence: no JSON container, and a semicolon or at least six word tokens in it."""
    if _is_container(key):
        return False
    return ";" in key or len(re.findall(r"[^\W_]+", key)) >= WORDS


def _is_container(key: str) -> bool:
    text = key.strip()
    if (text[:1], text[-1:]) in (("[", "]"), ("{", "}")):
        return True
    try:
        return isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True)
class FoundTemplate:
    """A template with the number of keys that follow it, its distinct strings, and the values of its slots."""

    text: str
    count: int
    distinct: int
    slots: Mapping[str, tuple[str, ...]]
    examples: tuple[str, ...] = field(default=(), compare=False)


def templates_of(keys: Iterable[str]) -> list[FoundTemplate]:
    """Reduce keys to templates with slots, the commonest first.

    A name of one capital letter or a number is a slot where it differs among keys that are otherwise the same;
    then words are, where at least three keys differ in that one place only.
    """
    counts = Counter(" ".join(key.split()) for key in keys)
    groups: dict[tuple[str, ...], list[str]] = {}
    for key in counts:
        groups.setdefault(tuple(_mask(piece) for piece in _pieces(key)), []).append(key)
    merged = _merged(groups)
    found = [_template(members, counts) for members in merged]
    return sorted(found, key=lambda one: (-one.count, one.text))


def _pieces(key: str) -> list[str]:
    return re.findall(r"[^\s;,.:()]+|[;,:()]|\.(?!\d)|\s+", key)


def _mask(piece: str) -> str:
    if re.fullmatch(r"[A-Z]", piece):
        return "\0letter"
    if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", piece):
        return "\0number"
    return piece


def _merged(groups: Mapping[tuple[str, ...], list[str]]) -> list[list[str]]:
    """Join skeletons that differ in one word only, if at least three do."""
    left = dict(groups)
    out: list[list[str]] = []
    while left:
        skeleton = min(left, key=lambda one: (-len(left[one]), one))
        best: list[tuple[str, ...]] = []
        for place, piece in enumerate(skeleton):
            if piece.isspace() or piece.startswith("\0") or place == 0:
                continue
            same = [
                other
                for other in left
                if len(other) == len(skeleton)
                and other[:place] == skeleton[:place]
                and other[place + 1 :] == skeleton[place + 1 :]
            ]
            best = max(best, same, key=len)
        joined = best if len(best) >= LEAST_VARIANTS else [skeleton]
        out.append([key for one in joined for key in left.pop(one)])
    return out


def _template(members: list[str], counts: Counter[str]) -> FoundTemplate:
    rows = [_pieces(key) for key in members]
    parts: list[str] = []
    slots: dict[str, tuple[str, ...]] = {}
    for column in zip(*rows, strict=True):
        values = sorted(set(column))
        if len(values) == 1:
            parts.append(values[0])
            continue
        name = _slot_name(parts, slots)
        slots[name] = tuple(values)
        parts.append("{" + name + "}")
    return FoundTemplate(
        text="".join(parts),
        count=sum(counts[key] for key in members),
        distinct=len(members),
        slots=slots,
        examples=tuple(sorted(members)[:10]),
    )


def _slot_name(before: list[str], taken: Mapping[str, object]) -> str:
    """Name a slot by the word before it: BLOCK, BLOCK_2."""
    words = [part for part in before if part.isalpha() and part.isascii()]
    base = words[-1].upper() if words else "VALUE"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def propose_rule(keys: Iterable[str], *, name: str) -> dict[str, object]:
    """Return the data of a rule for keys whose first words, up to a semicolon, are a status.

    A proposal: statuses and templates as found, and for each slot the words around it in the key as its only
    pattern. A person adds the ways in which people say it.
    """
    statuses: dict[str, list[str]] = {}
    templates: dict[str, str] = {}
    claims: list[dict[str, object]] = []
    for found in templates_of(key for key in keys if ";" in key):
        status, _, rest = found.text.partition(";")
        status = status.strip().lower()
        if not status or "{" in status or status in templates:
            continue
        statuses[status] = [status]
        templates[status] = found.text
        for clause in re.split(r"[;,]", rest):
            slots = SLOT.findall(clause)
            kinds = {slot: kind for slot in slots if (kind := _kind(found.slots[slot]))}
            if slots and len(kinds) == len(slots):
                claims.append(
                    {
                        "name": "-".join(slot.lower() for slot in slots),
                        "slots": kinds,
                        "required_for": [status],
                        "patterns": [_context(clause)],
                    }
                )
    nouns = sorted({slot.split("_")[0].lower() for claim in claims for slot in _slots(claim)})
    return {
        "name": name,
        "title": "Proposed from the keys; the patterns are those of the keys themselves",
        "answer_line": "",
        "statuses": statuses,
        "templates": templates,
        "things": {"nouns": nouns or ["thing"]},
        "claims": claims,
    }


def _slots(claim: dict[str, object]) -> list[str]:
    slots = claim["slots"]
    assert isinstance(slots, dict)
    return list(slots)


def _kind(values: tuple[str, ...]) -> str:
    masks = {_mask(value) for value in values}
    return {"\0number": "number", "\0letter": "thing"}.get(masks.pop(), "") if len(masks) == 1 else ""


def _context(clause: str) -> str:
    """Return a pattern: the slots of a clause with the three words before the first and those between."""
    words = clause.split()
    first = next(place for place, word in enumerate(words) if SLOT.search(word))
    last = max(place for place, word in enumerate(words) if SLOT.search(word))
    kept = [word for word in words[max(0, first - 3) : last + 1] if not re.search(r"[\[\]<>~]", word)]
    # the noun before a slot is optional to the reader of things anyway
    return " ".join(
        word
        for place, word in enumerate(kept)
        if not (place + 1 < len(kept) and SLOT.search(kept[place + 1]) and word.isalpha())
    )
