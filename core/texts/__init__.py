"""Texts that more than one part of the product quotes: one source each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


@cache
def error_definition() -> str:
    """Return what counts as the first false step (Markdown): for the guideline, debate and monitor prompts."""
    return (_FOLDER / "error_definition.md").read_text(encoding="utf-8").strip()
