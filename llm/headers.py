"""Reads from response headers when a provider wants to be asked again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_DURATION = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?"
)
_SECONDS_SINCE_1970 = 1_000_000_000
_MILLISECONDS_SINCE_1970 = 1_000_000_000_000
_RESET = re.compile(r"(?:x-)?ratelimit-reset(?:-\w+)?|anthropic-ratelimit-[\w-]+-reset")
_KEPT = re.compile(
    r"(?:x-|anthropic-)?ratelimit-|retry-after|(?:x-)?request-id$|openai-processing-ms$|cf-ray$"
)


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return the seconds to wait that the headers ask for, at least 0.0, or None where they ask for nothing.

    Understood, in this order: `retry-after-ms`; `Retry-After` in seconds or as an HTTP date; the
    `x-ratelimit-reset*` family where the matching `remaining` is zero or not told, as a duration ("6m0s"),
    in seconds, or as a moment in seconds or milliseconds since 1970; Anthropic's `anthropic-ratelimit-*-reset`
    likewise, as a moment of RFC 3339. `now` is aware of its time zone.
    """
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    if "retry-after" in lower:
        asked = _seconds_or_date(lower["retry-after"], now)
        if asked is not None:
            return asked
    waits = [
        wait
        for name, value in lower.items()
        if _RESET.fullmatch(name)
        and lower.get(name.replace("-reset", "-remaining"), "0") in ("0", "0.0")
        and (wait := _reset(value, now)) is not None
    ]
    return max(waits) if waits else None


def kept(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers worth keeping with a reply, cut at 200 characters: rate limits and request ids."""
    return {name.lower(): value[:200] for name, value in headers.items() if _KEPT.match(name.lower())}


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _seconds_or_date(text: str, now: datetime) -> float | None:
    seconds = _number(text)
    if seconds is not None:
        return max(0.0, seconds)
    moment = _moment(text)
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _moment(text: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _reset(text: str, now: datetime) -> float | None:
    number = _number(text)
    if number is not None:
        if number >= _MILLISECONDS_SINCE_1970:
            number = number / 1000 - now.timestamp()
        elif number >= _SECONDS_SINCE_1970:
            number -= now.timestamp()
        return max(0.0, number)
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        return _seconds_or_date(text, now)
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
