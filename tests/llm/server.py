"""A real local server that speaks chat completions, fails as told, and counts what it was paid for.

In a test (any folder): `with serving(Scenario(latency=0.1)) as server:` and point the provider at
`server.url`; or the fixture `chat_server` (`from tests.llm.server import chat_server  # noqa: F401`).
As a process of its own: `python -m tests.llm.server [--port N] [--scenario JSON]` prints its port on the
first line and serves until it is terminated (`Server(port)` steers it). Both are steered over HTTP too:

    PUT  /control/scenario   a Scenario as JSON; counters go on
    POST /control/reset      counters and the consumed parts of the scenario begin anew
    GET  /control/state      the counters, see State

A request is paid for when the server has made its answer, whether or not the client still listens: as with a
real provider, a client killed in the middle is charged. Wait for `in_flight == 0` before counting.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web

NO_ERROR = '{"has_error": 0, "first_error_step": null, "error_confidence": 12, "reason": "every step holds"}'
Act = Mapping[str, Any]
"""What happens to one request: {"do": KIND} and details.

    answer        the scenario's text, or "text"; "finish_reason", "model", "usage", "message" (more fields)
    status        "status" (429, 500, ...), "retry_after" (seconds) or "retry_date" (seconds from now, sent as
                  an HTTP date), "headers", "body" (sent as JSON) or "code" (of a usual error body)
    drop          the connection is cut: before any work, or with "paid": true after it
    truncate      half of the text with finish reason length
    refuse        no content, a refusal field
    filter        no content, finish reason content_filter
    empty         no content, finish reason stop
    not_json      status 200 and something that is no JSON
    not_a_chat    status 200 and JSON that is no chat completion
    cut_body      status 200 and a body that ends in the middle
    trickle       status 200, then blanks for "seconds" before the body
    hang          nothing, for "seconds" (60)

"delay" in seconds is waited before any of them, beside the scenario's latency.
"""


@dataclass
class Scenario:
    """What to answer. What applies first decides: by_key, script, every, max_in_flight, else an answer.

    latency        seconds before each answer
    text           what is answered; `texts` are [needle, text] pairs, the first whose needle is in the last
                   message decides
    script         acts of the next requests, whatever they ask; null answers as usual
    by_key         conversation key -> acts of its next requests
    every          [n, act]: the act of every n-th request
    max_in_flight  more than this many at once get status 429 with `retry_after`
    hold_until     nothing is answered before so many requests were in flight at once (at most 10 s)
    usage          "true", "omit", "lie" (a tenth), "absurd" (negative) or "zero"
    key            what the Authorization must bear; others get 401
    """

    latency: float = 0.0
    text: str = NO_ERROR
    texts: Sequence[Sequence[str]] = ()
    script: Sequence[Act | None] = ()
    by_key: Mapping[str, Sequence[Act | None]] = field(default_factory=dict)
    every: Sequence[Any] | None = None
    max_in_flight: int | None = None
    retry_after: float | None = None
    hold_until: int | None = None
    usage: str = "true"
    key: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scenario:
        unknown = set(data) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"a scenario has no {', '.join(sorted(unknown))}")
        return cls(**data)


@dataclass
class State:
    """What was asked and paid. Keys are those of conversation_key()."""

    requests: int = 0
    paid: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    requests_by_key: dict[str, int] = field(default_factory=dict)
    paid_by_key: dict[str, int] = field(default_factory=dict)
    last_request: dict[str, Any] = field(default_factory=dict)
    last_headers: dict[str, str] = field(default_factory=dict)


def conversation_key(messages: Sequence[Mapping[str, str]]) -> str:
    """Return the key, 16 hex digits, of a conversation as sent: [{"role", "content"}, ...]."""
    plain = json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def tokens(text: str) -> int:
    """Return how many tokens the server charges for a text: one for four bytes begun."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


class ChatApp:
    """The application behind the port: one scenario, one state."""

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
        app.router.add_post("/v1/chat/completions", self.chat)
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

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        key = conversation_key(body["messages"])
        state = self.state
        state.requests += 1
        self._requests[key] += 1
        state.last_request = body
        state.last_headers = {name.lower(): value for name, value in request.headers.items()}
        state.in_flight += 1
        state.most_in_flight = max(state.most_in_flight, state.in_flight)
        try:
            act = self._act(key, request.headers.get("Authorization", ""))
            await asyncio.sleep(self.scenario.latency + act.get("delay", 0.0))
            await self._held()
            response = await self._perform(act, body, key, request)
            self._statuses[str(response.status)] += 1
            return response
        finally:
            state.in_flight -= 1

    async def _held(self) -> None:
        end = time.monotonic() + 10.0
        while self.state.most_in_flight < (self.scenario.hold_until or 0) and time.monotonic() < end:
            await asyncio.sleep(0.005)

    def _act(self, key: str, authorization: str) -> Act:
        scenario, state = self.scenario, self.state
        if scenario.key is not None and authorization != f"Bearer {scenario.key}":
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

    async def _perform(self, act: Act, body: Any, key: str, request: web.Request) -> web.StreamResponse:
        kind = act.get("do", "answer")
        if kind == "status":
            return _status(act)
        if kind == "hang":
            await asyncio.sleep(act.get("seconds", 60.0))
            kind = "drop"
        if kind == "drop" and not act.get("paid"):
            return self._cut(request)
        answer = self._answer(act, kind, body)
        self.state.paid += 1
        self._paid[key] += 1
        text = json.dumps(answer)
        if kind == "drop":
            return self._cut(request)
        if kind == "not_json":
            return web.Response(text="<html>upstream is busy</html>", content_type="text/html")
        if kind == "not_a_chat":
            return web.json_response({"object": "list", "data": []})
        if kind in ("trickle", "cut_body"):
            return await self._stream(act, kind, text, request)
        headers = {"x-request-id": f"req-{self.state.requests}", **act.get("headers", {})}
        return web.Response(text=text, content_type="application/json", headers=headers)

    def _answer(self, act: Act, kind: str, body: Any) -> dict[str, Any]:
        text: str | None = act.get("text", self._text(body["messages"][-1]["content"]))
        finish_reason, refusal = act.get("finish_reason", "stop"), None
        if kind == "truncate":
            text, finish_reason = str(text)[: len(str(text)) // 2], "length"
        elif kind == "filter":
            text, finish_reason = None, "content_filter"
        elif kind == "refuse":
            text, refusal = None, "I cannot help with that."
        elif kind == "empty":
            text = ""
        given = sum(tokens(m["content"]) for m in body["messages"])
        made = tokens(text or refusal or "")
        self.state.input_tokens += given
        self.state.output_tokens += made
        message = {"role": "assistant", "content": text, "refusal": refusal, **act.get("message", {})}
        answer: dict[str, Any] = {
            "id": f"chatcmpl-{self.state.requests}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": act.get("model", f"{body['model']}-served"),
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": message,
                }
            ],
        }
        usage = _usage(act.get("usage", self.scenario.usage), given, made)
        return answer if usage is None else {**answer, "usage": usage}

    def _text(self, prompt: str) -> str:
        for needle, text in self.scenario.texts:
            if needle in prompt:
                return text
        return self.scenario.text

    def _cut(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=499)

    async def _stream(self, act: Act, kind: str, text: str, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if kind == "cut_body":
            response.content_length = len(text)
        await response.prepare(request)
        if kind == "cut_body":
            await response.write(text[: len(text) // 2].encode())
            self._cut(request)
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


def _status(act: Act) -> web.Response:
    headers = dict(act.get("headers", {}))
    if act.get("retry_after") is not None:
        headers["Retry-After"] = f"{act['retry_after']:g}"
    if act.get("retry_date") is not None:
        headers["Retry-After"] = formatdate(time.time() + act["retry_date"], usegmt=True)
    code = act.get("code", "server_error" if act["status"] >= 500 else "rate_limit_exceeded")
    usual = {"error": {"message": f"simulated {act['status']}", "type": code, "code": code, "param": None}}
    return web.json_response(act.get("body", usual), status=act["status"], headers=headers)


def _usage(mode: str, given: int, made: int) -> dict[str, int] | None:
    if mode == "omit":
        return None
    if mode == "lie":
        given, made = given // 10, made // 10
    elif mode == "absurd":
        given, made = -5, -5
    elif mode == "zero":
        given, made = 0, 0
    elif mode != "true":
        raise ValueError(f"no way of telling usage named {mode!r}")
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


@dataclass
class Server:
    """A running server as a test sees it, steered over HTTP."""

    port: int

    @property
    def url(self) -> str:
        """The base_url for a provider."""
        return f"http://127.0.0.1:{self.port}/v1"

    def use(self, scenario: Scenario) -> None:
        """Replace the scenario; counters go on."""
        self._call("PUT", "/control/scenario", asdict(scenario))

    def reset(self, scenario: Scenario | None = None) -> None:
        """Begin the counters anew, with another scenario if given."""
        if scenario is not None:
            self.use(scenario)
        self._call("POST", "/control/reset")

    def state(self) -> State:
        """Return the counters."""
        return State(**self._call("GET", "/control/state"))

    def settled(self, *, within: float = 10.0) -> State:
        """Wait until nothing is in flight and return the counters."""
        end = time.monotonic() + within
        while (state := self.state()).in_flight and time.monotonic() < end:
            time.sleep(0.02)
        assert state.in_flight == 0, f"{state.in_flight} requests are still in flight"
        return state

    def _call(self, method: str, path: str, data: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=json.dumps(data).encode() if data is not None else b"" if method == "POST" else None,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=10
        ) as response:
            return json.load(response)


async def _serve(chat: ChatApp, port: int, ready: Any, stop: asyncio.Event) -> None:
    runner = web.AppRunner(chat.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    ready(runner.addresses[0][1])
    try:
        await stop.wait()
    finally:
        await runner.cleanup()


@contextmanager
def serving(scenario: Scenario | None = None) -> Iterator[Server]:
    """Run a server on a free port in a thread of this process while the block lasts."""
    started, found = threading.Event(), {}

    async def main() -> None:
        found["stop"], found["loop"] = asyncio.Event(), asyncio.get_running_loop()

        def ready(port: int) -> None:
            found["port"] = port
            started.set()

        await _serve(ChatApp(scenario or Scenario()), 0, ready, found["stop"])

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="chat-server", daemon=True)
    thread.start()
    assert started.wait(10), "the chat server did not start"
    try:
        yield Server(found["port"])
    finally:
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(10)


@pytest.fixture
def chat_server() -> Iterator[Server]:
    """A running server that answers "no error" at once, until told otherwise."""
    with serving() as server:
        yield server


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scenario", default="{}", help="a Scenario as JSON")
    options = parser.parse_args()
    chat = ChatApp(Scenario.from_json(json.loads(options.scenario)))

    async def run() -> None:
        await _serve(chat, options.port, lambda port: print(port, flush=True), asyncio.Event())

    with suppress(KeyboardInterrupt):
        asyncio.run(run())


if __name__ == "__main__":
    main()
