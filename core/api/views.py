"""The base of every view of the API, and the views that belong to no study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, permissions, serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core import idempotency, sudo
from core.access import person_of
from core.api.limits import Pages, heavy
from core.models import ApiToken, Scope, User

PAGING = {Pages.page_query_param, Pages.page_size_query_param}


class ApiView(APIView):
    """A view that gates, reads its input, calls one service and answers.

    `write_scope` is what a token needs to change anything here; `heavy_methods` are counted apart.
    """

    write_scope: ClassVar[str | None] = None
    heavy_methods: ClassVar[frozenset[str]] = frozenset()
    pagination_class = Pages

    @property
    def person(self) -> User:
        """Who asks."""
        return person_of(self.request)

    def confirmed_to_spend(self) -> None:
        """Let a token with the scope `spend` pass, or a browser whose person showed who they are lately.

        Raises PermissionDenied (403) otherwise.
        """
        if isinstance(self.request.auth, ApiToken):
            if Scope.SPEND not in self.request.auth.scope_words:
                raise exceptions.PermissionDenied(
                    f'this costs money, and this token lacks the scope "{Scope.SPEND}"'
                )
        elif not sudo.is_confirmed(self.request._request):
            raise exceptions.PermissionDenied(
                "this costs money: confirm who you are first, at " + reverse("confirm")
            )

    def get_throttles(self) -> Any:
        if self.request.method in self.heavy_methods:
            return heavy(self.request)
        return super().get_throttles()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Let the gates speak first; then a write with an Idempotency-Key is done once."""
        super().initial(request, *args, **kwargs)
        key = request.headers.get("Idempotency-Key")
        method = (request.method or "").lower()
        if key is None or request.method in permissions.SAFE_METHODS or not hasattr(self, method):
            return
        try:
            idempotency.checked_key(key)
        except idempotency.BadKey as error:
            raise exceptions.ParseError(str(error)) from None
        # DRF takes the handler from here next.
        setattr(self, method, partial(self._once, getattr(self, method), key))

    def _once(
        self, handler: Callable[..., Response], key: str, request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        def work() -> tuple[int, str]:
            answer = handler(request, *args, **kwargs)
            return answer.status_code, JSONRenderer().render(answer.data).decode()

        method, address = str(request.method), request.get_full_path()
        kept = idempotency.once(
            person=self.person,
            key=key,
            request=idempotency.fingerprint(method, address, request.data),
            work=work,
        )
        headers = {"Idempotency-Replayed": "true"} if kept.again else None
        return Response(json.loads(kept.text) if kept.text else None, status=kept.status, headers=headers)

    def finalize_response(self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any) -> Any:
        """Let nothing between here and the reader keep an answer: most of them are for one person."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Cache-Control"] = "no-store"
        return answer

    def body(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """Return the checked body of the request; ValidationError (400) says what is wrong with it."""
        return _checked(serializer(data=self.request.data))

    def query(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """Return the checked query string, without what chooses the page of a list."""
        asked = {name: value for name, value in self.request.query_params.items() if name not in PAGING}
        return _checked(serializer(data=asked))

    def listed(
        self,
        rows: Any,
        serializer: type[serializers.Serializer],
        *,
        shown: Callable[[list[Any]], Iterable[Any]] = iter,
    ) -> Response:
        """Answer with one page of `rows`, which have a stable order; `shown` turns its rows into answers."""
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, self.request, view=self)
        return paginator.get_paginated_response(serializer(list(shown(page)), many=True).data)


def _checked(serializer: serializers.Serializer) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


class TokenSerializer(serializers.Serializer):
    """The token of a request."""

    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices), source="scope_words")
    expires_at = serializers.DateTimeField()


class MeSerializer(serializers.Serializer):
    """Who asks, and by which token (null: by a session, which has every scope)."""

    username = serializers.CharField()
    display_name = serializers.CharField()
    token = TokenSerializer(allow_null=True)


class MeView(ApiView):
    """The person of the request."""

    @extend_schema(operation_id="me", responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """Say who asks, and what their token allows."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        person = self.person
        return Response(
            MeSerializer(
                {"username": person.username, "display_name": person.display_name, "token": token}
            ).data
        )


@extend_schema(exclude=True)
class SchemaView(ApiView):
    """The OpenAPI description of this API."""

    def get(self, request: Request) -> Response:
        """Return the description as JSON."""
        return Response(description())


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI document; the addresses do not change while a process runs."""
    return dict(SchemaGenerator().get_schema(request=None, public=True))


@extend_schema(exclude=True)
class NotFoundView(ApiView):
    """Any other address under /api/: an error of the same shape, not a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise exceptions.NotFound("there is nothing at this address; mind the slash at its end")
