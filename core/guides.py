"""The guides for the three kinds of people, one text for the repository (docs/guides) and for the pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "guides"
READERS = {"annotator": "Annotators", "lead": "Leads", "administrator": "Administrators"}
_PICTURE = re.compile(r'<img src="\.\./pictures/([a-z-]+)-light\.png" alt="([^"]*)" />')
_DOCUMENT = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\.md\)")


@dataclass(frozen=True)
class Guide:
    """A guide as a page shows it."""

    reader: str
    title: str
    html: SafeString


@cache
def guide(reader: str) -> Guide:
    """Return a reader's guide; raises KeyError for another reader. The text is ours, so it may hold HTML."""
    title = READERS[reader]
    text = (FOLDER / f"{reader}.md").read_text(encoding="utf-8")
    text = text.split("\n", 1)[1]
    # Documents of the repository are no pages; pictures are static files, one for each theme.
    html = MarkdownIt("commonmark", {"html": True}).render(_DOCUMENT.sub(r"\1", text))
    html = _PICTURE.sub(_picture, html)
    return Guide(reader, title, mark_safe(html))  # noqa: S308 - files of ours, no one's input


def _picture(found: re.Match[str]) -> str:
    light, dark = (static(f"pictures/{found[1]}-{theme}.png") for theme in ("light", "dark"))
    return (
        f'<picture><source srcset="{dark}" media="(prefers-color-scheme: dark)">'
        f'<img src="{light}" alt="{found[2]}" width="1280" height="860" loading="lazy"></picture>'
    )


def addresses() -> list[tuple[str, str]]:
    """Return (title, address) of every guide, for a page's navigation."""
    return [(title, reverse("guide", args=[reader])) for reader, title in READERS.items()]
