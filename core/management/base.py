"""What our commands share: exit status 1 with a plain sentence on failure, 2 on bad usage."""

from __future__ import annotations

import json
import os
import select
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from core.errors import UserError

UNDEFINED_TABLE = "42P01"  # PostgreSQL's code for it
BROKEN_PIPE = 128 + 13  # what a shell reports for a program that SIGPIPE ended
# Django prints a command's error as "NAME OF ITS CLASS: text"; people should read "error: text".
Refused = type("error", (CommandError,), {"__doc__": "What ends a command with one plain sentence."})


def count(number: int, noun: str) -> str:
    """Return "1 trace", "2 traces", "2 entries"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def _lacks_a_table(error: Exception) -> bool:
    return "no such table" in str(error) or getattr(error.__cause__, "sqlstate", None) == UNDEFINED_TABLE


class FalsestepCommand(BaseCommand):
    """A command whose domain errors become `error: ...` on stderr and exit status 1."""

    def run(self, **options: Any) -> None:
        """Do the work; raise UserError for what the caller can mend."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.run(**options)
            self.stdout.flush()
        except UserError as error:
            raise Refused(str(error), returncode=1) from error
        except (OperationalError, ProgrammingError) as error:
            if _lacks_a_table(error):
                told = "the database lacks tables of this version: run `python manage.py migrate`"
            elif isinstance(error, OperationalError):
                told = f"the database cannot be used: {' '.join(str(error).split())}"
            else:
                raise
            raise Refused(told, returncode=1) from error
        except BrokenPipeError:
            self._end_if_nobody_reads()
            raise

    def _end_if_nobody_reads(self) -> None:
        """End quietly, as other programs do, when the reader of our output (`| head`) has gone."""
        watch = select.poll()
        watch.register(sys.stdout.fileno(), 0)
        if any(event & select.POLLERR for _, event in watch.poll(0)):
            # What is still buffered must go somewhere, or Python complains when it exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(BROKEN_PIPE)

    def say(self, text: str = "") -> None:
        """Write one line to standard output."""
        self.stdout.write(text)

    def write_json(self, path: str | None, content: Any) -> None:
        """Write `content` to `path` (`-` is standard output); numbers unrounded, NaN refused."""
        if not path:
            return
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        if path == "-":
            self.stdout.write(text)
            return
        try:
            Path(path).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}") from error
