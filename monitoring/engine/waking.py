"""Waking workers: a message that says which batch has work. Losing it costs time, never work."""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

DRIVE = "monitoring.tasks.drive_batch"
CHUNKS = "monitoring.tasks.step_provider_batches"


def wake(batch_id: int, *, drivers: int = 1) -> None:
    """Ask for workers on a batch once the current transaction is committed."""
    transaction.on_commit(lambda: send(batch_id, drivers=drivers), robust=True)


def send(batch_id: int, *, drivers: int = 1) -> None:
    """Ask for workers on a batch now. A broker that is down is no error: the sweeper asks again."""
    try:
        for _ in range(drivers):
            current_app.send_task(DRIVE, args=[batch_id])
    except (OperationalError, OSError) as error:
        log.warning("batch %s: no broker (%s); the sweeper will ask again", batch_id, error)


def send_chunks(batch_id: int) -> None:
    """Ask for a worker on what a batch has with providers' batch APIs."""
    try:
        current_app.send_task(CHUNKS, args=[batch_id])
    except (OperationalError, OSError) as error:
        log.warning("batch %s: no broker (%s); the sweeper will ask again", batch_id, error)
