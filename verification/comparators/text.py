"""Exact text: the same characters, blanks at the ends and between words apart."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from verification.comparators.outcome import Comparison, different, equal, unreadable


@dataclass(frozen=True)
class ExactText:
    """Compares texts character by character; `ignore_case` lets capitals and small letters be the same."""

    ignore_case: bool = False

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the texts are the same."""
        odd = unreadable(key, answer)
        if odd is not None:
            return odd
        left, right = self._plain(key), self._plain(answer)
        if left == right:
            return equal("the same text")
        if left.casefold() == right.casefold():
            return different("the same letters, but other capitals")
        return different("another text")

    def _plain(self, text: str) -> str:
        text = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()
        return text.casefold() if self.ignore_case else text
