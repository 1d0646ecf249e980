"""A provider that answers from a script: for tests, rehearsals and demonstrations, without a network."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from llm.pricing import estimate_tokens
from llm.types import BadProvider, ChatRequest, Message, ProviderError, Reply

Line = str | Reply | Exception
Script = Callable[[ChatRequest], "Line | Awaitable[Line]"] | Sequence[Line]


class Scripted:
    """Answers each request with the next line of a list, or with what a function says.

    A line is a text, a whole Reply, or an exception to raise (a ProviderError, normally). A list that has
    come to its end raises a permanent ProviderError, or begins anew with `repeat`. `delay` in seconds is
    waited before each answer. `requests` holds what was asked, `most_in_flight` how many waited at once.
    """

    def __init__(self, script: Script, *, delay: float = 0.0, repeat: bool = False) -> None:
        self._script = script
        self._delay = delay
        self._repeat = repeat
        self._next = 0
        self.requests: list[ChatRequest] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.closed = False

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Scripted:
        """Make one of plain data: {"reply": text}, {"replies": [text], "repeat"?} or {"by_key": {key: text}}.

        `delay` is understood beside each. Raises BadProvider for anything else.
        """
        delay = options.get("delay", 0.0)
        kinds = [name for name in ("reply", "replies", "by_key") if name in options]
        unknown = set(options) - {"reply", "replies", "by_key", "delay", "repeat"}
        if len(kinds) != 1 or unknown or not isinstance(delay, (int, float)):
            raise BadProvider("a script needs one of reply, replies, by_key, and at most delay and repeat")
        script = options[kinds[0]]
        if kinds[0] == "reply" and isinstance(script, str):
            return cls([script], delay=delay, repeat=True)
        if kinds[0] == "replies" and isinstance(script, list) and all(isinstance(s, str) for s in script):
            return cls(script, delay=delay, repeat=bool(options.get("repeat", False)))
        if kinds[0] == "by_key" and isinstance(script, dict):
            return cls(lambda request: _looked_up(script, request), delay=delay)
        raise BadProvider(f"the script's {kinds[0]} is of the wrong kind")

    async def complete(self, request: ChatRequest) -> Reply:
        """Return the next answer of the script, or raise what it says."""
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            line = self._line(request)
            if inspect.isawaitable(line):
                line = await line
            if self._delay:
                await asyncio.sleep(self._delay)
        finally:
            self.in_flight -= 1
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Reply):
            return line
        return Reply(
            text=line,
            finish_reason="stop",
            served_model=request.model,
            input_tokens=estimate_tokens(request.messages),
            output_tokens=estimate_tokens([Message("assistant", line)]),
            latency_ms=round(self._delay * 1000),
        )

    def _line(self, request: ChatRequest) -> Line | Awaitable[Line]:
        if callable(self._script):
            return self._script(request)
        if self._next >= len(self._script):
            if not self._repeat or not self._script:
                return ProviderError("the script has come to its end", kind="permanent")
            self._next = 0
        self._next += 1
        return self._script[self._next - 1]

    async def aclose(self) -> None:
        """Note that it was closed."""
        self.closed = True


def _looked_up(script: Mapping[str, Any], request: ChatRequest) -> Line:
    """Return the script's line for the key; without one, for the key without its last "|part", and so on."""
    key = request.key
    while key:
        line = script.get(key)
        if isinstance(line, str):
            return line
        key = key.rpartition("|")[0]
    return ProviderError(f"the script has no answer for {request.key!r}", kind="permanent")
