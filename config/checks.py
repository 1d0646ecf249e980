"""System checks of combinations that would start and then hurt."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, Warning, register

RATE = re.compile(r"[1-9][0-9]*/(s|sec|m|min|h|hour|d|day)")
LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}


@register(Tags.security)
def debug_stays_at_home(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Refuse tracebacks in the browser where a name other than loopback is served."""
    if settings.DEBUG and not set(settings.ALLOWED_HOSTS) <= LOOPBACK:
        return [
            Error(
                "FALSESTEP_DEBUG=1 on hosts other than loopback",
                hint="Unset FALSESTEP_DEBUG, or serve 127.0.0.1 only.",
                id="falsestep.E001",
            )
        ]
    return []


@register()
def services_come_together(app_configs: Any, **kwargs: Any) -> list[Warning]:
    """Warn of PostgreSQL with a broker of files: workers on other machines would never be woken."""
    if settings.DATABASE_URL and not settings.REDIS_URL:
        return [
            Warning(
                "DATABASE_URL is set and REDIS_URL is not: the broker is a folder of this machine",
                hint="Set REDIS_URL, unless every worker runs here.",
                id="falsestep.W001",
            )
        ]
    return []


@register(Tags.security)
def openid_is_whole(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Refuse a provider of which a part is missing: it would fail at the first sign-in."""
    if not settings.OIDC_RP_CLIENT_ID:
        return []
    wanted = {
        "FALSESTEP_OIDC_CLIENT_SECRET": settings.OIDC_RP_CLIENT_SECRET,
        "FALSESTEP_OIDC_ISSUER": settings.OIDC_ISSUER,
        "FALSESTEP_OIDC_AUTHORIZATION_URL": settings.OIDC_OP_AUTHORIZATION_ENDPOINT,
        "FALSESTEP_OIDC_TOKEN_URL": settings.OIDC_OP_TOKEN_ENDPOINT,
        "FALSESTEP_OIDC_USERINFO_URL": settings.OIDC_OP_USER_ENDPOINT,
        "FALSESTEP_OIDC_JWKS_URL": settings.OIDC_OP_JWKS_ENDPOINT,
    }
    missing = [name for name, value in wanted.items() if not value]
    if missing:
        return [
            Error(
                f"FALSESTEP_OIDC_CLIENT_ID is set, yet {', '.join(missing)} is not",
                hint="Set them all, or none: see docs/operations.md.",
                id="falsestep.E003",
            )
        ]
    return []


@register()
def api_rates_can_be_read(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Refuse a rate that would only fail at the first request."""
    return [
        Error(
            f"the rate of {name} API requests reads like 1200/min, not {rate!r}",
            hint="Mend FALSESTEP_API_RATE or FALSESTEP_API_HEAVY_RATE.",
            id="falsestep.E002",
        )
        for name, rate in settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"].items()
        if not RATE.fullmatch(rate)
    ]


@register()
def operation_settings_can_be_read(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Refuse a log format or a network that would only fail, or be passed over, later."""
    errors = []
    if settings.LOG_FORMAT not in ("json", "line"):
        errors.append(
            Error(f"FALSESTEP_LOG_FORMAT is json or line, not {settings.LOG_FORMAT!r}", id="falsestep.E003")
        )
    for network in settings.METRICS_NETWORKS:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            errors.append(
                Error(
                    f"FALSESTEP_METRICS_NETWORKS: {network!r} is no network",
                    hint="Networks read like 10.0.0.0/8 or 127.0.0.1, with commas between.",
                    id="falsestep.E004",
                )
            )
    return errors
