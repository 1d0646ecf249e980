"""The batch APIs of OpenAI and Anthropic: files, batches, results, each answered by the same scenario."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.llm.server.app import ChatApp, Handler, cut, status_response
from tests.llm.server.dialects import ChatCompletions, Dialect, Messages
from tests.llm.server.scenario import Act, conversation_key


@dataclass
class Job:
    """A batch: what was asked, how often it was polled, and its results once it is over."""

    id: str
    entries: list[tuple[str, dict[str, Any]]]
    tag: str | None = None
    polls: int = 0
    cancelled: bool = False
    invalid: str = ""
    lines: list[dict[str, Any]] | None = None
    counts: dict[str, int] = field(default_factory=dict)


class Batches:
    """Two batch APIs beside the chats of an application, see Scenario.batch."""

    def __init__(self, chat: ChatApp) -> None:
        self._chat = chat
        self._files: dict[str, bytes] = {}
        self._jobs: dict[str, Job] = {}
        self._acts_of: Any = None
        self._acts: deque[Act | None] = deque()

    def add_routes(self, app: web.Application) -> None:
        openai, anthropic = ChatCompletions(), Messages()
        for method, path, dialect, handle in [
            ("POST", "/v1/files", openai, self._upload),
            ("GET", "/v1/files/{id}/content", openai, self._content),
            ("POST", "/v1/batches", openai, self._create_openai),
            ("GET", "/v1/batches", openai, self._list),
            ("GET", "/v1/batches/{id}", openai, self._show_openai),
            ("POST", "/v1/batches/{id}/cancel", openai, self._cancel_openai),
            ("POST", "/v1/messages/batches", anthropic, self._create_anthropic),
            ("GET", "/v1/messages/batches/{id}", anthropic, self._show_anthropic),
            ("GET", "/v1/messages/batches/{id}/results", anthropic, self._results),
            ("POST", "/v1/messages/batches/{id}/cancel", anthropic, self._cancel_anthropic),
        ]:
            app.router.add_route(method, path, self._guarded(dialect, handle))

    @property
    def _plan(self) -> Mapping[str, Any]:
        return self._chat.scenario.batch

    def _guarded(self, dialect: Dialect, handle: Handler) -> Handler:
        """Check the key, and let the next act happen, before or after the work."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            scenario = self._chat.scenario
            self._chat.state.batch_requests += 1
            self._chat.state.last_path = request.path
            self._chat.state.last_headers = {name.lower(): value for name, value in request.headers.items()}
            if scenario.key is not None and dialect.key(request.headers) != scenario.key:
                return status_response(dialect, {"status": 401})
            if self._acts_of is not scenario:
                self._acts_of, self._acts = scenario, deque(self._plan.get("acts", ()))
            act = (self._acts.popleft() if self._acts else None) or {}
            if act.get("do") == "status":
                return status_response(dialect, act)
            if act.get("do") == "hang":
                await asyncio.sleep(act.get("seconds", 60.0))
            if act.get("do") == "drop" and not act.get("paid"):
                return cut(request)
            response = await handle(request)
            if act.get("do") == "cut_body":
                assert isinstance(response, web.Response)
                return await _half(response, request)
            return cut(request) if act.get("do") == "drop" else response

        return guarded

    # OpenAI

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        file_id = f"file-{len(self._files) + 1}"
        self._files[file_id] = upload.file.read()
        return web.json_response({"id": file_id, "object": "file", "purpose": "batch"})

    async def _content(self, request: web.Request) -> web.Response:
        if request.match_info["id"] not in self._files:
            return status_response(ChatCompletions(), {"status": 404})
        return web.Response(body=self._files[request.match_info["id"]])

    async def _create_openai(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        lines = [json.loads(line) for line in self._files[body["input_file_id"]].decode().split("\n") if line]
        assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
        job = self._new("batch_", [(line["custom_id"], line["body"]) for line in lines])
        job.tag = (body.get("metadata") or {}).get("falsestep_tag")
        if len({custom_id for custom_id, _ in job.entries}) < len(job.entries):
            job.invalid = "duplicate_custom_id"
        if len({entry["model"] for _, entry in job.entries}) > 1:
            job.invalid = "mismatched_model"
        job.invalid = self._plan.get("invalid", job.invalid)
        return web.json_response(self._openai(job))

    async def _list(self, request: web.Request) -> web.Response:
        newest_first = [job for job in reversed(self._jobs.values()) if job.id.startswith("batch_")]
        after = request.query.get("after")
        start = 1 + [job.id for job in newest_first].index(after) if after else 0
        size = min(int(request.query.get("limit", 20)), self._plan.get("page", 100))
        page = newest_first[start : start + size]
        data = [self._openai(job) for job in page]
        return web.json_response(
            {"object": "list", "data": data, "has_more": start + size < len(newest_first)}
        )

    async def _show_openai(self, request: web.Request) -> web.Response:
        job = self._jobs.get(request.match_info["id"])
        if job is None:
            return status_response(ChatCompletions(), {"status": 404})
        self._advance(job, ChatCompletions())
        return web.json_response(self._openai(job))

    async def _cancel_openai(self, request: web.Request) -> web.Response:
        job = self._jobs[request.match_info["id"]]
        if job.lines is not None:
            return status_response(ChatCompletions(), {"status": 409, "code": "conflict"})
        job.cancelled = True
        return web.json_response(self._openai(job))

    def _openai(self, job: Job) -> dict[str, Any]:
        total = len(job.entries)
        body: dict[str, Any] = {
            "id": job.id, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "status": "in_progress", "metadata": {"falsestep_tag": job.tag} if job.tag else None,
            "output_file_id": None, "error_file_id": None, "errors": None,
            "request_counts": {"total": total, "completed": 0, "failed": 0},
        }  # fmt: skip
        if job.invalid:
            told = [{"code": job.invalid, "message": "the file is not right", "line": 1, "param": None}]
            return {**body, "status": "failed", "errors": {"object": "list", "data": told}}
        if job.cancelled and job.lines is None:
            return {**body, "status": "cancelling"}
        if job.lines is None:
            return body
        fine = [_line(line) for line in job.lines if line["kind"] == "answer" and line["status"] == 200]
        bad = [_line(line) for line in job.lines if line["kind"] != "answer" or line["status"] != 200]
        for name, lines in (("output_file_id", fine), ("error_file_id", bad)):
            if lines:
                body[name] = f"file-{job.id}-{name}"
                self._files[body[name]] = self._joined(lines)
        body["status"] = self._ending(job, "completed", "expired", "cancelled")
        body["request_counts"] = {"total": total, "completed": len(fine), "failed": len(bad)}
        return body

    # Anthropic

    async def _create_anthropic(self, request: web.Request) -> web.Response:
        body = await request.json()
        entries = [(entry["custom_id"], entry["params"]) for entry in body["requests"]]
        if len({custom_id for custom_id, _ in entries}) < len(entries):
            return status_response(Messages(), {"status": 400})
        return web.json_response(self._anthropic(self._new("msgbatch_", entries)))

    async def _show_anthropic(self, request: web.Request) -> web.Response:
        job = self._jobs.get(request.match_info["id"])
        if job is None:
            return status_response(Messages(), {"status": 404})
        self._advance(job, Messages())
        return web.json_response(self._anthropic(job))

    async def _results(self, request: web.Request) -> web.Response:
        job = self._jobs.get(request.match_info["id"])
        if job is None or job.lines is None:
            return status_response(Messages(), {"status": 404})
        lines = []
        for line in job.lines:
            if line["kind"] != "answer":
                result = {"type": {"expired": "expired", "cancelled": "canceled"}[line["kind"]]}
            elif line["status"] == 200:
                result = {"type": "succeeded", "message": line["body"]}
            else:
                result = {"type": "errored", "error": line["body"]}
            lines.append({"custom_id": line["custom_id"], "result": result})
        return web.Response(body=self._joined(lines), content_type="application/x-jsonl")

    async def _cancel_anthropic(self, request: web.Request) -> web.Response:
        job = self._jobs[request.match_info["id"]]
        if job.lines is not None:
            return status_response(Messages(), {"status": 400})
        job.cancelled = True
        return web.json_response(self._anthropic(job))

    def _anthropic(self, job: Job) -> dict[str, Any]:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        body: dict[str, Any] = {"id": job.id, "type": "message_batch", "request_counts": counts}
        if job.lines is None:
            counts["processing"] = len(job.entries)
            return {**body, "processing_status": "canceling" if job.cancelled else "in_progress"}
        for line in job.lines:
            fine = "succeeded" if line["status"] == 200 else "errored"
            counts[{"answer": fine, "cancelled": "canceled"}.get(line["kind"], line["kind"])] += 1
        # An address elsewhere, where no client may send its key.
        return {**body, "processing_status": "ended", "results_url": "http://127.0.0.1:9/elsewhere"}

    # Both

    def _new(self, prefix: str, entries: list[tuple[str, dict[str, Any]]]) -> Job:
        job = Job(id=f"{prefix}{len(self._jobs) + 1}", entries=entries)
        self._jobs[job.id] = job
        self._chat.state.batches += 1
        return job

    def _advance(self, job: Job, dialect: Dialect) -> None:
        """Count a poll; at the last, answer the requests, which are paid for then."""
        job.polls += 1
        if job.lines is not None or job.invalid:
            return
        if job.polls <= self._plan.get("polls", 0):
            return
        unfinished = self._plan.get("unfinished", 0)
        last = len(job.entries) - unfinished
        job.lines = []
        for number, (custom_id, body) in enumerate(job.entries):
            if number >= last:
                kind = "cancelled" if job.cancelled else "expired"
                job.lines.append({"custom_id": custom_id, "kind": kind, "status": 0, "body": None})
                continue
            self._chat.state.requests += 1
            act = self._chat.act(conversation_key(dialect.conversation(body)), self._chat.scenario.key or "")
            status, answer = 200, None
            if act.get("do") == "status":
                status = act["status"]
                answer = act.get("body", dialect.error(status, act.get("code")))
            else:
                answer = self._chat.answer(dialect, act, body, body["model"])
            line = {"custom_id": custom_id, "kind": "answer", "status": status, "body": answer}
            job.lines.append(line)
        self._spoil(job.lines)

    def _spoil(self, lines: list[dict[str, Any]]) -> None:
        """Change the results as the scenario says, in place."""
        plan = self._plan
        if plan.get("order") == "reversed":
            lines.reverse()
        for custom_id in plan.get("silent", ()):
            lines[:] = [line for line in lines if line["custom_id"] != custom_id]
        for custom_id in plan.get("twice", ()):
            lines += [{**line, "again": True} for line in lines if line["custom_id"] == custom_id]
        for custom_id in plan.get("strangers", ()):
            lines.insert(0, {**lines[0], "custom_id": custom_id})

    def _ending(self, job: Job, ended: str, expired: str, cancelled: str) -> str:
        if job.cancelled:
            return cancelled
        assert job.lines is not None
        return expired if any(line["kind"] == "expired" for line in job.lines) else ended

    def _joined(self, lines: Sequence[dict[str, Any]]) -> bytes:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        return (self._plan.get("noise", "") + text).encode()


def _line(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of OpenAI's files."""
    made: dict[str, Any] = {"id": f"batch_req_{time.time_ns()}", "custom_id": line["custom_id"]}
    if line["kind"] != "answer":
        code = f"batch_{line['kind']}"
        return {**made, "response": None, "error": {"code": code, "message": "it was not asked"}}
    response = {"status_code": line["status"], "request_id": "req-b", "body": line["body"]}
    return {**made, "response": response, "error": None}


async def _half(response: web.Response, request: web.Request) -> web.StreamResponse:
    body = response.body
    assert isinstance(body, bytes)
    stream = web.StreamResponse()
    stream.content_length = len(body)
    await stream.prepare(request)
    await stream.write(body[: len(body) // 2])
    cut(request)
    return stream
