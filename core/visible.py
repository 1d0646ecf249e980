"""Characters that nobody sees, made visible: what turns the reading direction, hides or controls.

A text from elsewhere may hold them to look like another text. They are shown as marks in every HTML answer, wherever
a text came from; what is stored, sent to a model, exported or put into a form again is left as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Without tab and line ends, and without the joiners that scripts and emoji are written with.
HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_HIDDEN = re.compile(f"[{HIDDEN}]")
# Searched as bytes, without what nearly all of an answer is made of: in a fiftieth of the time.
_PLAIN = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_FIRST = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b\x8e\x8f\xaa-\xae]"
    rb"|\xe2\x81[\xa0\xa6-\xa9]|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81]"
)
# Tags with quoted attributes as wholes, and what must reach the browser as it is or can hold no element.
_MARKUP = re.compile(
    r"""(<(textarea|title|script|style|option)\b(?:[^>"']|"[^"]*"|'[^']*')*>.*?</\2\s*>|<!--.*?-->|<(?:[^>"']|"[^"]*"|'[^']*')*>)""",
    re.DOTALL | re.IGNORECASE,
)
_SHORT = {
    0x202D: "left-to-right override",
    0x202E: "right-to-left override",
    0x200B: "zero width space",
}


def holds_hidden(content: bytes) -> bool:
    """Whether a text in UTF-8 holds a hidden character anywhere, be it in markup."""
    return _FIRST.search(content.translate(None, _PLAIN)) is not None


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    name = _SHORT.get(code) or unicodedata.name(match[0], "control character").lower()
    return f'<span class="mark-hidden" title="{name}">U+{code:04X}</span>'


def shown(html: str) -> str:
    """Return the HTML with a mark in the place of each hidden character of its text."""
    parts: list[str] = []
    place, formulas = 0, 0
    for markup in _MARKUP.finditer(html):
        # An element of HTML would end a formula, so that in one they are left out.
        parts += (_HIDDEN.sub("" if formulas else _mark, html[place : markup.start()]), markup[0])
        place = markup.end()
        if markup[0].startswith("<math"):
            formulas += 1
        elif markup[0].startswith("</math"):
            formulas -= 1
    parts.append(_HIDDEN.sub(_mark, html[place:]))
    return "".join(parts)


class ShowHidden:
    """Marks hidden characters in HTML answers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (
            not response.streaming
            and response.get("Content-Type", "").startswith("text/html")
            and holds_hidden(response.content)
        ):
            response.content = shown(response.content.decode(response.charset)).encode(response.charset)
            if "Content-Length" in response:
                response["Content-Length"] = str(len(response.content))
        return response
