"""What is done to monitors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction

from annotation.models import Study
from annotation.models.study import IDENTIFIER
from core import audit
from core.errors import Conflict, UserError
from core.models import User
from llm.providers import check
from llm.types import BadProvider, ChatRequest
from monitoring import offline
from monitoring.engine.answering import refuse_private_address
from monitoring.models import Monitor

_ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]*\Z")


@dataclass(frozen=True)
class MonitorSettings:
    """What a new monitor is told. Prices in USD per million tokens."""

    slug: str
    provider: str = Monitor.Provider.OPENAI_COMPATIBLE
    model: str = ""
    base_url: str = ""
    key_env: str = ""
    temperature: float | None = 0.0
    max_tokens: int = 4000
    reasoning_effort: str = ""
    seed: int | None = None
    json_mode: bool = False
    concurrency: int = 16
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    options: dict[str, Any] = field(default_factory=dict)


def add_monitor(*, study: Study, settings: MonitorSettings, actor: User | None) -> Monitor:
    """Add a monitor to a study.

    Raises UserError for settings that cannot work, among them a key where the name of the variable that
    holds it belongs; Conflict if the slug is taken.
    """
    _check(study, settings)
    with transaction.atomic():
        values = {name: value for name, value in vars(settings).items() if name != "slug"}
        monitor, made = Monitor.objects.get_or_create(study=study, slug=settings.slug, defaults=values)
        if not made:
            raise Conflict(f'there is a monitor "{settings.slug}" in {study.slug} already')
        audit.record(
            scope=study.slug,
            actor=actor,
            action="monitor added",
            subject=f"monitor {monitor.slug}",
            payload={
                "provider": monitor.provider,
                "model": monitor.model,
                "base_url": monitor.base_url,
                "key_env": monitor.key_env,
                "input_price": None if settings.input_price is None else str(settings.input_price),
                "output_price": None if settings.output_price is None else str(settings.output_price),
                "options": monitor.options,
            },
        )
    return monitor


def _check(study: Study, settings: MonitorSettings) -> None:
    try:
        IDENTIFIER(settings.slug)
    except ValidationError as error:
        raise UserError(f"the slug {settings.slug!r} has other than {error.messages[0]}") from error
    if len(settings.slug) > 100:
        raise UserError("a slug has at most 100 characters")
    if settings.slug in offline.BUILT_IN and settings.provider != settings.slug:
        raise UserError(f'"{settings.slug}" is the name of a built-in monitor; choose another')
    if settings.concurrency < 1:
        raise UserError("a monitor has at least one request in flight")
    if settings.max_tokens < 1:
        raise UserError("a reply has at least one token")
    for price in (settings.input_price, settings.output_price):
        if price is not None and not (price.is_finite() and 0 <= price < 1_000_000):
            raise UserError(f"a price is 0 or more USD per million tokens, not {price}")
    if settings.provider in Monitor.ONLINE:
        _check_online(settings)
    elif settings.provider == Monitor.Provider.REPLAY:
        source = settings.options.get("monitor")
        if not Monitor.objects.filter(study=study, slug=str(source)).exists():
            raise UserError(f'a replay monitor needs the option monitor=SLUG; there is no "{source}" here')
    elif settings.provider == Monitor.Provider.RELEASED:
        raise UserError("verdicts of a release come with import_release, not by adding a monitor")
    elif settings.provider != Monitor.Provider.SCRIPTED:
        offline.make(settings.provider, settings.options)


def _check_online(settings: MonitorSettings) -> None:
    if not settings.model:
        raise UserError("a model monitor needs the model's name at its provider")
    native = settings.provider != Monitor.Provider.OPENAI_COMPATIBLE
    address = urlsplit(settings.base_url)
    if native and not settings.base_url:
        pass  # the provider's own address
    elif address.scheme not in ("http", "https") or not address.hostname:
        raise UserError(f"the base URL is http(s)://host[:port]/path, not {settings.base_url!r}")
    if address.username or address.password or address.query:
        raise UserError("the base URL must hold no name, password or query: keys belong in the environment")
    refuse_private_address(settings.base_url)
    if settings.key_env and not _ENV_NAME.match(settings.key_env):
        # Not repeated in the message: it may be the key itself.
        raise UserError(
            "name the environment variable that holds the key (capitals, digits, underscore), never the key"
        )
    if native and not settings.key_env:
        raise UserError("name the environment variable that holds the key; this provider needs one")
    if (settings.input_price is None) != (settings.output_price is None):
        raise UserError("tell both prices, for input and output, or neither")
    request = ChatRequest(
        model=settings.model,
        messages=(),
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        reasoning_effort=settings.reasoning_effort or None,
        seed=settings.seed,
        json_mode=settings.json_mode,
    )
    try:
        check(settings.provider, request, options=settings.options)
    except BadProvider as error:
        raise UserError(str(error)) from error
