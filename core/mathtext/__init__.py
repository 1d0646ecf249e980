"""Mathematical text: Markdown with LaTeX as safe HTML with MathML. The stored text is never altered.

`render` is for running text (paragraphs, lists, tables), `render_inline` for one line such as an answer. Both
are total: any text gives HTML, a formula that cannot be read shows its source in a box.
"""

from __future__ import annotations

from functools import lru_cache

from core.mathtext.clean import clean
from core.mathtext.markup import to_html
from core.mathtext.scan import Formula, split

CACHED_TEXTS = 4096
CACHED_LENGTH = 20_000

__all__ = ["excerpt", "render", "render_inline"]


def render(text: str) -> str:
    """Return safe HTML (paragraphs) of Markdown with LaTeX."""
    return _cached(text, False) if len(text) <= CACHED_LENGTH else _render(text, False)


def render_inline(text: str) -> str:
    """Return safe HTML of one line of Markdown with LaTeX, without a paragraph around it."""
    return _cached(text, True) if len(text) <= CACHED_LENGTH else _render(text, True)


def excerpt(text: str, length: int = 140) -> str:
    """Return the beginning of a text on one line, about `length` characters, for `render_inline`.

    Cut between words and never inside a formula; displayed formulas stand in the line.
    """
    line = ""
    for piece in split(text):
        if isinstance(piece, Formula):
            tex = " ".join(piece.tex.split())
            part, words = rf"\({tex}\)", [rf"\({tex}\)"]
        else:
            part = " ".join(piece.split())
            words = part.split(" ")
            part = (" " if piece[:1].isspace() else "") + part + (" " if piece[-1:].isspace() else "")
        if len(line) + len(part) <= length:
            line += part
            continue
        for number, word in enumerate(words):
            if line and len(line) + 1 + len(word) > length:
                break
            gap = " " if number or (not isinstance(piece, Formula) and piece[:1].isspace()) else ""
            line += gap + word
        return line.strip() + " …"
    return " ".join(line.split())


def _render(text: str, inline: bool) -> str:
    return clean(to_html(text, inline=inline))


_cached = lru_cache(maxsize=CACHED_TEXTS)(_render)
