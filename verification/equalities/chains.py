"""Finding the chains a = b = c in a step's tokens, and where each side begins and ends.

A side in the middle of a chain is bounded by relations. The first and the last side border on prose, and
prose can change what they mean ("the sum of 3 and 4 = 7", "= 2 dozen"), so they are taken only where the
words or marks beside them leave no doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verification.equalities.tokens import Token
from verification.equalities.units import unit_named


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words after which an equation may begin: they neither count nor compare.
_OPENERS = _words(
    """so then thus hence therefore now get gets have has that is calculate compute evaluate find obtain
    obtains gives give giving yields yield yielding finally first second next since because as where
    means equation expression let's lets we have us write becomes become simplify simplifying simplifies
    substitute substituting solve solving check here namely i.e result answer total value indeed also
    know to see which equals by using from: use recall note notice verify with let define set denote put
    take"""
)
# Words after a result that make it another number, or leave open which of several it is.
_CONTINUING = _words(
    """hundred thousand million billion trillion dozen percent times plus minus over per squared cubed
    divided multiplied of mod modulo modulus or to remainder r units more less than degrees half halves
    third thirds quarter quarters tenths hundredths each feet foot ft inch inches in yard yards mile
    miles mi pound pounds lb lbs ounce ounces oz gallon gallons cup cups pint pints quart quarts week
    weeks day days month months year years decade decades century centuries dollar dollars cent cents
    pair pairs ton tons tonne tonnes rev revolutions turns rpm score gross power base binary hex bits
    bytes kb mb gb parts if unless when"""
)
_APPROXIMATE = _words("""approximately approx about roughly nearly almost around""")
# A clause opened by one of these states what is not claimed.
_CONDITIONAL = _words(
    """if suppose supposing assume assuming unless whether were would imagine pretend say"""
)
# A sentence with one of these may quote an equation to reject it.
_REJECTING = _words(
    """not isn't doesn't cannot can't never wrong incorrect incorrectly false mistake mistaken mistakenly
    erroneous contradiction contradicts impossible absurd instead rather wrongly misprint typo claim
    claims claimed attempt inconsistent invalid"""
)


@dataclass(frozen=True)
class Side:
    """One side of a relation; `doubt` says why its borders are uncertain, empty if they are not."""

    tokens: tuple[Token, ...]
    doubt: str = ""
    about: bool = False
    """Beside a word such as "approximately"."""

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


@dataclass(frozen=True)
class Chain:
    """Sides with the relations between them (`=`, `≈`, `?` for any other), in order."""

    sides: tuple[Side, ...]
    relations: tuple[str, ...]
    conditional: bool = False
    """Stated under a condition, or quoted to be rejected: nothing in it is checked."""


def chains_in(tokens: Sequence[Token]) -> list[Chain]:
    """Return the chains of a step in order of appearance."""
    tokens = _joined_rows(tokens)
    places = [place for place, token in enumerate(tokens) if token.kind == "relation"]
    chains: list[Chain] = []
    sides: list[Side] = []
    relations: list[str] = []
    start = first_place = 0
    for index, place in enumerate(places):
        end = places[index + 1] if index + 1 < len(places) else len(tokens)
        if not sides:
            sides = [_first_side(tokens, start, place)]
            first_place = place
        relations.append(tokens[place].text)
        middle = _middle_side(tokens, place + 1, end) if end < len(tokens) else None
        if middle is not None:
            sides.append(middle)
        else:
            sides.append(_last_side(tokens, place + 1, end))
            chains.append(Chain(tuple(sides), tuple(relations), _is_conditional(tokens, first_place, end)))
            sides, relations = [], []
            start = place + 1
    return chains


def _joined_rows(tokens: Sequence[Token]) -> list[Token]:
    """Drop row ends before a row that goes on with the same formula; keep the others as boundaries.

    A row that begins with a relation goes on with the chain; one whose first cell is empty (`& + ...`) goes
    on with the sum or product. A row that begins with an operator otherwise may be either, so it is left a
    boundary that makes both neighbours doubtful.
    """
    joined: list[Token] = []
    for place, token in enumerate(tokens):
        if token.kind == "row":
            following = next(
                (t for t in tokens[place + 1 : place + 4] if t.kind not in ("dollar", "row")), None
            )
            if following is not None and following.kind == "relation":
                continue
            aligned = token.text == "\\\\&"
            if (
                aligned
                and following is not None
                and following.kind == "operator"
                and following.text in "+-*/"
            ):
                continue
        joined.append(token)
    return joined


def _depth_step(token: Token) -> int:
    return {"open": 1, "close": -1}.get(token.kind, 0)


def _is_unit(token: Token) -> bool:
    return token.kind in ("unit", "word", "name") and token.roman and unit_named(token.text) is not None


def _ends_side(tokens: Sequence[Token], place: int, depth: int) -> bool:
    """Tell whether the token is a border at bracket depth 0: prose, punctuation, the end of a formula."""
    token = tokens[place]
    if token.kind in ("boundary", "row", "dollar"):
        return True
    if depth > 0:
        return False
    if token.kind == "comma":
        return True
    if token.kind == "word":
        return not (_is_unit(token) and place > 0 and _can_carry_unit(tokens[place - 1]))
    return False


def _can_carry_unit(token: Token) -> bool:
    return (
        token.kind in ("number", "close", "unit", "degree", "ellipsis")
        or (token.kind == "operator" and token.text in "*/")
        or (token.kind in ("name", "word") and _is_unit(token))
    )


def _middle_side(tokens: Sequence[Token], start: int, end: int) -> Side | None:
    """Return the side between two relations, or None if something between them ends the chain."""
    inner = [t for t in tokens[start:end] if t.kind != "dollar"]
    marks = sum(1 for t in tokens[start:end] if t.kind == "dollar")
    # "$A$ = $3 + 4$ = $7$": formula marks beside the relations do not divide the chain, marks inside do
    edges = sum(1 for t in (*tokens[start : start + 1], *tokens[end - 1 : end]) if t.kind == "dollar")
    if not inner or marks > edges:
        return None
    depth = 0
    unopened = False
    for place in range(len(inner)):
        depth += _depth_step(inner[place])
        if depth < 0:
            # surplus closing brackets are tolerated only at the very end
            unopened = True
            depth = 0
        elif unopened and inner[place].kind != "close":
            return None
        if _ends_side(inner, place, depth):
            return None
    trimmed = _balanced(inner)
    if trimmed is None:
        return None
    return Side(tuple(trimmed)) if trimmed else None


def _balanced(tokens: list[Token]) -> list[Token] | None:
    """Mend brackets left open at the start or closed too often at the end, as a reader does; else None."""
    opened: list[int] = []
    surplus: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind == "open":
            opened.append(place)
        elif token.kind == "close":
            if opened:
                opened.pop()
            else:
                surplus.append(place)
    if surplus != list(range(len(tokens) - len(surplus), len(tokens))):
        return None
    if opened:
        leading = 0
        while leading < len(tokens) and tokens[leading].kind == "open":
            leading += 1
        # which of the leading brackets was meant to close does not matter: they all start there
        if len(opened) > leading or opened[-1] >= leading:
            return None
        tokens = tokens[len(opened) :]
        return tokens
    return tokens[: len(tokens) - len(surplus)]


def _first_side(tokens: Sequence[Token], start: int, relation: int) -> Side:
    """Return the side before a chain's first relation, and whether what stands before it casts doubt."""
    place = relation
    if place > start and tokens[place - 1].kind == "dollar":
        place -= 1
    end = place
    depth = 0
    while place > start:
        token = tokens[place - 1]
        depth -= _depth_step(token)
        if depth < 0 or _ends_side(tokens, place - 1, depth):
            break
        place -= 1
    if place == end:
        return Side((), "nothing there")
    body = list(tokens[place:end])
    doubt = ""
    if place > 0:
        doubt = _before(tokens, place - 1, body)
    return Side(tuple(body), doubt)


def _has_operator(tokens: Sequence[Token]) -> bool:
    return any(t.kind == "operator" and t.text in "+-*/^" for t in tokens[1:]) or any(
        t.kind == "command" or t.kind == "open" for t in tokens
    )


def _before(tokens: Sequence[Token], border: int, body: Sequence[Token]) -> str:
    """Return why the token before a first side leaves its meaning open, or nothing."""
    token = tokens[border]
    previous = tokens[border - 1] if border > 0 else None
    bare = not _has_operator(body) and body[0].kind != "name"
    starts_within = body[0].kind == "operator" and body[0].text in "*/^!%"
    if starts_within:
        return "it begins in the middle"
    if token.kind == "row" or (token.kind == "boundary" and token.text not in ("|",)):
        continues = previous is not None and (
            (previous.kind == "operator" and previous.text != "!")
            or (token.text == ":" and previous.kind == "number")
        )
        return "it begins in the middle" if continues else ""
    if token.kind == "dollar":
        if previous is not None and previous.kind in (
            "operator",
            "number",
            "open",
            "close",
            "name",
            "command",
            "junk",
        ):
            return "a formula stands before it"
        if previous is not None and previous.kind == "word":
            return "" if not bare else "a bare number after prose"
        return ""
    if token.kind == "comma":
        return "a bare number in a list" if bare else ""
    if token.kind == "word":
        word = token.text.lower().replace("’", "'")
        if word in _OPENERS:
            return "a bare number after prose" if bare and word not in ("so", "then", "thus", "hence") else ""
        if word == "and" and not bare:
            return "" if _finished_before(tokens, border) else "and may join two numbers"
        return f"the word {token.text!r} before it may change it"
    if token.kind == "open":
        free = previous is None or previous.kind in ("word", "boundary", "row", "relation", "comma", "dollar")
        return "" if free else "it stands in an argument"
    return "it begins in the middle"


def _finished_before(tokens: Sequence[Token], border: int) -> bool:
    """Tell whether an equation or a comma in the same sentence ends before this "and"."""
    for place in range(border - 1, max(-1, border - 120), -1):
        token = tokens[place]
        if token.kind == "relation" or (token.kind == "comma" and place == border - 1):
            return True
        if token.kind in ("row", "boundary"):
            return False
    return False


def _last_side(tokens: Sequence[Token], start: int, end: int) -> Side:
    """Return the side after a chain's last relation, and whether what follows makes it doubtful."""
    place = start
    about = False
    if place < end and tokens[place].kind == "dollar":
        place += 1
    if place < end and tokens[place].kind == "word" and tokens[place].text.lower() in _APPROXIMATE:
        about = True
        place += 1
    first = place
    depth = 0
    while place < end:
        token = tokens[place]
        if token.kind == "open" and place + 1 < len(tokens) and _is_remark(tokens, place):
            break
        depth += _depth_step(token)
        if depth < 0:
            break
        if _ends_side(tokens, place, depth):
            if token.kind == "dollar" and place + 1 < end and _is_unit(tokens[place + 1]) and place > first:
                place += 1  # "$5.2$ kg": the unit stands after the formula
                continue
            break
        place += 1
    if place == first:
        return Side((), "nothing there")
    body = [t for t in tokens[first:place] if t.kind != "dollar"]
    mended = _balanced(body)
    if mended is None:
        return Side(tuple(body), "brackets do not match")
    doubt = ""
    if place < len(tokens):
        doubt = _after(tokens, place)
        word = tokens[place].text.lower()
        about = about or (tokens[place].kind == "word" and word in _APPROXIMATE)
    return Side(tuple(mended), doubt, about) if mended else Side((), "nothing there")


def _is_remark(tokens: Sequence[Token], place: int) -> bool:
    """Tell whether a bracket opens a remark in words ("(since ...)"), not a factor."""
    following = tokens[place + 1]
    return (
        following.kind == "word"
        and not _is_unit(following)
        and following.text.lower() not in ("mod", "modulo")
    )


def _after(tokens: Sequence[Token], place: int) -> str:
    """Return why the token after a last side leaves its meaning open, or nothing."""
    token = tokens[place]
    if token.kind == "dollar" and place + 1 < len(tokens):
        token = tokens[place + 1]
        if token.kind in ("operator", "number", "name", "command"):
            return "the formula goes on"
    if token.kind == "word" and token.text.lower() in _CONTINUING:
        return f"the word {token.text!r} after it may change it"
    if token.kind == "row" and place + 1 < len(tokens) and tokens[place + 1].kind in ("operator", "bullet"):
        return (
            ""
            if token.text == "newline" and tokens[place + 1].kind == "bullet"
            else "the next row may go on with it"
        )
    if token.kind == "open" and not _is_remark(tokens, place):
        return "a bracket follows"
    if token.kind == "boundary" and token.text == "|":
        return "a bar follows"
    return ""


def _is_conditional(tokens: Sequence[Token], relation: int, end: int) -> bool:
    """Tell whether the chain stands in a clause with a condition, or in a sentence that rejects something."""
    clause = True
    for place in range(relation - 1, max(-1, relation - 200), -1):
        token = tokens[place]
        if token.kind == "row" or (token.kind == "boundary" and token.text in (".", "?", "!", ";", "label")):
            break
        if token.kind == "comma":
            clause = False
        if token.kind == "word":
            word = token.text.lower().replace("’", "'")
            if word in _REJECTING or (clause and word in _CONDITIONAL):
                return True
            if word == "then":
                clause = False
    for place in range(relation + 1, min(len(tokens), end + 60)):
        token = tokens[place]
        if token.kind == "boundary" and token.text == "?":
            return True
        if token.kind == "row" or (token.kind == "boundary" and token.text in (".", ";", "!")):
            break
        if token.kind == "word" and token.text.lower().replace("’", "'") in _REJECTING:
            return True
    return False
