"""A client of Falsestep's API, to copy and to build on: the standard library only.

export FALSESTEP_SITE=http://127.0.0.1:8000 FALSESTEP_TOKEN=fs_... FALSESTEP_STUDY=sample
python examples/client.py rules,always BLIND      # launch a batch, wait for its end, print how it stands
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any


class Refused(Exception):
    """The site said no; `status` and `code` are for programs, the text is for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code = status, code


class Falsestep:
    """Asks one site in one person's name. A request that cannot be answered just now is sent again."""

    def __init__(self, site: str, token: str, *, timeout: float = 30.0, attempts: int = 5) -> None:
        if not site.startswith(("http://", "https://")):
            raise ValueError("the site's address begins with http:// or https://")
        self._root = site.rstrip("/") + "/api/v1/"
        self._token = token
        self._timeout = timeout
        self._attempts = attempts

    def get(self, path: str, **query: Any) -> Any:
        """Return the answer to a read."""
        return self._ask("GET", f"{path}?{urllib.parse.urlencode(query, doseq=True)}" if query else path)

    def all(self, path: str, **query: Any) -> Iterator[Any]:
        """Yield every row of a list, page by page."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            page = self._ask("GET", page["next"].split("/api/v1/", 1)[1])

    def post(self, path: str, body: Any = None) -> Any:
        """Return the answer to a write; sent again after a failure it is still done once, thanks to its key."""
        return self._ask("POST", path, body, key=str(uuid.uuid4()))

    def put(self, path: str, body: Any) -> Any:
        """Like `post`, for what is put in a place."""
        return self._ask("PUT", path, body, key=str(uuid.uuid4()))

    def _ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(1, self._attempts + 1):
            request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
                self._root + path, method=method, data=data, headers=headers
            )
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as answer:  # noqa: S310
                    return json.load(answer)
            except urllib.error.HTTPError as refused:
                if refused.code not in (429, 500, 502, 503, 504) or attempt == self._attempts:
                    raise _told(refused) from None
                wait = float(refused.headers.get("Retry-After") or 2**attempt)
                refused.close()
            except OSError:
                if attempt == self._attempts:
                    raise
                wait = 2.0**attempt
            time.sleep(wait)
        raise AssertionError("not reached")


def _told(refused: urllib.error.HTTPError) -> Refused:
    with refused:
        try:
            error = json.load(refused)["error"]
            return Refused(refused.code, error["code"], error["message"])
        except (ValueError, KeyError, TypeError):  # a proxy before the site speaks in its own words
            return Refused(refused.code, "unknown", refused.reason)


def is_genuine(body: bytes, signature: str, secret: str, *, oldest: float = 300.0) -> bool:
    """Whether a webhook's message is the site's: header Falsestep-Signature, not older than `oldest` seconds."""
    parts = dict(part.split("=", 1) for part in signature.split(",") if "=" in part)
    at = parts.get("t", "")
    if not at.isdecimal() or abs(time.time() - int(at)) > oldest:
        return False
    wanted = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted, parts.get("v1", ""))


def main(monitors: str, conditions: str) -> None:
    """Launch a batch of monitors under conditions, wait for its end and print how it stands."""
    site = Falsestep(os.environ["FALSESTEP_SITE"], os.environ["FALSESTEP_TOKEN"])
    study = f"studies/{os.environ['FALSESTEP_STUDY']}/"
    batch = site.post(
        f"{study}batches/",
        {"monitors": monitors.split(","), "conditions": conditions.split(","), "max_cost": None},
    )
    print(f"batch {batch['number']} launched")
    while batch["status"] == "running":
        time.sleep(float(os.environ.get("FALSESTEP_EVERY", "5")))
        batch = site.get(f"{study}batches/{batch['number']}/")
    print(f"batch {batch['number']} {batch['status']}")
    print("batches so far:", sum(1 for _ in site.all(f"{study}batches/", page_size=1)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: client.py MONITORS CONDITIONS, each with commas between")
    try:
        main(sys.argv[1], sys.argv[2])
    except Refused as error:
        raise SystemExit(str(error)) from None
