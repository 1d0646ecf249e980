"""Symbolic equality, asked of a computer algebra system in a process of its own with limits."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from verification.comparators.outcome import Comparison, Verdict, undecided, unreadable

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 30.0
SECONDS = 5.0
PROCESSOR_SECONDS = 120
MEGABYTES = 1_024
MAX_REPLY = 100_000


class CasUnavailable(Exception):
    """The process did not start, or died."""


class Cas:
    """One process of the computer algebra system, started when first asked and again after it was stopped.

    `seconds` is the time for one comparison; after it the process is killed and the answer is "undecided".
    """

    def __init__(self, *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> None:
        self.seconds = seconds
        self.megabytes = megabytes
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def __enter__(self) -> Cas:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if one runs."""
        process, self._process, self._rest = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()

    def compare(self, key: str, answer: str, *, positive: bool = False) -> Comparison:
        """Compare two formulas within the limits; `positive`: all symbols stand for positive numbers."""
        odd = unreadable(key, answer)
        if odd is not None:
            return odd
        try:
            line = self._ask(json.dumps([key, answer, positive]))
        except TimeoutError:
            self.close()
            return undecided(f"not settled within {self.seconds:g} s")
        except (CasUnavailable, OSError):
            self.close()
            return undecided("the computer algebra system was stopped by its limits")
        verdict, reason = json.loads(line)
        return Comparison(Verdict(verdict), reason)

    def _ask(self, question: str) -> bytes:
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(question.encode() + b"\n")
        process.stdin.flush()
        return self._line(process, self.seconds)

    def _start(self) -> subprocess.Popen[bytes]:
        # An environment of its own: nothing of the site's secrets reaches the process.
        environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "verification.comparators.cas",
                str(PROCESSOR_SECONDS),
                str(self.megabytes),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=environment,
        )
        self._line(self._process, START_SECONDS)
        return self._process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if not select.select([process.stdout], [], [], left)[0]:
                raise TimeoutError
            part = os.read(process.stdout.fileno(), 65_536)
            if not part or len(self._rest) > MAX_REPLY:
                raise CasUnavailable
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line


@dataclass(frozen=True)
class SymbolicEquality:
    """Compares formulas. Give one `cas` to many comparisons; without it each starts a process of its own."""

    cas: Cas | None = None
    positive: bool = False

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the two formulas are the same function of the same symbols."""
        if self.cas is not None:
            return self.cas.compare(key, answer, positive=self.positive)
        with Cas() as cas:
            return cas.compare(key, answer, positive=self.positive)
