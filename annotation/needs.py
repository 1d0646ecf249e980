"""Solutions that need an expert: a registry that other apps fill and the experts' queue reads.

An app registers in its AppConfig.ready():

    from annotation import needs
    needs.register(disputed)

A provider takes (study, trace), `trace` None for all of the study, and yields a Need for each trace that calls for
an expert now. Nothing is stored: what is settled elsewhere drops out by itself. A need says why without telling who
labelled what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from annotation.models import Study, Trace


@dataclass(frozen=True)
class Need:
    """Why a trace needs an expert; low ranks come first. `address` is where else it may be settled, `verb` says how."""

    trace_id: int
    why: str
    rank: int
    address: str = ""
    verb: str = ""


NeedProvider = Callable[[Study, Trace | None], Iterable[Need]]

_providers: list[NeedProvider] = []


def register(provider: NeedProvider) -> None:
    """Add a source of needs; adding it again changes nothing, so that ready() may run twice."""
    if provider not in _providers:
        _providers.append(provider)


def needs_in(study: Study, trace: Trace | None = None) -> dict[int, list[Need]]:
    """Return the needs of a study's traces, or of one, by trace id, each list by rank."""
    found: dict[int, list[Need]] = {}
    for provider in _providers:
        for need in provider(study, trace):
            found.setdefault(need.trace_id, []).append(need)
    return {trace_id: sorted(some, key=lambda need: need.rank) for trace_id, some in found.items()}
