"""Providers of model answers, made by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm.protocols import generate_content, messages
from llm.providers.scripted import Scripted
from llm.types import BadProvider, ChatRequest, Provider

__all__ = ["PROVIDERS", "BadProvider", "Scripted", "build", "check", "not_installed", "thinking_tokens"]

PROVIDERS = ("openai_compatible", "anthropic", "google", "scripted")


def build(
    provider: str,
    *,
    base_url: str = "",
    key: str = "",
    options: Mapping[str, Any] | None = None,
    allow_private: bool = True,
) -> Provider:
    """Return the provider of this name; raise BadProvider for an unknown name or settings that cannot work.

    `options` are those of the provider: `connections` and `token_parameter` for openai_compatible,
    `connections` and `thinking_tokens` for anthropic and google, the script for scripted. Unless
    `allow_private`, its connections lead to public addresses only. A provider belongs to the event loop that
    first uses it, and is closed by `aclose()`.
    """
    settings = dict(options or {})
    # The SDKs are imported here, since each takes a second to load and most processes never ask a model; those
    # of anthropic and google are extras, which may not be installed.
    if provider == "openai_compatible":
        from llm.providers.openai_compatible import OpenAICompatible

        return OpenAICompatible(
            base_url=base_url,
            key=key,
            allow_private=allow_private,
            **_only(settings, "connections", "token_parameter"),
        )
    if provider == "anthropic":
        try:
            from llm.providers.anthropic import Anthropic
        except ImportError as error:
            raise not_installed(provider) from error
        return Anthropic(base_url=base_url, key=key, allow_private=allow_private, **_native(settings))
    if provider == "google":
        try:
            from llm.providers.google import Google
        except ImportError as error:
            raise not_installed(provider) from error
        return Google(base_url=base_url, key=key, allow_private=allow_private, **_native(settings))
    if provider == "scripted":
        return Scripted.from_options(settings)
    raise BadProvider(f"no provider named {provider!r}; there are: {', '.join(PROVIDERS)}")


def check(provider: str, request: ChatRequest, *, options: Mapping[str, Any] | None = None) -> None:
    """Raise BadProvider if the provider cannot carry the settings of a request, saying which and why.

    Nothing that a study sets is left out in silence. It needs neither a key nor the SDK, and the messages of
    the request play no part. An OpenAI-compatible endpoint is the judge of its own settings.
    """
    reason = ""
    if provider == "anthropic":
        reason = messages.unsupported(request, thinking_tokens=thinking_tokens(options or {}))
    elif provider == "google":
        reason = generate_content.unsupported(request, thinking_tokens=thinking_tokens(options or {}))
    elif provider not in PROVIDERS:
        reason = f"no provider named {provider!r}; there are: {', '.join(PROVIDERS)}"
    if reason:
        raise BadProvider(reason)


def _only(settings: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


def _native(settings: dict[str, Any]) -> dict[str, Any]:
    return {**_only(settings, "connections"), "thinking_tokens": thinking_tokens(settings)}


def thinking_tokens(options: Mapping[str, Any]) -> int | None:
    """Return the budget of thinking among options, None for none; raise BadProvider if it is no number."""
    budget = options.get("thinking_tokens")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int)):
        raise BadProvider("thinking_tokens is a whole number")
    return budget


def not_installed(provider: str) -> BadProvider:
    """Return the error that says which extra to install."""
    return BadProvider(f"the SDK of {provider} is not installed: install falsestep[{provider}]")
