"""Letters by which a person knows the solutions of a question: the stored ones give the generator away."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection

from annotation.models import Study, Trace
from core.models import User


def letters_for(trace_ids: Collection[int], *, study: Study, person: User) -> dict[int, str]:
    """Return a letter for each trace: shuffled per question and person under the study's key, then stable."""
    questions = Trace.objects.filter(pk__in=trace_ids).values("question_id")
    rows = Trace.objects.filter(study=study, question_id__in=questions).values_list(
        "pk", "question_id", "token"
    )

    def rank(row: tuple[int, int, str]) -> bytes:
        message = f"letters|{person.pk}|{row[2]}".encode()
        return hmac.new(study.masking_key.encode(), message, hashlib.sha256).digest()

    places: dict[int, int] = {}
    letters: dict[int, str] = {}
    for pk, question_id, _token in sorted(rows, key=rank):
        place = places[question_id] = places.get(question_id, -1) + 1
        letters[pk] = chr(ord("A") + place) if place < 26 else str(place + 1)
    return letters
