"""Who holds a lease: a name per process by which others on the same host can tell whether it still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_known: dict[int, str] = {}


def host() -> str:
    """Return a name of this host and its process namespace: in two containers pid 7 is two processes."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - follows the magic link
    except OSError:
        namespace = 0
    return f"{socket.gethostname()[:60]}/{namespace}"


def owner() -> str:
    """Return the name under which this process holds leases; a forked child has one of its own."""
    pid = os.getpid()
    if pid not in _known:
        _known.clear()
        _known[pid] = f"{host()}:{pid}:{_birth(pid)}"
    return _known[pid]


def is_gone(name: str) -> bool:
    """Whether the process of that name is certainly dead: it was on this host and is no more.

    False where that cannot be told, as of another host: then its leases run out by themselves.
    """
    place, _, rest = name.partition(":")
    pid_text, _, birth = rest.partition(":")
    if place != host() or not pid_text.isdigit():
        return False
    pid = int(pid_text)
    if Path("/proc/self/stat").exists():
        return _birth(pid) != birth
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _birth(pid: int) -> str:
    """Return when a process started, in kernel ticks, so that a reused pid is not taken for it.

    Empty if it does not run: a zombie is dead already, and only waits for its parent.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    state, *others = fields.rpartition(")")[2].split()
    return "" if state in "ZX" else others[18]
