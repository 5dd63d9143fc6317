"""Kombu's transports for Redis and RabbitMQ, hardened against hostile messages in a queue.

Plain kombu decompresses each message whose headers name a compression, however large it becomes. On Redis, where a
message's envelope is JSON in a list, any other element of the list would end the worker.
"""

from __future__ import annotations

import uuid
from queue import Empty
from types import TracebackType
from typing import Literal, TypeAlias

import amqp
from kombu.transport import TRANSPORT_ALIASES, pyamqp, redis, virtual

from db.engine.json_columns import is_object
from workers.rejection_counter import get_rejection_counter

ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]  #: as of sys.exc_info()


class MalformedMessage(Exception):
    """Raised, or stored with a message, when the message could not be decoded. The text is the problem."""


def _error(problem: str) -> list[ExceptionInfo]:
    """Return the problem in the form in which kombu keeps a message's errors until it is received."""
    try:
        raise MalformedMessage(problem)
    except MalformedMessage as error:
        return [(type(error), error, error.__traceback__)]


class RedisMessage(virtual.Message):
    """A message from Redis. Its envelope is always complete, even if the element of the list is no valid message."""

    def __init__(self, payload: object, channel: redis.Channel | None = None):
        envelope: dict[str, object]
        try:
            envelope = _read_envelope(payload)
        except MalformedMessage as problem:
            self.errors = _error(str(problem))
            delivery = {"exchange": "", "routing_key": ""}
            properties = {"delivery_tag": str(uuid.uuid4()), "delivery_info": delivery}
            envelope = {"body": "", "headers": {}, "properties": properties}
        super().__init__(envelope, channel=channel)


def _read_envelope(payload: object) -> dict[str, object]:
    """Return the element of a list as the envelope of a message. Raises MalformedMessage if kombu could not read it."""
    if not is_object(payload) or not is_object(properties := payload.get("properties")):
        raise MalformedMessage("unreadable envelope")
    body, delivery, encoding = payload.get("body"), properties.get("delivery_info"), properties.get("body_encoding")
    if not (isinstance(body, str) and isinstance(properties.get("delivery_tag"), str) and is_object(delivery)):
        raise MalformedMessage("unreadable envelope")
    if not all(isinstance(delivery.get(name), str) for name in ("exchange", "routing_key")):
        raise MalformedMessage("unreadable envelope")
    if encoding is not None and not (encoding == "base64" and body.isascii()):
        raise MalformedMessage("unreadable envelope")
    headers = payload.get("headers") or dict[str, object]()
    if not is_object(headers):
        raise MalformedMessage("unreadable envelope")
    if "compression" in headers:
        raise MalformedMessage("compressed")
    return payload


class RedisChannel(redis.Channel):
    """Reads queues and the broadcasts for worker control and events, and skips elements that are no messages."""

    Message = RedisMessage

    def _brpop_read(self, **options: object) -> Literal[True]:
        try:
            return super()._brpop_read(**options)
        except (Empty, OSError, *self.connection_errors, *redis.Transport.channel_errors):
            raise
        except Exception as error:
            return self._skip(error)

    def _receive_one(self, c: object) -> Literal[True] | None:
        try:
            return super()._receive_one(c)
        except (OSError, *self.connection_errors, *redis.Transport.channel_errors):
            raise
        except Exception as error:  # Empty, too: here it means that the element is unreadable
            return self._skip(error)

    @staticmethod
    def _skip(error: Exception) -> Literal[True]:
        # The broker has removed the element, and it did not become a message.
        get_rejection_counter().add("unreadable envelope", f"{type(error).__name__}: {error}")
        return True


class RedisTransport(redis.Transport):
    Channel = RedisChannel


class RabbitMessage(pyamqp.Message):
    """A message from RabbitMQ. It is never decompressed, even if its headers name a compression."""

    def __init__(self, msg: amqp.Message, channel: pyamqp.Channel | None = None):
        headers = msg.properties.get("application_headers")
        if is_object(headers) and "compression" in headers:
            self.errors = _error("compressed")
        super().__init__(msg, channel)


class RabbitChannel(pyamqp.Channel):
    Message = RabbitMessage


class RabbitConnection(pyamqp.Connection):
    Channel = RabbitChannel


class RabbitTransport(pyamqp.Transport):
    Connection = RabbitConnection


class RabbitTransportTLS(pyamqp.SSLTransport):
    Connection = RabbitConnection


def install_transports() -> None:
    """Make kombu use these transports for its usual URLs, in later connections."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:RedisTransport"
    for scheme in ("amqp", "pyamqp"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:RabbitTransport"
    TRANSPORT_ALIASES["amqps"] = f"{__name__}:RabbitTransportTLS"
