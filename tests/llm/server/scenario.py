"""What the server is told to do, and what it counted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

NO_ERROR = '{"has_error": 0, "first_error_step": null, "error_confidence": 12, "reason": "every step holds"}'
Act = Mapping[str, Any]
"""What happens to one request: {"do": KIND} and details.

    answer        the scenario's text, or "text"; "finish_reason", "model", "usage", and fields put over those
                  of the "message" (of Google's candidate) and of the whole body ("body_fields")
    status        "status" (429, 500, ...), "retry_after" (seconds) or "retry_date" (seconds from now, sent as
                  an HTTP date), "headers", "body" (sent as JSON) or "code" (of a usual error body)
    drop          the connection is cut: before any work, or with "paid": true after it
    truncate      half of the text with finish reason length
    refuse        a refusal, as the protocol tells it
    filter        no content, stopped by a filter
    empty         no content, ended as usual
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
    key            the key that a request must bear; others get 401
    batch          how batches go: "polls" in progress first, "unfinished" (so many at the end expire, or are
                   cancelled), "order" ("reversed"), "silent" (custom ids without any result), "twice",
                   "strangers" (custom ids that nobody asked), "noise" (text before the results), "invalid" (a code
                   with which OpenAI's validation fails), "page" (the most in a list), "acts" of the next requests
                   to the batch APIs: status, drop, hang, cut_body
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
    batch: Mapping[str, Any] = field(default_factory=dict)

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
    batches: int = 0
    batch_requests: int = 0
    last_request: dict[str, Any] = field(default_factory=dict)
    last_path: str = ""
    last_headers: dict[str, str] = field(default_factory=dict)


def conversation_key(messages: Sequence[Mapping[str, str]]) -> str:
    """Return the key, 16 hex digits, of a conversation as sent: [{"role", "content"}, ...]."""
    plain = json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def tokens(text: str) -> int:
    """Return how many tokens the server charges for a text: one for four bytes begun."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)
