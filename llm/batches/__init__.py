"""Batch APIs of providers, made by name: half the price, answers within a day, joined by own keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm.batches.joining import chunks, joined
from llm.batches.types import BatchProvider, BatchState, Limits, UnfitBatch
from llm.providers import not_installed, thinking_tokens
from llm.types import BadProvider

__all__ = [
    "BATCH_PROVIDERS",
    "BatchProvider",
    "BatchState",
    "Limits",
    "UnfitBatch",
    "build",
    "chunks",
    "joined",
]

BATCH_PROVIDERS = ("openai_compatible", "anthropic")


def build(
    provider: str,
    *,
    base_url: str = "",
    key: str = "",
    options: Mapping[str, Any] | None = None,
    allow_private: bool = True,
) -> BatchProvider:
    """Return the batch API of the provider of this name, which takes the options of single requests too.

    Raises BadProvider for a provider without one, and for settings that cannot work. Whether an
    OpenAI-compatible endpoint has batches is told by its answer to the first.
    """
    settings = dict(options or {})
    # Here, since the SDKs take a second each to load, and that of Anthropic may not be installed.
    if provider == "openai_compatible":
        from llm.batches.openai import OpenAIBatches

        return OpenAIBatches(
            base_url=base_url,
            key=key,
            token_parameter=settings.get("token_parameter", ""),
            allow_private=allow_private,
        )
    if provider == "anthropic":
        try:
            from llm.batches.anthropic import AnthropicBatches
        except ImportError as error:
            raise not_installed(provider) from error
        return AnthropicBatches(
            base_url=base_url,
            key=key,
            thinking_tokens=thinking_tokens(settings),
            allow_private=allow_private,
        )
    raise BadProvider(f"{provider!r} has no batches here; those that have: {', '.join(BATCH_PROVIDERS)}")
