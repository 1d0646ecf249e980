"""Proposals as the lead sees them: values only, in an order that tells nothing of their source."""

from __future__ import annotations

import hashlib
import hmac
import json
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudication.judgements import Judgement, canonical, merged

SHAPES = "◆●■▲▼★"


@dataclass(frozen=True, kw_only=True)
class Proposal(Judgement):
    """A distinct judgement under a letter; the shape stands for it in the margin of the trace."""

    mark: str
    shape: str


def proposals(judgements: Iterable[Judgement], *, masking_key: str, token: str) -> list[Proposal]:
    """Return the distinct judgements of one dispute in masked order.

    The order is by HMAC-SHA256 under the study's key of the dispute's token and the value, so that it stays
    on reload and does not depend on who said what, when, or in which arm.
    """
    key = masking_key.encode()

    def rank(judgement: Judgement) -> bytes:
        message = f"{token}|{canonical(judgement.point)}".encode()
        return hmac.new(key, message, hashlib.sha256).digest()

    return [
        Proposal(
            mark=_letter(place),
            shape=SHAPES[place % len(SHAPES)],
            final_correct=judgement.final_correct,
            first_error_step=judgement.first_error_step,
            first_error_step_min=judgement.first_error_step_min,
            first_error_step_max=judgement.first_error_step_max,
        )
        for place, judgement in enumerate(sorted(merged(judgements), key=rank))
    ]


def stored(shown: Sequence[Proposal]) -> list[dict[str, object]]:
    """Return the proposals as a decision keeps them: marks and values."""
    return [
        {
            "mark": proposal.mark,
            "final_correct": proposal.final_correct,
            "first_error_step": proposal.first_error_step,
            **(
                {"first_error_step_min": proposal.range[0], "first_error_step_max": proposal.range[1]}
                if proposal.range
                else {}
            ),
        }
        for proposal in shown
    ]


def fingerprint(shown: Sequence[Proposal]) -> str:
    """Return a short digest of what is shown, by which a decision on other proposals is refused."""
    text = json.dumps(stored(shown), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _letter(place: int) -> str:
    letters = string.ascii_uppercase
    return letters[place] if place < len(letters) else letters[place // 26 - 1] + letters[place % 26]
