"""Providers of model answers, made by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm.providers.scripted import Scripted
from llm.types import BadProvider, Provider

__all__ = ["PROVIDERS", "BadProvider", "Scripted", "build"]

PROVIDERS = ("openai_compatible", "scripted")


def build(
    provider: str, *, base_url: str = "", key: str = "", options: Mapping[str, Any] | None = None
) -> Provider:
    """Return the provider of this name; raise BadProvider for an unknown name or settings that cannot work.

    `options` are those of the provider: `connections` and `token_parameter` for openai_compatible, the script
    for scripted. A provider belongs to the event loop that first uses it, and is closed by `aclose()`.
    """
    settings = dict(options or {})
    if provider == "openai_compatible":
        # Here, since the SDK takes a second to load and most processes never ask a model.
        from llm.providers.openai_compatible import OpenAICompatible

        return OpenAICompatible(
            base_url=base_url, key=key, **_only(settings, "connections", "token_parameter")
        )
    if provider == "scripted":
        return Scripted.from_options(settings)
    raise BadProvider(f"no provider named {provider!r}; there are: {', '.join(PROVIDERS)}")


def _only(settings: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}
