"""Middleware of the site."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse


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
            response.close()
            response.streaming_content = []
        else:
            body = getattr(response, "content", b"")
            response.headers.setdefault("Content-Length", str(len(body)))
            response.content = b""  # type: ignore[attr-defined]
        return response
