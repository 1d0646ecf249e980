"""Rewrites LaTeX that the converter does not know into LaTeX that it knows; what it shows stays the same."""

from __future__ import annotations

import re
from collections.abc import Callable

from core.mathtext import units

_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)|%", re.DOTALL)
_SPACES = re.compile(r"\s*")
_COLUMN_EXTRAS = re.compile(r"[@!><]\{[^{}]*\}")
_COLUMN_WIDTH = re.compile(r"[pmb]\{[^{}]*\}")
_STAR = re.compile(r"\*$")

DROPPED = {
    "nonumber", "notag", "limits", "nolimits", "centering", "par", "large", "Large", "LARGE", "huge",
    "Huge", "small", "tiny", "footnotesize", "scriptsize", "normalsize", "allowbreak", "nobreak",
    "noindent", "relax", "displaybreak", "break", "protect", "strut", "mathstrut", "unskip", "bigskip",
    "medskip", "smallskip",
}  # fmt: skip
SYMBOLS = {
    "AA": r"\text{Å}", "textdegree": "°", "degreeCelsius": r"°\mathrm{C}", "upmu": "μ", "micro": "μ",
    "hfill": r"\quad", "hfil": r"\quad", "Tr": r"\operatorname{Tr}", "tr": r"\operatorname{tr}",
    "rank": r"\operatorname{rank}", "sgn": r"\operatorname{sgn}", "grad": r"\nabla",
    "laplacian": r"\nabla^2", "curl": r"\nabla\times", "divergence": r"\nabla\cdot", "textmu": "μ",
    "textohm": "Ω", "ohm": "Ω", "textless": "<", "textgreater": ">", "qed": r"\blacksquare",
    "tfrac*": r"\tfrac", "celsius": r"°\mathrm{C}", "thinspace*": r"\, ", "cosec": r"\operatorname{cosec}",
    "arcsec": r"\operatorname{arcsec}", "arcosh": r"\operatorname{arcosh}",
    "arsinh": r"\operatorname{arsinh}", "artanh": r"\operatorname{artanh}",
    "arccosh": r"\operatorname{arccosh}", "arcsinh": r"\operatorname{arcsinh}",
    "erf": r"\operatorname{erf}", "arctanh": r"\operatorname{arctanh}", "erfc": r"\operatorname{erfc}",
    "diag": r"\operatorname{diag}", "textbackslash": r"\backslash", "lbar": r"ƛ", "dbar": "đ",
    "textquotesingle": "'", "euro": r"\text{€}",
}  # fmt: skip
ENVIRONMENT_NAMES = {
    "smallmatrix": "matrix", "split": "aligned", "alignedat": "aligned", "alignat": "aligned",
    "flalign": "aligned", "align": "aligned", "gather": "gathered", "multline": "gathered",
    "eqnarray": "array", "equation": "", "displaymath": "", "math": "", "dmath": "",
}  # fmt: skip
WITH_COUNT = {"alignat", "alignedat"}


class _Reader:
    """Reads arguments after a command, as TeX would."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def _skip_spaces(self) -> int:
        match = _SPACES.match(self.text, self.position)
        return match.end() if match else self.position

    def optional(self) -> str | None:
        """Return [..] if it stands here."""
        start = self._skip_spaces()
        if self.text[start : start + 1] != "[":
            return None
        end = self.text.find("]", start)
        if end < 0:
            return None
        self.position = end + 1
        return self.text[start + 1 : end]

    def group(self) -> str | None:
        """Return the content of {..} if it stands here."""
        start = self._skip_spaces()
        if self.text[start : start + 1] != "{":
            return None
        depth, place = 0, start
        while place < len(self.text):
            character = self.text[place]
            if character == "\\":
                place += 1
            elif character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    self.position = place + 1
                    return self.text[start + 1 : place]
            place += 1
        return None

    def argument(self) -> str | None:
        """Return {..}, or the one sign or command that stands here."""
        found = self.group()
        if found is not None:
            return found
        start = self._skip_spaces()
        match = re.compile(r"\\[A-Za-z]+|\\.|[^{}\\&]").match(self.text, start)
        if not match:
            return None
        self.position = match.end()
        return match.group()


def rewrite(tex: str) -> str:
    """Return equivalent LaTeX of the converter's dialect. Total: what it cannot read it leaves."""
    out: list[str] = []
    position = 0
    while match := _COMMAND.search(tex, position):
        out.append(tex[position : match.start()])
        name = match.group(1)
        position = match.end()
        if name is None:
            out.append(r"\%")  # a comment would hide text from the reader
            continue
        replacement, position = _replace(name, tex, match.start(), position)
        out.append(replacement)
    out.append(tex[position:])
    return "".join(out)


def _replace(name: str, tex: str, start: int, end: int) -> tuple[str, int]:
    """Return (what stands for the command and its arguments, where they end)."""
    if name in DROPPED:
        return " ", end
    if name in SYMBOLS:
        return f"{{{SYMBOLS[name]}}}", end
    reader = _Reader(tex, end)
    if name in ("begin", "end"):
        found = _environment(name, reader)
    elif name in TEXTS:
        found = _text(TEXTS[name], reader)
    elif name in COMMANDS:
        found = COMMANDS[name](reader)
    else:
        return tex[start:end], end
    if found is None:
        return tex[start:end], end
    return found, reader.position


def _environment(which: str, reader: _Reader) -> str | None:
    full = reader.group()
    if full is None:
        return None
    name = _STAR.sub("", full)
    new = ENVIRONMENT_NAMES.get(name, name)
    if which == "end":
        return rf"\end{{{new}}}" if new else " "
    if name in WITH_COUNT:
        reader.group()
    if full.endswith("*") or name in ("aligned", "alignedat", "gathered", "array", "cases"):
        reader.optional()
    if not new:
        return " "
    if name == "eqnarray":
        return r"\begin{array}{rcl}"
    if new == "array":
        columns = reader.group()
        if columns is None:
            return None
        plain = _COLUMN_WIDTH.sub("l", _COLUMN_EXTRAS.sub("", columns)).replace(" ", "")
        return rf"\begin{{array}}{{{plain}}}"
    return rf"\begin{{{new}}}"


_TEXT_SIGNS = re.compile(r"(?<!\\)([_&^#])|\\\\|\\(?:newline|quad|qquad)(?![A-Za-z])|\\,")


def _plain_text(command: str, content: str) -> str:
    def sign(match: re.Match[str]) -> str:
        if match[1] == "^":
            return "ˆ"
        return "\\" + match[1] if match[1] else " "

    return rf"\{command}{{{_TEXT_SIGNS.sub(sign, content)}}}"


def _text(command: str, reader: _Reader) -> str | None:
    """Text may hold formulas of its own: \\text{if $x > 0$}."""
    content = reader.group()
    if content is None:
        return None
    pieces = re.split(r"(?<!\\)\$", content.replace(r"\(", "$").replace(r"\)", "$"))
    if len(pieces) == 1:
        return _plain_text(command, content)
    if len(pieces) % 2 == 0:
        return None
    return "".join(
        f"{{{rewrite(piece)}}}" if index % 2 else (_plain_text(command, piece) if piece else "")
        for index, piece in enumerate(pieces)
    )


TEXTS = {
    "text": "text", "mbox": "text", "hbox": "text", "textnormal": "text", "textrm": "text",
    "textup": "text", "textbf": "textbf", "textit": "textit", "emph": "textit", "textsf": "textsf",
    "texttt": "texttt", "textsl": "textit", "textmd": "text", "intertext": "text", "shortintertext": "text",
    "mathtext": "text", "textsc": "text",
}  # fmt: skip


def _keep(before: str = "", after: str = "") -> Callable[[_Reader], str | None]:
    """Replace a command by its argument between `before` and `after`."""

    def command(reader: _Reader) -> str | None:
        content = reader.argument()
        return None if content is None else f"{before}{rewrite(content)}{after}"

    return command


def _second(reader: _Reader) -> str | None:
    reader.optional()
    first, content = reader.group(), reader.group()
    return None if first is None or content is None else f"{{{rewrite(content)}}}"


def _skip(groups: int) -> Callable[[_Reader], str | None]:
    def command(reader: _Reader) -> str | None:
        reader.optional()
        for _ in range(groups):
            if reader.group() is None:
                return None
        return " "

    return command


def _tag(before: str, after: str) -> Callable[[_Reader], str | None]:
    def command(reader: _Reader) -> str | None:
        content = reader.group()
        return None if content is None else "\\qquad " + _plain_text("text", before + content + after)

    return command


def _quantity(reader: _Reader) -> str | None:
    """\\SI{3}{\\metre}, \\qty{3}{\\metre}; \\qty(..) of the physics package is a plain bracket."""
    reader.optional()
    first = reader.group()
    if first is None:
        return " " if reader.text[reader.position : reader.position + 1] in ("(", "[", "|") else None
    second = reader.group()
    if second is None:
        return rf"\left\{{{rewrite(first)}\right\}}"
    return rf"{{{units.number(first)}\,{units.unit(second)}}}"


def _range(reader: _Reader) -> str | None:
    reader.optional()
    low, high, unit = reader.group(), reader.group(), reader.group()
    if low is None or high is None or unit is None:
        return None
    return rf"{{{units.number(low)}\text{{ to }}{units.number(high)}\,{units.unit(unit)}}}"


def _unit(reader: _Reader) -> str | None:
    reader.optional()
    content = reader.group()
    return None if content is None else f"{{{units.unit(content)}}}"


def _number(reader: _Reader) -> str | None:
    reader.optional()
    content = reader.group()
    return None if content is None else f"{{{units.number(content)}}}"


def _derivative(sign: str) -> Callable[[_Reader], str | None]:
    def command(reader: _Reader) -> str | None:
        order = reader.optional()
        first = reader.group()
        if first is None:
            return None
        second = reader.group()
        power = f"^{{{order}}}" if order else ""
        top, bottom = (rewrite(first), rewrite(second)) if second is not None else ("", rewrite(first))
        return rf"\frac{{{sign}{power} {top}}}{{{sign} {bottom}{power}}}"

    return command


def _fenced(pattern: str, arguments: int) -> Callable[[_Reader], str | None]:
    def command(reader: _Reader) -> str | None:
        parts = [reader.group() for _ in range(arguments)]
        if any(part is None for part in parts):
            return None
        out = pattern
        for index, part in enumerate(parts):
            out = out.replace(f"#{index + 1}", rewrite(part or ""))
        return out

    return command


_CHEMISTRY = re.compile(r"(->|<=>|\^\{?[\d+-]+\}?|(?<=[A-Za-z)\]])\d+|[+-](?=\s|$)|\s+|.)")


def _chemistry(reader: _Reader) -> str | None:
    """\\ce{H2O}: digits after an element are subscripts, arrows are arrows."""
    content = reader.group()
    if content is None or "\\" in content or "{" in content.replace("^{", ""):
        return None
    out = []
    for part in _CHEMISTRY.findall(content):
        if part == "->":
            out.append(r"\longrightarrow ")
        elif part == "<=>":
            out.append(r"\rightleftharpoons ")
        elif part[0] == "^":
            out.append(f"^{{{part[1:].strip('{}')}}}")
        elif part.isdigit() and out and (out[-1].endswith("}") or out[-1] in (")", "]")):
            out.append(f"_{{{part}}}")
        elif part.isspace():
            out.append(r"\;")
        elif part.isalpha():
            out.append(rf"\mathrm{{{part}}}")
        elif part in "#$%&_~{}":
            out.append("\\" + part if part != "~" else r"\;")
        else:
            out.append(part)
    return "{" + "".join(out) + "}"


COMMANDS: dict[str, Callable[[_Reader], str | None]] = {
    "widetilde": _keep(r"\tilde{", "}"),
    "utilde": _keep(r"\underset{\sim}{", "}"),
    "pmb": _keep(r"\boldsymbol{", "}"),
    "substack": _keep(r"\begin{subarray}{c}", r"\end{subarray}"),
    "smash": _keep("{", "}"),
    "ensuremath": _keep("{", "}"),
    "llap": _keep("{", "}"),
    "rlap": _keep("{", "}"),
    "mathllap": _keep("{", "}"),
    "mathrlap": _keep("{", "}"),
    "mathclap": _keep("{", "}"),
    "mathop": _keep("{", "}"),
    "framebox": _keep(r"\boxed{", "}"),
    "textcolor": _second,
    "colorbox": _second,
    "href": _second,
    "raisebox": _second,
    "color": _skip(1),
    "vspace": _skip(1),
    "vspace*": _skip(1),
    "rule": _skip(2),
    "label": _skip(1),
    "hspace*": lambda reader: rf"\hspace{{{reader.group() or '0em'}}}",
    "tag": _tag("(", ")"),
    "tag*": _tag("", ""),
    "eqref": lambda reader: None if (name := reader.group()) is None else _plain_text("text", f"({name})"),
    "ref": lambda reader: None if (name := reader.group()) is None else _plain_text("text", name),
    "SI": _quantity,
    "qty": _quantity,
    "SIrange": _range,
    "qtyrange": _range,
    "si": _unit,
    "unit": _unit,
    "num": _number,
    "ang": _keep("{", r"^{\circ}}"),
    "ce": _chemistry,
    "dv": _derivative(r"\mathrm{d}"),
    "pdv": _derivative(r"\partial"),
    "dd": lambda reader: r"\mathrm{d}" + ("" if (x := reader.group()) is None else f"{{{rewrite(x)}}}"),
    "vb": _keep(r"\mathbf{", "}"),
    "va": _keep(r"\vec{\mathbf{", "}}"),
    "vu": _keep(r"\hat{\mathbf{", "}}"),
    "abs": _fenced(r"\left|#1\right|", 1),
    "norm": _fenced(r"\left\|#1\right\|", 1),
    "ev": _fenced(r"\left\langle #1 \right\rangle", 1),
    "expval": _fenced(r"\left\langle #1 \right\rangle", 1),
    "mel": _fenced(r"\left\langle #1 \middle| #2 \middle| #3 \right\rangle", 3),
    "comm": _fenced(r"\left[#1, #2\right]", 2),
    "ketbra": _fenced(r"\left|#1\right\rangle\!\left\langle #2\right|", 2),
    "order": _fenced(r"\mathcal{O}\left(#1\right)", 1),
}
