"""Celery tasks of what belongs to no study."""

from __future__ import annotations

from celery import shared_task

from core import webhooks


@shared_task(name=webhooks.DELIVER, acks_late=False, time_limit=60)
def deliver(delivery_id: int) -> None:
    """Try once to deliver a webhook's message; the sweeper comes back for what fails."""
    webhooks.deliver(delivery_id)
