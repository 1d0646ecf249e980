"""The one lock that orders everything done to a batch."""

from __future__ import annotations

from monitoring.models import Batch


def locked(batch_id: int) -> Batch:
    """Return a batch with its row locked until the caller's transaction ends.

    Its budget, and whether it takes work, are held against many calls, so whoever changes either takes turns:
    the batch first, then paces by monitor, then calls by key. It stays free for rows that refer to it.
    """
    rows = Batch.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("study", "standard").get(pk=batch_id)
