"""What hides the generator from people: shuffled letters and a queue order of their own, by keyed hash."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from annotation.models import Study
from core.models import User


def keyed(study: Study, *parts: object) -> str:
    """Return a hex digest that only the study's secret can repeat."""
    message = "\x1f".join(str(part) for part in parts)
    return hmac.digest(study.masking_key.encode(), message.encode(), "sha256").hex()


def letters(study: Study, person: User, question_id: int, tokens: Iterable[str]) -> dict[str, str]:
    """Return the letter of each trace (by token) of one question for one person: A, B, C ... AA.

    The stored response labels give the generator away; these letters are shuffled anew for each question and
    person, and stay the same for them.
    """
    ranked = sorted(tokens, key=lambda token: keyed(study, "letters", person.pk, question_id, token))
    return {token: _letter(place) for place, token in enumerate(ranked)}


def queue_start(study: Study, person: User) -> str:
    """Return the token-like place at which the person's way through the study's traces begins."""
    return keyed(study, "start", person.pk)[:20]


def queue_rank(study: Study, person: User, token: str) -> str:
    """Return the rank of a trace in the person's own order."""
    return keyed(study, "order", person.pk, token)


def _letter(place: int) -> str:
    letter = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letter = chr(65 + rest) + letter
    return letter
