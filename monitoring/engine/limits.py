"""The engine's times and caps, each with its reason; settings may override them as ENGINE = {...}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings


@dataclass(frozen=True)
class Limits:
    """Times in seconds."""

    lease: float = 60.0  # how long a silent worker on another host keeps its calls
    renew: float = 15.0  # a living worker renews its leases well before they run out
    beat: float = 5.0  # how often a worker process says that it lives
    silent: float = 20.0  # after which it is taken for dead
    slice: float = 120.0  # a driver then makes room for other batches and queues itself anew
    drain: float = 20.0  # what requests in flight get to finish when a worker is told to stop
    patience: float = 20.0  # a driver waits for a retry that is due within this time, else it leaves
    in_flight: int = 256  # requests in flight per worker process
    claim_at_once: int = 64  # rows per claim: bounds the transaction, not the speed
    tries: int = 6  # of a call whose requests fail
    tries_when_limited: int = 20  # a rate limit says come back later, not that the call is bad
    abandoned: int = 40  # a call that was lost this often with its worker is given up
    hopeless: int = 10  # requests of a run that all failed for good, after which its batch is paused
    poll_first: float = 30.0  # to the first look at a provider's batch; later ones wait longer,
    poll_last: float = 600.0  # up to this
    database_down: float = 120.0  # how long a driver waits for the database to come back


def limits() -> Limits:
    """Return the limits in force."""
    overrides: dict[str, Any] = getattr(settings, "ENGINE", {})
    return Limits(**overrides)
