"""The application behind the port: one scenario, one state, three protocols."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from email.utils import formatdate
from typing import Any

from aiohttp import web

from tests.llm.server.dialects import REFUSAL, ChatCompletions, Dialect, GenerateContent, Messages, Said
from tests.llm.server.scenario import Act, Scenario, State, conversation_key, tokens

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ChatApp:
    """Answers as the scenario says, and counts."""

    def __init__(self, scenario: Scenario) -> None:
        self.reset(scenario)

    def reset(self, scenario: Scenario) -> None:
        self.state = State()
        self._requests: Counter[str] = Counter()
        self._paid: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self.use(scenario)

    def use(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._script = deque(scenario.script)
        self._by_key = {key: deque(acts) for key, acts in scenario.by_key.items()}

    def snapshot(self) -> State:
        self.state.statuses = dict(self._statuses)
        self.state.requests_by_key = dict(self._requests)
        self.state.paid_by_key = dict(self._paid)
        return self.state

    def application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._speaking(ChatCompletions()))
        app.router.add_post("/v1/messages", self._speaking(Messages()))
        app.router.add_post("/v1beta/models/{model}:generateContent", self._speaking(GenerateContent()))
        app.router.add_get("/control/state", self._show)
        app.router.add_put("/control/scenario", self._put)
        app.router.add_post("/control/reset", self._reset)
        return app

    async def _show(self, request: web.Request) -> web.Response:
        return web.json_response(asdict(self.snapshot()))

    async def _put(self, request: web.Request) -> web.Response:
        try:
            self.use(Scenario.from_json(await request.json()))
        except (ValueError, TypeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({})

    async def _reset(self, request: web.Request) -> web.Response:
        self.reset(self.scenario)
        return web.json_response({})

    def _speaking(self, dialect: Dialect) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self.talk(dialect, request)

        return handle

    async def talk(self, dialect: Dialect, request: web.Request) -> web.StreamResponse:
        """Answer one request in one protocol."""
        body = await request.json()
        model = request.match_info.get("model") or body["model"]
        key = conversation_key(dialect.conversation(body))
        state = self.state
        state.requests += 1
        self._requests[key] += 1
        state.last_request = body
        state.last_path = request.path
        state.last_headers = {name.lower(): value for name, value in request.headers.items()}
        state.in_flight += 1
        state.most_in_flight = max(state.most_in_flight, state.in_flight)
        try:
            act = self.act(key, dialect.key(request.headers))
            await asyncio.sleep(self.scenario.latency + act.get("delay", 0.0))
            await self._held()
            response = await self._perform(dialect, act, body, model, request)
            self._statuses[str(response.status)] += 1
            return response
        finally:
            state.in_flight -= 1

    async def _held(self) -> None:
        end = time.monotonic() + 10.0
        while self.state.most_in_flight < (self.scenario.hold_until or 0) and time.monotonic() < end:
            await asyncio.sleep(0.005)

    def act(self, key: str, bears: str) -> Act:
        """Return what happens to the next request of a conversation that bears this key."""
        scenario, state = self.scenario, self.state
        if scenario.key is not None and bears != scenario.key:
            return {"do": "status", "status": 401, "code": "invalid_api_key"}
        own = self._by_key.get(key)
        if own:
            return own.popleft() or {}
        if self._script:
            return self._script.popleft() or {}
        if scenario.every and state.requests % scenario.every[0] == 0:
            act: Act = scenario.every[1]
            return act
        if scenario.max_in_flight is not None and state.in_flight > scenario.max_in_flight:
            return {"do": "status", "status": 429, "retry_after": scenario.retry_after}
        return {}

    async def _perform(
        self, dialect: Dialect, act: Act, body: Any, model: str, request: web.Request
    ) -> web.StreamResponse:
        kind = act.get("do", "answer")
        if kind == "status":
            return status_response(dialect, act)
        if kind == "hang":
            await asyncio.sleep(act.get("seconds", 60.0))
            kind = "drop"
        if kind == "drop" and not act.get("paid"):
            return cut(request)
        text = json.dumps(self.answer(dialect, act, body, model))
        if kind == "drop":
            return cut(request)
        if kind == "not_json":
            return web.Response(text="<html>upstream is busy</html>", content_type="text/html")
        if kind == "not_a_chat":
            return web.json_response({"object": "list", "data": []})
        if kind in ("trickle", "cut_body"):
            return await _stream(act, kind, text, request)
        headers = {"x-request-id": f"req-{self.state.requests}", **act.get("headers", {})}
        return web.Response(text=text, content_type="application/json", headers=headers)

    def answer(self, dialect: Dialect, act: Act, body: Any, model: str) -> dict[str, Any]:
        """Make an answer, which is paid for from here on."""
        kind = act.get("do", "answer")
        messages = dialect.conversation(body)
        text: str | None = act.get("text", self._text(messages[-1]["content"]))
        if kind == "truncate":
            text = str(text)[: len(str(text)) // 2]
        elif kind == "empty":
            text = ""
        given = sum(tokens(m["content"]) for m in messages)
        made = tokens(REFUSAL if kind == "refuse" else "" if kind == "filter" else text or "")
        self.state.input_tokens += given
        self.state.output_tokens += made
        self.state.paid += 1
        self._paid[conversation_key(messages)] += 1
        usage = _usage(act.get("usage", self.scenario.usage), given, made)
        served = act.get("model", f"{model}-served")
        return dialect.answer(
            Said(kind=kind, text=text, model=served, act=act, number=self.state.requests, usage=usage)
        )

    def _text(self, prompt: str) -> str:
        for needle, text in self.scenario.texts:
            if needle in prompt:
                return text
        return self.scenario.text


def cut(request: web.Request) -> web.StreamResponse:
    """Cut the connection of a request."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)


async def _stream(act: Act, kind: str, text: str, request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    if kind == "cut_body":
        response.content_length = len(text)
    await response.prepare(request)
    if kind == "cut_body":
        await response.write(text[: len(text) // 2].encode())
        cut(request)
        return response
    end = time.monotonic() + act.get("seconds", 1.0)
    try:
        while time.monotonic() < end:
            await response.write(b" ")
            await asyncio.sleep(0.02)
        await response.write(text.encode())
    except ConnectionError:
        pass  # the client has had enough
    return response


def status_response(dialect: Dialect, act: Act) -> web.Response:
    """Return the answer of a "status" act."""
    headers: dict[str, str] = dict(act.get("headers", {}))
    if act.get("retry_after") is not None:
        headers["Retry-After"] = f"{act['retry_after']:g}"
    if act.get("retry_date") is not None:
        headers["Retry-After"] = formatdate(time.time() + act["retry_date"], usegmt=True)
    body: Mapping[str, Any] = act.get("body", dialect.error(act["status"], act.get("code")))
    return web.json_response(body, status=act["status"], headers=headers)


def _usage(mode: str, given: int, made: int) -> tuple[int, int] | None:
    if mode == "omit":
        return None
    if mode == "lie":
        return given // 10, made // 10
    if mode == "absurd":
        return -5, -5
    if mode == "zero":
        return 0, 0
    if mode != "true":
        raise ValueError(f"no way of telling usage named {mode!r}")
    return given, made
