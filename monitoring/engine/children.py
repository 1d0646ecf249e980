"""Processes that we start end with us: in order on SIGTERM or a closed terminal, by the kernel on SIGKILL."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

_PR_SET_PDEATHSIG = 1
ENDING = (signal.SIGTERM, signal.SIGHUP)


def ends_with_us() -> Callable[[], None] | None:
    """Return a `preexec_fn` that has the kernel send the child SIGTERM once we are gone; None off Linux.

    Nothing of ours runs after a SIGKILL, so that only the kernel can see to a child then.
    """
    if sys.platform != "linux":
        return None
    libc, parent = ctypes.CDLL(None), os.getpid()

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # we were killed before the child could ask
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, so that our children are stopped on the way."""
    before: dict[signal.Signals, object] = {}
    # Outside the main thread there are no signals to handle: whoever runs us sees to them.
    with contextlib.suppress(ValueError):
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                before[number] = signal.signal(number, _exit)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
