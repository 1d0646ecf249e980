"""The brokers' transports, made to bear what kills a worker otherwise: entries that are none, a broker that restarts.

A message only wakes a worker, so one that cannot be read, or cannot be put back, is logged and let go.
"""

from __future__ import annotations

import logging
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem, redis, virtual

log = logging.getLogger(__name__)


class PatientQoS(redis.QoS):
    """Unread messages go back when a connection closes, and are let go if the broker is gone with it."""

    def restore_unacked(self, client: Any = None) -> Any:
        """Put back what was taken and not acknowledged; return what could not be (nothing: it is let go)."""
        try:
            return super().restore_unacked(client)
        except Exception as error:
            # kombu has forgotten by then where the broker was (an AttributeError), or it does not answer.
            log.warning("messages could not be put back, and are let go: %s", error)
            return []


class RedisChannel(redis.Channel):
    """Takes messages from Redis, and drops what is none."""

    QoS = PatientQoS

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]
        except ValueError as error:
            log.error("an entry of the broker is no JSON, and is dropped: %s", error)
            raise Empty from error


class FilesystemChannel(filesystem.Channel):
    """Takes messages from files, and drops what is none."""

    def _get(self, queue: str, timeout: Any = None) -> Any:
        while True:
            try:
                return super()._get(queue)
            except ValueError as error:
                log.error("a file of the broker is no JSON, and is dropped: %s", error)


class _Decoder:
    """Decodes bodies as every channel does, with no connection behind it."""

    codecs = virtual.Channel.codecs
    decode_body = virtual.Channel.decode_body


class _Bearing:
    """Delivers what is a message."""

    def _deliver(self, message: Any, queue: str) -> None:
        try:
            virtual.Message(payload=message, channel=_Decoder())  # type: ignore[arg-type]
        except Exception as error:
            log.error(
                "an entry of the broker is no message, and is dropped: %s: %s", type(error).__name__, error
            )
            return
        super()._deliver(message, queue)  # type: ignore[misc]


class RedisTransport(_Bearing, redis.Transport):  # type: ignore[misc]
    """Redis."""

    Channel = RedisChannel


class FilesystemTransport(_Bearing, filesystem.Transport):  # type: ignore[misc]
    """Files in a folder."""

    Channel = FilesystemChannel


def install() -> None:
    """Have `redis://` and `filesystem://` mean these transports."""
    TRANSPORT_ALIASES["redis"] = f"{__name__}:RedisTransport"
    TRANSPORT_ALIASES["rediss"] = f"{__name__}:RedisTransport"
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:FilesystemTransport"
