"""Turns one formula into MathML, or into its own source in a box when it cannot be read."""

from __future__ import annotations

import re
from html import escape

from math_core import LatexError, LatexToMathML

from core.mathtext.tex import rewrite

MAX_LENGTH = 10_000
MAX_BRACES = 60
MAX_COMMANDS = 500  # the converter nests at most once a command; 800 overflow a stack of 1 MB
MAX_DEPTH = 200

# A definition could multiply its text without bound, and it reaches no other formula anyway.
_DEFINITION = re.compile(
    r"\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand|DeclareMathOperator|csname|catcode|input|"
    r"include|write|openout|read)(?![A-Za-z])"
)
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)", re.DOTALL)
_FENCES = re.compile(
    r"\\(?P<stretched>left|middle|right)(?![A-Za-z])\s*(?:\\(?:[A-Za-z]+|.)|.)|\\(?:[A-Za-z]+|.)|[()\[\]{}&]",
    re.DOTALL,
)
_OPENERS = {"(", "[", r"\{"} | {
    "\\" + name
    for name in [
        "lbrace",
        "lbrack",
        "lparen",
        "langle",
        "lfloor",
        "lceil",
        "lvert",
        "lVert",
        "lgroup",
        "lmoustache",
        "ulcorner",
        "llcorner",
    ]
}
_CLOSERS = {")", "]", r"\}"} | {
    "\\" + name
    for name in [
        "rbrace",
        "rbrack",
        "rparen",
        "rangle",
        "rfloor",
        "rceil",
        "rvert",
        "rVert",
        "rgroup",
        "rmoustache",
        "urcorner",
        "lrcorner",
    ]
}
# The converter looks for the end of a bracket that has none twice over, so that each one doubles its work.
MAX_SEARCH = 1_000_000
_STYLE = re.compile(r' style="([^"]*)"')
_TAG = re.compile(r"<(/?)[a-z][^>]*?(/?)>")
_CONVERTER = LatexToMathML(fancy_error=False, max_expansions=500)

# The converter writes style attributes, which the content security policy forbids: each declaration that
# matters becomes a class of our style sheet, the rest (numbering columns, colours) is dropped.
STYLE_CLASSES = {
    "text-align:right": "m-right",
    "text-align:left": "m-left",
    "padding-left:0": "m-pl0",
    "padding-right:0": "m-pr0",
    "padding-left:1em": "m-pl1",
    "padding-left:0.1em": "m-narrow",
    "padding-top:0.1667em": "m-gap",
    "border-left:0.05emsolidcurrentcolor": "m-bl",
    "border-right:0.05emsolidcurrentcolor": "m-br",
    "border-top:0.05emsolidcurrentcolor": "m-bt",
    "border-bottom:0.05emsolidcurrentcolor": "m-bb",
    "border-left:0.05emdashedcurrentcolor": "m-bl",
    "border-right:0.05emdashedcurrentcolor": "m-br",
    "border-top:0.05emdashedcurrentcolor": "m-bt",
    "border-bottom:0.05emdashedcurrentcolor": "m-bb",
}


class Unreadable(ValueError):
    """The formula is no LaTeX that we can show; its text says why."""


def mathml(tex: str, *, display: bool) -> str:
    """Return MathML of a formula, its source as alttext, without style attributes.

    Raises Unreadable for what is not valid LaTeX, and for what is too long or too deep: the converter is
    recursive, and a stack that overflows would take the whole process with it.
    """
    source = tex.strip()
    _check_bounds(source)
    try:
        prepared = rewrite(source)
        _check_bounds(prepared, factor=2)
        _check_search(prepared)
        found = _CONVERTER.convert_with_local_state(prepared, displaystyle=display)
    except LatexError as error:
        raise Unreadable(str(error).strip() or "not valid LaTeX") from error
    _check_depth(found)
    found = _STYLE.sub(_classes, found)
    kind = ' display="block"' if display else ""
    return found.replace("<math" + kind + ">", f'<math{kind} alttext="{escape(source)}">', 1)


def formula_html(tex: str, *, display: bool, source: str) -> str:
    """Return MathML of a formula, or a box with its source and the reason why it cannot be shown."""
    try:
        return mathml(tex, display=display)
    except Unreadable:
        block = " formula-error-block" if display else ""
        title = "This formula cannot be typeset"
        return f'<code class="formula-error{block}" title="{title}">{escape(source)}</code>'


def _check_bounds(tex: str, *, factor: int = 1) -> None:
    if len(tex) > MAX_LENGTH * factor:
        raise Unreadable(f"longer than {MAX_LENGTH} characters")
    # What is counted first is more than what is looked for, and counting is quick.
    if "\\" in tex and _DEFINITION.search(tex):
        raise Unreadable("defines commands")
    if tex.count("\\") > MAX_COMMANDS and len(_COMMAND.findall(tex)) > MAX_COMMANDS:
        raise Unreadable(f"more than {MAX_COMMANDS} commands")
    if tex.count("{") <= MAX_BRACES * factor:
        return
    depth = 0
    for character in _COMMAND.sub("", tex):
        if character == "{":
            depth += 1
            if depth > MAX_BRACES * factor:
                raise Unreadable(f"braces more than {MAX_BRACES} deep")
        elif character == "}" and depth:
            depth -= 1


def _unclosed(tex: str) -> int:
    """Count the brackets that nothing closes within their braces; a cell of a table ends the search for them."""
    left, groups = 0, [0]
    for match in _FENCES.finditer(tex):
        word, stretched = match.group(), match["stretched"]
        if word == "{" or stretched == "left":
            groups.append(0)
        elif word == "}" or stretched == "right":
            left += groups.pop()
            groups = groups or [0]
        elif word in ("&", r"\\"):
            groups[-1] = 0
        elif word in _OPENERS:
            groups[-1] += 1
        elif word in _CLOSERS and groups[-1]:
            groups[-1] -= 1
    return left + sum(groups)


def _check_search(tex: str) -> None:
    most = tex.count("(") + tex.count("[") + tex.count("\\")
    if len(tex) << min(most, 60) > MAX_SEARCH and len(tex) << min(_unclosed(tex), 60) > MAX_SEARCH:
        raise Unreadable("too many brackets are never closed")


def _check_depth(markup: str) -> None:
    if markup.count("<") <= MAX_DEPTH:
        return
    depth = 0
    for closing, empty in _TAG.findall(markup):
        if closing:
            depth -= 1
        elif not empty:
            depth += 1
            if depth > MAX_DEPTH:
                raise Unreadable(f"more than {MAX_DEPTH} levels deep")


def _classes(match: re.Match[str]) -> str:
    declarations = (part.strip().replace(": ", ":").replace(" ", "") for part in match[1].split(";"))
    names = [STYLE_CLASSES[part] for part in declarations if part in STYLE_CLASSES]
    return f' class="{" ".join(dict.fromkeys(names))}"' if names else ""
