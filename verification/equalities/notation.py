"""How mathematics is written in plain text and LaTeX: commands and signs, and what they stand for."""

from __future__ import annotations

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
FUNCTIONS = {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "log", "exp"}
ROMAN = {
    "mathrm",
    "text",
    "textrm",
    "rm",
    "operatorname",
    "mbox",
    "textit",
    "mathit",
    "unit",
    "mathbf",
    "textbf",
}
INVISIBLE = {
    *("left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr"),
    *(
        "displaystyle",
        "textstyle",
        "limits",
        "nonumber",
        "boxed",
        "mathstrut",
        "phantom",
        "hspace",
        "allowbreak",
    ),
}
OPERATOR_COMMANDS = {"cdot": "*", "times": "*", "div": "/", "ast": "*", "bullet": "*"}
RELATION_COMMANDS = {
    "approx": "≈",
    "simeq": "≈",
    "approxeq": "≈",
    "eq": "=",
    **dict.fromkeys(
        (
            "le",
            "leq",
            "leqslant",
            "ge",
            "geq",
            "geqslant",
            "lt",
            "gt",
            "ll",
            "gg",
            "ne",
            "neq",
            "sim",
            "propto",
        ),
        "?",
    ),
    **dict.fromkeys(
        ("equiv", "in", "cong", "lesssim", "gtrsim", "notin", "subset", "doteq", "triangleq"), "?"
    ),
}
BOUNDARY_COMMANDS = {
    *(
        "quad",
        "qquad",
        "Rightarrow",
        "implies",
        "Longrightarrow",
        "rightarrow",
        "to",
        "longrightarrow",
        "therefore",
    ),
    *("because", "iff", "Leftrightarrow", "item", "hline", "newline", "par"),
}
OPERATORS = {
    "×": "*",
    "·": "*",
    "⋅": "*",
    "∙": "*",
    "•": "*",
    "∗": "*",
    "÷": "/",
    "∕": "/",
    "⁄": "/",
    "−": "-",
    "﹣": "-",
}
