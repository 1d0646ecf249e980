"""The second lock: whatever the converters wrote, only these elements and attributes reach a page."""

from __future__ import annotations

import nh3

from core.mathtext.mathml import STYLE_CLASSES

MATHML_TAGS = {
    "math", "menclose", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
    "mphantom", "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup",
    "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none",
}  # fmt: skip
HTML_TAGS = {
    "a", "b", "blockquote", "br", "code", "em", "hr", "i", "li", "ol", "p", "pre", "s", "span", "strong",
    "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
SHAPE = {
    "accent", "accentunder", "columnspan", "depth", "displaystyle", "fence", "form", "height", "largeop",
    "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowspan",
    "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
}  # fmt: skip
FORMULA_CLASSES = set(STYLE_CLASSES.values()) | {
    "menclose-updiagonalstrike",
    "menclose-downdiagonalstrike",
    "menclose-phasorangle",
    "math-core-serif-font",
    "math-core-sans-serif-font",
}

_cleaner = nh3.Cleaner(
    tags=HTML_TAGS | MATHML_TAGS,
    clean_content_tags={"script", "style", "annotation", "annotation-xml", "semantics", "maction"},
    attributes={
        **dict.fromkeys(MATHML_TAGS, SHAPE),
        "math": SHAPE | {"alttext"},
        "a": {"href"},
        "code": {"title"},
        "li": {"value"},
        "ol": {"start"},
    },
    tag_attribute_values={"math": {"display": {"block", "inline"}}},
    allowed_classes={
        **dict.fromkeys(MATHML_TAGS, FORMULA_CLASSES),
        "span": FORMULA_CLASSES | {"tied"},
        "code": {"formula-error", "formula-error-block"},
        "p": {"md-heading"},
    },
    url_schemes={"http", "https"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)


def clean(html: str) -> str:
    """Return html without anything that could act or call out."""
    return _cleaner.clean(html)
