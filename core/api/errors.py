"""One shape for every error: {"error": {"code", "message", "fields"?}}."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions, serializers, status
from rest_framework.response import Response

from core.errors import Conflict, UserError

logger = logging.getLogger("falsestep.api")

# What clients branch on; the message is for people and may be reworded.
CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "refused",
    429: "throttled",
    500: "server_error",
    503: "unavailable",
}


class TooLarge(exceptions.APIException):
    """A body longer than settings.DATA_UPLOAD_MAX_MEMORY_SIZE."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "this body is too large"


class ProblemSerializer(serializers.Serializer):
    """What went wrong: a code for programs, a sentence for people, and the fields to mend, if any."""

    code = serializers.ChoiceField(choices=sorted(CODES.values()))
    message = serializers.CharField()
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()), required=False)


class ErrorSerializer(serializers.Serializer):
    """The body of every answer that is an error."""

    error = ProblemSerializer()


LONGEST_NAME, LONGEST_MESSAGE = 200, 2000


def body(code: int, message: str, fields: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Return the body of an error; what it repeats of the request is cut and made fit to be sent."""
    problem: dict[str, Any] = {"code": CODES.get(code, "error"), "message": _fit(message, LONGEST_MESSAGE)}
    if fields:
        problem["fields"] = {
            _fit(name, LONGEST_NAME): [_fit(one, LONGEST_MESSAGE) for one in said]
            for name, said in fields.items()
        }
    return {"error": problem}


def _fit(text: str, length: int) -> str:
    """Return the text, cut, without half characters: JSON can bring them in and UTF-8 cannot take them out."""
    return text[:length].encode("utf-8", "backslashreplace").decode()


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn an exception of a view into an answer; DRF calls this (EXCEPTION_HANDLER)."""
    headers: dict[str, str] = {}
    if isinstance(error, UserError):
        code = status.HTTP_409_CONFLICT if isinstance(error, Conflict) else 422
        field = getattr(error, "field", "")
        return Response(body(code, str(error), {field: [str(error)]} if field else None), status=code)
    if isinstance(error, Http404):
        error = exceptions.NotFound(str(error) or None)
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(str(error) or None)
    elif isinstance(error, RequestDataTooBig):
        error = TooLarge()
    elif isinstance(error, SuspiciousOperation | UnreadablePostError):
        error = exceptions.ParseError()
    if isinstance(error, exceptions.APIException):
        if getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = error.auth_header
        if getattr(error, "wait", None):
            headers["Retry-After"] = f"{error.wait:.0f}"
        fields: dict[str, list[str]] | None = None
        if isinstance(error, exceptions.ValidationError):
            fields = _gathered(error.detail)
            message = "; ".join(f"{name}: {said[0]}" if name else said[0] for name, said in fields.items())
            fields.pop("", None)
        else:
            message = str(error.detail)
        return Response(body(error.status_code, message, fields), status=error.status_code, headers=headers)
    if settings.DEBUG:
        return None
    request = context["request"]
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    got_request_exception.send(sender=None, request=request)
    if isinstance(error, OperationalError | InterfaceError):
        away = body(503, "the database cannot be reached: send the same request again in a moment")
        return Response(away, status=503, headers={"Retry-After": "5"})
    return Response(body(500, "the server failed; the failure is logged"), status=500)


def _gathered(detail: Any) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for name, said in _flat(detail, ""):
        fields.setdefault(name, []).append(said)
    return fields


def _flat(detail: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield (dotted name of the field, message); what belongs to no field has the name ""."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            inner = "" if key == "non_field_errors" else str(key)
            yield from _flat(value, ".".join(part for part in (name, inner) if part))
    elif isinstance(detail, list):
        for place, value in enumerate(detail):
            nested = isinstance(value, dict)
            if nested and not value:
                continue  # an entry of a list without a fault
            yield from _flat(value, f"{name}.{place}" if nested and name else name)
    else:
        yield name, str(detail)
