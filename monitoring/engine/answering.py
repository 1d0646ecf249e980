"""Who answers a call: a model's provider, or an offline monitor in a thread."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Any, Protocol

from django.conf import settings as installed

from core.errors import UserError
from llm.outbound import HostNotFound, check_base_url
from llm.providers import build
from llm.types import BadProvider, ChatRequest, Provider, ProviderError, Reply
from monitoring import offline
from monitoring.engine.claims import Work
from monitoring.engine.materials import READS_PROMPTS

log = logging.getLogger(__name__)


class Answerer(Protocol):
    """Something that answers a claimed call, once."""

    async def answer(self, work: Work) -> Reply:
        """Return the reply, or raise ProviderError."""

    async def aclose(self) -> None:
        """Close connections."""


class Online:
    """A model behind its provider."""

    def __init__(self, provider: Provider, *, timeout: float) -> None:
        self._provider = provider
        self._timeout = timeout

    async def answer(self, work: Work) -> Reply:
        assert work.request is not None
        return await self.complete(work.request)

    async def complete(self, request: ChatRequest) -> Reply:
        """Return the reply to a request, made once; raise ProviderError."""
        try:
            # The SDK's own timeout is per read; this one bounds the whole request.
            async with asyncio.timeout(self._timeout):
                return await self._provider.complete(request)
        except TimeoutError as error:
            raise ProviderError(f"no reply within {self._timeout:g} s", kind="transient") from error

    async def aclose(self) -> None:
        await self._provider.aclose()


class Offline:
    """An offline monitor; it computes in a thread, so that leases are renewed meanwhile."""

    def __init__(self, baseline: offline.Baseline) -> None:
        self._baseline = baseline

    async def answer(self, work: Work) -> Reply:
        assert work.case is not None
        return await asyncio.to_thread(offline.answer, self._baseline, work.case)

    async def aclose(self) -> None:
        """There is nothing to close."""


def answerer_for(settings: Mapping[str, Any]) -> Answerer:
    """Return who answers the calls of a run with these settings.

    Raises UserError if that cannot be here: no key in the environment, or settings that make no provider.
    """
    if settings["provider"] not in READS_PROMPTS:
        return Offline(offline.make(settings["provider"], settings["options"]))
    options = {name: value for name, value in settings["options"].items() if name != "timeout"}
    refuse_private_address(settings["base_url"])
    try:
        provider = build(
            settings["provider"],
            base_url=settings["base_url"],
            key=key_of(settings["key_env"]),
            options=options,
            allow_private=installed.ALLOW_PRIVATE_PROVIDERS,
        )
    except BadProvider as error:
        raise UserError(str(error)) from error
    return Online(provider, timeout=settings["timeout"])


def refuse_private_address(base_url: str) -> None:
    """Raise UserError for a base URL into a private network, unless FALSESTEP_ALLOW_PRIVATE_PROVIDERS is set.

    A name that does not resolve is let pass: a request to it fails by itself, perhaps only now.
    """
    if not base_url:
        return  # the provider's own
    try:
        check_base_url(base_url, allow_private=installed.ALLOW_PRIVATE_PROVIDERS)
    except HostNotFound as error:
        log.warning("%s", error)
    except BadProvider as error:
        raise UserError(str(error)) from error


def key_of(name: str) -> str:
    """Return the key in the environment variable of that name; it is never stored, logged or shown."""
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise UserError(f"the environment variable {name}, which holds the key, is not set for the workers")
    return key
