"""The local chat server does what its scenario says and counts what it was paid for."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.llm.server import NO_ERROR, Scenario, Server, chat_server, conversation_key, serving

__all__ = ["chat_server"]

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = [{"role": "user", "content": "a question"}]


def post(server: Server, messages: list[dict[str, str]] = MESSAGES, timeout: float = 5.0) -> tuple[int, Any]:
    """Return the status and the body of one request by plain urllib; status 0 for a cut connection."""
    request = urllib.request.Request(
        f"{server.url}/chat/completions",
        data=json.dumps({"model": "m", "messages": messages}).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer k"},
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=timeout
        ) as got:
            return got.status, json.load(got)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers)
    except OSError:
        return 0, None


def test_it_answers_and_counts(chat_server: Server) -> None:
    status, body = post(chat_server)
    assert (status, body["choices"][0]["message"]["content"]) == (200, NO_ERROR)
    state = chat_server.state()
    assert (state.requests, state.paid, state.in_flight, state.statuses) == (1, 1, 0, {"200": 1})
    assert state.paid_by_key == {conversation_key(MESSAGES): 1}
    chat_server.reset()
    assert chat_server.state().requests == 0


def test_a_script_is_followed_request_by_request(chat_server: Server) -> None:
    chat_server.use(
        Scenario(script=[{"do": "status", "status": 429, "retry_after": 2}, None, {"do": "drop"}])
    )
    answers = [post(chat_server) for _ in range(4)]
    assert [status for status, _ in answers] == [429, 200, 0, 200]
    assert answers[0][1]["Retry-After"] == "2"
    state = chat_server.settled()
    assert (state.requests, state.paid) == (4, 2)


def test_acts_can_be_bound_to_a_conversation_or_to_every_nth_request(chat_server: Server) -> None:
    other = [{"role": "user", "content": "another"}]
    chat_server.use(Scenario(by_key={conversation_key(other): [{"do": "status", "status": 500}]}))
    assert [post(chat_server)[0], post(chat_server, other)[0], post(chat_server, other)[0]] == [200, 500, 200]
    chat_server.reset(Scenario(every=[2, {"do": "status", "status": 503}]))
    assert [post(chat_server)[0] for _ in range(4)] == [200, 503, 200, 503]


def test_a_dropped_answer_can_be_paid(chat_server: Server) -> None:
    chat_server.use(Scenario(script=[{"do": "drop", "paid": True}]))
    assert post(chat_server)[0] == 0
    assert chat_server.settled().paid == 1


def test_a_client_that_goes_away_is_charged(chat_server: Server) -> None:
    chat_server.use(Scenario(latency=0.3))
    assert post(chat_server, timeout=0.05)[0] == 0
    assert chat_server.settled().paid == 1


def test_texts_answer_by_what_the_prompt_holds(chat_server: Server) -> None:
    chat_server.use(Scenario(texts=[["another", "A"], ["question", "Q"]]))
    assert post(chat_server)[1]["choices"][0]["message"]["content"] == "Q"


def test_too_many_at_once_are_limited() -> None:
    with serving(Scenario(hold_until=4, max_in_flight=2, retry_after=1)) as server:
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(post(server)[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200, 200, 429, 429]


def test_a_wrong_key_and_a_wrong_scenario_are_refused(chat_server: Server) -> None:
    chat_server.use(Scenario(key="other"))
    assert post(chat_server)[0] == 401
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        chat_server._call("PUT", "/control/scenario", {"latencies": 1})
    refused.value.close()


def test_it_runs_as_a_process_that_prints_its_port() -> None:
    command = [sys.executable, "-m", "tests.llm.server", "--scenario", '{"text": "hello"}']
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            server = Server(int(process.stdout.readline()))
            assert post(server)[1]["choices"][0]["message"]["content"] == "hello"
        finally:
            process.terminate()
