"""Markdown around formulas: they go through it as words that it cannot read, and come back as tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from core.mathtext.mathml import formula_html
from core.mathtext.scan import Formula, split

_OPENING = re.compile(r"[(\[{“‘«]+$")
_CLOSING = re.compile(r"[.,;:!?)\]}”’»…%]+")
PRIVATE_USE = range(0xE000, 0xF900)

# A product written 2*3*4 is no emphasis, nor is a power a**2. A formula's stand-in counts as a letter.
_LONE_STAR = re.compile(r"(?<=[\w)\]}\ue000-\uf8ff])(?<!\*)\*(?!\*)(?=[\w(\[{\\.\ue000-\uf8ff-])")
_POWER = re.compile(
    r"(?<=[\w)\]}\ue000-\uf8ff])\*\*(?=[\d(-])|(?<=[\d)\ue000-\uf8ff])\*\*(?=[\w(\ue000-\uf8ff])"
)

# Lines in which Markdown finds nothing: no sign of its, and a beginning that opens no block. Most steps are of such.
_LINE = r"(?:[^\W\d_]|[(\ue000-\uf8ff])[^\\`*_\[\]<&#|~\t\0\n]*(?<!\s)"
_PROSE = re.compile(rf"{_LINE}(?:\n{_LINE})*")


def _parser() -> MarkdownIt:
    """CommonMark with tables, less what would change or hide words of a solution.

    Off: HTML, images (they would call other servers), indented code (indented steps are prose), link
    definitions and underlined headings (they would swallow lines).
    """
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": False})
    parser.enable("table")
    parser.disable(["code", "html_block", "html_inline", "image", "reference", "lheading"])
    parser.core.ruler.push("formulas", _put_formulas_back)
    parser.add_render_rule("formula", _render_formula)
    for name in ("heading_open", "heading_close"):
        parser.add_render_rule(name, _render_heading)
    parser.add_render_rule("list_item_open", _render_list_item)
    return parser


def to_html(text: str, *, inline: bool) -> str:
    """Return HTML of Markdown with LaTeX, not yet sanitised."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    mark = next((chr(code) for code in PRIVATE_USE if chr(code) not in text), None)
    if mark is None:  # every private character is in use: give one up
        mark = chr(PRIVATE_USE[0])
        text = text.replace(mark, "\ufffd")
    pieces = list(split(text))
    formulas: list[Formula] = []
    parts: list[str] = []
    for piece in pieces:
        if isinstance(piece, Formula):
            parts.append(f"{mark}{len(formulas)}{mark}")
            formulas.append(piece)
        else:
            parts.append(piece)
    source = "".join(parts)
    if _PROSE.fullmatch(source if inline else source.rstrip("\n")) and not (inline and "\n" in source):
        return _prose(pieces, inline=inline)
    return _parsed(source, formulas, mark, inline=inline)


def _parsed(source: str, formulas: list[Formula], mark: str, *, inline: bool) -> str:
    """Return HTML of Markdown in which `mark` on both sides of a number stands for a formula."""
    source = _POWER.sub(r"\\*\\*", _LONE_STAR.sub(r"\\*", source))
    env = {"formulas": formulas, "stand_in": _stand_in(mark)}
    return str(_MARKDOWN.renderInline(source, env) if inline else _MARKDOWN.render(source, env))


@cache
def _stand_in(mark: str) -> re.Pattern[str]:
    return re.compile(f"(?:{mark}|{quote(mark)})([0-9]+)(?:{mark}|{quote(mark)})")


def _prose(pieces: list[str | Formula], *, inline: bool) -> str:
    """Return what `_parsed` would of one paragraph without any sign of Markdown, in a third of its time."""
    if not inline and isinstance(last := pieces[-1], str):
        pieces = [*pieces[:-1], last.rstrip("\n")]
    out: list[Token] = []
    for piece in pieces:
        if isinstance(piece, Formula):
            _add_formula(out, piece)
            continue
        for number, line in enumerate(piece.split("\n")):
            if number:
                _add_break(out, Token("softbreak", "br", 0))
            _add_text(out, line)
    paragraph = Token("inline", "", 0, children=_tied(out))
    html = str(_MARKDOWN.renderer.render([paragraph], _MARKDOWN.options, {}))
    return html if inline else f"<p>{html}</p>\n"


def _put_formulas_back(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline":
            token.children = _with_formulas(token.children or [], state.env)
        elif token.type in ("fence", "code_block"):
            token.content = _source(token.content, state.env)
            token.info = _source(token.info, state.env)


def _with_formulas(children: list[Token], env: EnvType) -> list[Token]:
    out: list[Token] = []
    for child in children:
        for name, value in child.attrs.items():
            if isinstance(value, str):
                child.attrs[name] = _source(value, env, quoted=name == "href")
        if child.type == "code_inline":
            child.content = _source(child.content, env)
        if child.type != "text":
            if child.type in ("softbreak", "hardbreak"):
                _add_break(out, child)
            else:
                out.append(child)
            continue
        position = 0
        for match in env["stand_in"].finditer(child.content):
            formula = _formula(match, env)
            if formula is None:
                continue
            _add_text(out, child.content[position : match.start()])
            position = match.end()
            _add_formula(out, formula)
        _add_text(out, child.content[position:])
    return _tied(out)


def _tied(tokens: list[Token]) -> list[Token]:
    """Tie brackets and punctuation to the formula that they touch: browsers would break the line there."""
    for index, token in enumerate(tokens):
        if token.type != "formula" or _is_display(token):
            continue
        before, after = tokens[index - 1] if index else None, tokens[index + 1 : index + 2]
        if before is not None and before.type == "text" and (match := _OPENING.search(before.content)):
            token.meta["before"] = match.group()
            before.content = before.content[: match.start()]
        if after and after[0].type == "text" and (match := _CLOSING.match(after[0].content)):
            token.meta["after"] = match.group()
            after[0].content = after[0].content[match.end() :]
    return tokens


def _add_text(out: list[Token], content: str) -> None:
    if content and not (content.isspace() and out and _is_display(out[-1])):
        out.append(Token("text", "", 0, content=content))


def _add_break(out: list[Token], token: Token) -> None:
    if not (out and _is_display(out[-1])):
        out.append(token)


def _add_formula(out: list[Token], formula: Formula) -> None:
    if formula.display and out and out[-1].type in ("softbreak", "hardbreak"):
        out.pop()
    out.append(Token("formula", "", 0, meta={"formula": formula}))


def _is_display(token: Token) -> bool:
    return token.type == "formula" and token.meta["formula"].display


def _formula(match: re.Match[str], env: EnvType) -> Formula | None:
    number = match.group(1)
    formulas: list[Formula] = env["formulas"]
    return formulas[int(number)] if len(number) < 9 and int(number) < len(formulas) else None


def _source(content: str, env: EnvType, *, quoted: bool = False) -> str:
    """Return content with formulas as they were written, where they are not typeset (code, addresses)."""

    def original(match: re.Match[str]) -> str:
        formula = _formula(match, env)
        if formula is None:
            return match.group()
        return quote(formula.source) if quoted else formula.source

    return str(env["stand_in"].sub(original, content))


def _render_formula(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    meta = tokens[index].meta
    formula: Formula = meta["formula"]
    html = formula_html(formula.tex, display=formula.display, source=formula.source)
    before, after = escape(meta.get("before", "")), escape(meta.get("after", ""))
    # A source in its box may be long, and must be able to break.
    if (before or after) and html.startswith("<math"):
        return f'<span class="tied">{before}{html}{after}</span>'
    return before + html + after


def _render_heading(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """A heading inside a solution is no heading of our page."""
    return '<p class="md-heading">' if tokens[index].nesting == 1 else "</p>\n"


def _render_list_item(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Numbers of a list are shown as they were written: they may be what the text refers to."""
    number: Any = tokens[index].info
    return f'<li value="{int(number)}">' if number and str(number).isdigit() else "<li>"


_MARKDOWN = _parser()
