"""What happens round every request: an id, a line in the log, a measurement; HEAD answered as GET."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from core import logs, metrics

HEADER = "X-Request-ID"
QUIET = {"metrics"}  # asked every few seconds by machines
logger = logging.getLogger("falsestep.request")


class Observe:
    """Gives a request its id (the one it came with, if any), which the answer and every line of the log repeat.

    The log names the route, never the query string, which may hold words somebody searched for.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = logs.request_id.set(logs.new_request_id(request.headers.get(HEADER)))
        begun = time.perf_counter()
        try:
            response = self.get_response(request)
            seconds = time.perf_counter() - begun
            response[HEADER] = logs.request_id.get()
            match = request.resolver_match
            route = str(match.route) if match and match.route else "none"
            metrics.observe(
                method=request.method or "", route=route, status=response.status_code, seconds=seconds
            )
            if not (match and match.url_name in QUIET) and not request.path.startswith(settings.STATIC_URL):
                person = getattr(request, "user", None)
                logger.info(
                    "request",
                    extra={
                        "method": request.method,
                        "route": route,
                        "status": response.status_code,
                        "milliseconds": round(seconds * 1000, 1),
                        "person": getattr(person, "pk", None) if "user" in request.__dict__ else None,
                    },
                )
            return response
        finally:
            logs.request_id.reset(token)


class AnswerHead:
    """Answer HEAD as GET is answered, without its body, whatever verbs a view names.

    A view that takes no GET refuses HEAD too. Innermost, so that other middleware sees the verb as sent.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Pass the request on, as GET if it is HEAD."""
        if request.method != "HEAD":
            return self.get_response(request)
        request.method = "GET"
        try:
            response = self.get_response(request)
        finally:
            request.method = "HEAD"
        if isinstance(response, StreamingHttpResponse):
            # What it would have read from is closed with the response, by the server.
            response.streaming_content = []
        else:
            body = getattr(response, "content", b"")
            response.headers.setdefault("Content-Length", str(len(body)))
            response.content = b""  # type: ignore[attr-defined]
        return response
