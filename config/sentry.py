"""Sentry, where FALSESTEP_SENTRY_DSN asks for it: told that and where something failed, never what was being read."""

from __future__ import annotations

from typing import Any

from core import logs

_KEPT_OF_A_REQUEST = ("method", "url")
_KEPT_OF_AN_EVENT = (
    "event_id", "timestamp", "platform", "level", "logger", "exception", "transaction", "release", "environment",
    "sdk", "modules", "contexts", "type",
)  # fmt: skip
_KEPT_OF_A_FRAME = ("filename", "abs_path", "module", "function", "lineno", "colno", "in_app")
_KEPT_CONTEXTS = ("runtime", "trace")


def scrubbed(event: dict[str, Any], hint: Any = None) -> dict[str, Any]:
    """Return an event with nothing but what is known to be harmless: no bodies, texts, values, words of errors."""
    kept = {name: event[name] for name in _KEPT_OF_AN_EVENT if name in event}
    request = event.get("request") or {}
    kept["request"] = {
        name: str(request[name]).partition("?")[0] for name in _KEPT_OF_A_REQUEST if request.get(name)
    }
    kept["contexts"] = {
        name: value for name, value in (event.get("contexts") or {}).items() if name in _KEPT_CONTEXTS
    }
    kept["exception"] = {
        "values": [_exception(one) for one in (event.get("exception") or {}).get("values", [])]
    }
    if found := logs.request_id.get():
        kept["tags"] = {"request_id": found}
    return kept


def _exception(one: dict[str, Any]) -> dict[str, Any]:
    frames = (one.get("stacktrace") or {}).get("frames", [])
    return {
        "type": one.get("type"),
        "module": one.get("module"),
        "value": "",
        "stacktrace": {
            "frames": [{name: frame[name] for name in _KEPT_OF_A_FRAME if name in frame} for frame in frames]
        },
    }


def options(dsn: str) -> dict[str, Any]:
    """Return what Sentry's client is made with."""
    return {
        "dsn": dsn,
        "before_send": scrubbed,
        "before_breadcrumb": lambda crumb, hint: None,
        "include_local_variables": False,
        "include_source_context": False,
        "max_request_body_size": "never",
        "max_breadcrumbs": 0,
        "traces_sample_rate": 0.0,
        "server_name": "falsestep",
        "auto_session_tracking": False,
    }


def start(dsn: str) -> None:
    """Report failures to `dsn`."""
    import sentry_sdk  # an optional extra: falsestep[sentry]

    sentry_sdk.init(**options(dsn))
