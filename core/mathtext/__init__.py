"""Mathematical text: Markdown with LaTeX as safe HTML with MathML. The stored text is never altered.

`render` is for running text (paragraphs, lists, tables), `render_inline` for one line such as an answer. Both
are total: any text gives HTML, a formula that cannot be read shows its source in a box.
"""

from __future__ import annotations

from functools import lru_cache

from core.mathtext.clean import clean
from core.mathtext.markup import to_html

CACHED_TEXTS = 4096
CACHED_LENGTH = 20_000

__all__ = ["render", "render_inline"]


def render(text: str) -> str:
    """Return safe HTML (paragraphs) of Markdown with LaTeX."""
    return _cached(text, False) if len(text) <= CACHED_LENGTH else _render(text, False)


def render_inline(text: str) -> str:
    """Return safe HTML of one line of Markdown with LaTeX, without a paragraph around it."""
    return _cached(text, True) if len(text) <= CACHED_LENGTH else _render(text, True)


def _render(text: str, inline: bool) -> str:
    return clean(to_html(text, inline=inline))


_cached = lru_cache(maxsize=CACHED_TEXTS)(_render)
