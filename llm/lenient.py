"""Reads one JSON-like object of a model's text: forgiving in form, strict in meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

MAX_DEPTH = 16
_LONGEST_NUMBER = 30
_LONGEST_KEY = 200

BLANK = " \t\r\n\f\v\ufeff\u200b\u00a0\u2028\u2029"
_SPACE = re.compile(rf"[{BLANK}]*+")
QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_STRING = {
    close: re.compile(rf"(?:[^{close}\\]++|\\.)*+{close}", re.DOTALL) for close in set(QUOTES.values())
}
_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,100}+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?%?(?![\w.+\-])")
_WORD = re.compile(r"(?:true|false|null|none|undefined|yes|no|nan|[-+]?inf(?:inity)?)(?!\w)", re.IGNORECASE)
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": None,
    "yes": "yes",
    "no": "no",
}
# What must follow a quote for it to be the end of a string whose inner quotes were not escaped.
_AFTER_STRING = re.compile(rf"[{BLANK}]*+(?:[}}\]]|,[{BLANK}]*+(?:[\"'“}}]|[A-Za-z_]\w{{0,60}}+\s?:))")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[A-Za-z]++|.)", re.DOTALL)
_UNICODE = re.compile(r"u[0-9a-fA-F]{4}")
_CONTROL = {"b": " ", "f": " ", "n": "\n", "r": "\r", "t": "\t"}
# Commands that begin like a JSON escape: "\nu" in a model's JSON is a Greek letter, not a new line and "u".
_LATEX = frozenset(
    re.findall(
        r"\w+",
        "nu nabla ne neq neg ni not notin nonumber nleq ngeq nmid nparallel nearrow "
        "rho right rangle rightarrow rightleftharpoons rm rceil rfloor rvert rVert rbrace rbrack "
        "tau theta times tan tanh text textbf textit textrm texttt to tfrac tilde top triangle therefore",
    )
)


@lru_cache(maxsize=4096)
def canonical(key: str) -> str:
    """Return a key without case, blanks and punctuation: Has_Error, "has error" and hasError are one."""
    return "".join(c for c in key.casefold() if c.isalnum())


@dataclass
class Object:
    """The pairs of one object, in the order and with the repetitions of the text."""

    pairs: list[tuple[str, Any]] = field(default_factory=list)

    def values(self, name: str) -> list[Any]:
        """Return every value whose canonical key is `name`."""
        return [value for key, value in self.pairs if canonical(key) == name]


class Failure(Exception):
    """A try failed: at the end of the text, right behind a string, or elsewhere."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


class Reader:
    """One try to read an object at a position; if `loose`, unwatched strings may hold bare quotes."""

    def __init__(self, text: str, start: int, watched: frozenset[str], *, loose: bool = False) -> None:
        self.text, self.at, self.start, self.watched, self.loose = text, start, start, watched, loose
        self.repairs: set[str] = set()
        self.watched_key_seen = False
        self.doubtful = False
        self.extra_work = 0

    @property
    def work(self) -> int:
        return self.at - self.start + self.extra_work + 1

    def run(self) -> Object:
        return self._object(1)

    def _peek(self) -> str:
        """Skip blanks and return the next character, "" at the end."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def _fail(self, *, after_string: bool = False) -> Failure:
        if self.at >= len(self.text):
            return Failure("end")
        return Failure("string" if after_string else "other")

    def _object(self, depth: int) -> Object:
        self.at += 1
        result = Object()
        after_string = False
        while True:
            before = self.at
            char = self._peek()
            if char == "}":
                self.at += 1
                return result
            if result.pairs:
                if char == ",":
                    self.at += 1
                    if self._peek() == "}":
                        self.repairs.add("commas")
                        continue
                elif char in QUOTES and "\n" in self.text[before : self.at]:
                    self.repairs.add("commas")
                else:
                    raise self._fail(after_string=after_string)
            key = self._key(after_string=after_string)
            name = canonical(key)
            if self._peek() != ":":
                raise self._fail(after_string=after_string)
            if depth == 1 and name in self.watched:
                self.watched_key_seen = True
            self.at += 1
            after_string = self._peek() in QUOTES
            result.pairs.append((key, self._value(depth, loose=self.loose and name not in self.watched)))

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        result: list[Any] = []
        after_string = False
        while True:
            char = self._peek()
            if char == "]":
                self.at += 1
                return result
            if result:
                if char != ",":
                    raise self._fail(after_string=after_string)
                self.at += 1
                if self._peek() == "]":
                    self.repairs.add("commas")
                    continue
            after_string = self._peek() in QUOTES
            result.append(self._value(depth, loose=self.loose))

    def _key(self, *, after_string: bool) -> str:
        char = self._peek()
        if char in QUOTES:
            start = self.at
            key = self._string(loose=False)
            if self.at - start > _LONGEST_KEY:
                raise Failure("other")
            return key
        match = _BARE_KEY.match(self.text, self.at)
        if match is None:
            raise self._fail(after_string=after_string)
        self.at = match.end()
        self.repairs.add("keys")
        return match.group()

    def _value(self, depth: int, *, loose: bool) -> Any:
        char = self._peek()
        if char in ("{", "["):
            if depth >= MAX_DEPTH:
                raise Failure("other")
            return self._object(depth + 1) if char == "{" else self._list(depth + 1)
        if char in QUOTES:
            return self._string(loose=loose)
        match = _NUMBER.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            return self._number(match.group())
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self._fail()
        self.at = match.end()
        word = match.group()
        if word not in ("true", "false", "null"):
            self.repairs.add("literals")
        return _WORDS[word.lower()] if word.lower() in _WORDS else float(word)

    def _number(self, token: str) -> Any:
        """Return an int or float; a percentage, and a number too long to be one of ours, stay text."""
        if token.endswith("%"):
            self.repairs.add("literals")
            return token[:64]
        if len(token) > _LONGEST_NUMBER:
            return token[:64]
        try:
            return int(token)
        except ValueError:
            return float(token)

    def _string(self, *, loose: bool) -> str:
        quote = self.text[self.at]
        if quote != '"':
            self.repairs.add("quotes")
        pattern = _STRING[QUOTES[quote]]
        self.at += 1
        start = self.at
        while True:
            match = pattern.match(self.text, self.at)
            if match is None:
                self.at = len(self.text)
                raise Failure("end")
            self.at = match.end()
            if not loose:
                break
            after = _AFTER_STRING.match(self.text, self.at)
            self.extra_work += after.end() - self.at if after else 1
            if after:
                break
            self.repairs.add("inner quotes")
        raw = self.text[start : self.at - 1]
        if loose and not _balanced(raw):
            self.doubtful = True
        return self._decoded(raw)

    def _decoded(self, raw: str) -> str:
        if "\n" in raw or "\t" in raw or "\r" in raw:
            self.repairs.add("newlines")
        if "\\" not in raw:
            return raw
        text = _ESCAPE.sub(self._escape, raw)
        if any("\ud800" <= c <= "\udfff" for c in text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _escape(self, match: re.Match[str]) -> str:
        body = match.group(1)
        if _UNICODE.fullmatch(body):
            return chr(int(body[1:], 16))
        if body in ('"', "\\", "/", "'"):
            return body
        if body[0] in _CONTROL and body not in _LATEX and not (body[0] in "bf" and len(body) > 1):
            return _CONTROL[body[0]] + body[1:]
        self.repairs.add("escapes")
        return "\\" + body


def _balanced(text: str) -> bool:
    """Whether braces open before they close and all close: a quoted object, not a swallowed end of one."""
    depth = 0
    for char in text:
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def descend(value: Any, name: str, *, skip: frozenset[str] = frozenset()) -> Iterator[tuple[Object, int]]:
    """Yield the outermost objects within `value` that have the canonical key `name`, and their depth.

    They come in the order of the text; values under keys in `skip` are not looked into.
    """
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, Object):
            if item.values(name):
                yield item, depth
                continue
            children = [v for k, v in item.pairs if canonical(k) not in skip]
        elif isinstance(item, list):
            children = item
        else:
            continue
        stack.extend((child, depth + 1) for child in reversed(children))
