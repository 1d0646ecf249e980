"""The log: one JSON object a line, with the id of its request, and without any text or key of a study.

Whatever a failure says of itself may repeat what was being worked on (PostgreSQL quotes the refused row). So an
exception is told by its class and its place in the code; its words are left out, unless they speak of a connection.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
import uuid
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from django.db import OperationalError

request_id: ContextVar[str] = ContextVar("request_id", default="")

_GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}")
_SECRETS = re.compile(
    r"fs_[0-9a-f]{8}_[\w-]+"  # our tokens
    r"|(?i:bearer|basic)\s+[\w.~+/=-]+"
    r"|\bsk-[\w-]{8,}|\bAIza[\w-]{8,}"  # providers' keys
    r"|(?<=://)[^/\s:@]*:[^/\s@]*(?=@)"  # user:password@
)
_LONGEST = 500
_FIELDS = ("method", "route", "status", "milliseconds", "person", "task", "task_id")
_BEFORE = re.compile(
    r".*/site-packages/|.*/(?=(?:config|core|annotation|verification|adjudication|monitoring|llm|stats)/)"
)


def new_request_id(given: str | None = None) -> str:
    """Return the id that came with a request if it is one (8 to 64 letters, digits, `._-`), or else a new one."""
    return given if given and _GIVEN.fullmatch(given) else uuid.uuid4().hex


def without_secrets(text: str) -> str:
    """Return the text with keys and passwords masked, cut to a length."""
    return _SECRETS.sub("[secret]", text)[:_LONGEST]


def told(error: BaseException) -> str:
    """Return what a log may say of an exception: its class, and its first line if it speaks of a connection."""
    name = type(error).__name__
    if isinstance(error, OperationalError | OSError) and str(error):
        return without_secrets(f"{name}: {str(error).splitlines()[0]}")
    return name


class JsonFormatter(logging.Formatter):
    """Turns a record into one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        content: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
        }
        if found := request_id.get():
            content["request_id"] = found
        content |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1] is not None:
            content["error"] = told(record.exc_info[1])
            content["where"] = [
                f"{_BEFORE.sub('', frame.filename)}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])[-12:]
            ]
        return json.dumps(content, default=str)


def _message(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    args = record.args
    if isinstance(args, tuple):
        args = tuple(told(one) if isinstance(one, BaseException) else one for one in args)
    try:
        text = str(record.msg) % args if args else str(record.msg)
    except (TypeError, ValueError):
        text = str(record.msg)
    if error is not None and str(error):
        # Celery writes the words of a task's failure into its own.
        for words in (repr(error), str(error)):
            text = text.replace(words, type(error).__name__)
    return without_secrets(text.partition("\nTraceback")[0])
