"""Traces that must not get a settled label yet: a registry that verification fills and adjudication reads.

A provider takes a study and returns {trace id: reason}; it is registered in an AppConfig.ready().
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from annotation.models import Study

HoldProvider = Callable[[Study], Mapping[int, str]]

_providers: list[HoldProvider] = []


def register(provider: HoldProvider) -> None:
    """Add a source of holds; adding it again changes nothing, so that ready() may run twice."""
    if provider not in _providers:
        _providers.append(provider)


def held_traces(study: Study) -> dict[int, str]:
    """Return the held traces of a study by id, each with its reason."""
    held: dict[int, str] = {}
    for provider in _providers:
        for trace, reason in provider(study).items():
            held.setdefault(trace, reason)
    return held
