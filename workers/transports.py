"""Kombu's transports for Redis and RabbitMQ, hardened against hostile messages in a queue.

Plain kombu decompresses each message whose headers name a compression, however large it becomes. On Redis, where a
message's envelope is JSON in a list, any other element of the list would end the worker.
"""

from __future__ import annotations

import sys
import uuid
from queue import Empty
from typing import Any, Literal

from kombu.transport import TRANSPORT_ALIASES, pyamqp, redis, virtual

from workers.rejection_counter import get_rejection_counter


class MalformedMessage(Exception):
    """Raised, or stored with a message, when the message could not be decoded. The text is the problem."""


def _error(problem: str) -> list[Any]:
    """Return the problem in the form in which kombu keeps a message's errors until it is received."""
    try:
        raise MalformedMessage(problem)
    except MalformedMessage:
        return [sys.exc_info()]


class RedisMessage(virtual.Message):
    """A message from Redis. Its envelope is always complete, even if the element of the list is no valid message."""

    def __init__(self, payload: Any, channel: Any = None, **options: Any):
        problem = _problem(payload)
        if problem:
            self.errors = _error(problem)
            delivery = {"exchange": "", "routing_key": ""}
            properties = {"delivery_tag": str(uuid.uuid4()), "delivery_info": delivery}
            payload = {"body": "", "headers": {}, "properties": properties}
        super().__init__(payload, channel=channel, **options)


def _problem(payload: Any) -> str:
    match payload:
        case {
            "body": str(body),
            "properties": {"delivery_tag": str(), "delivery_info": {**delivery}, **properties},
        } if all(isinstance(delivery.get(name), str) for name in ("exchange", "routing_key")):
            headers = payload.get("headers") or {}
            if not isinstance(headers, dict) or properties.get("body_encoding") not in ("base64", None):
                return "unreadable envelope"
            if properties.get("body_encoding") and not body.isascii():
                return "unreadable envelope"
            return "compressed" if "compression" in headers else ""
    return "unreadable envelope"


class RedisChannel(redis.Channel):
    """Reads queues and the broadcasts for worker control and events, and skips elements that are no messages."""

    Message = RedisMessage

    def _brpop_read(self, **options: Any) -> Literal[True]:
        try:
            return super()._brpop_read(**options)
        except (Empty, OSError, *self.connection_errors, *redis.Transport.channel_errors):
            raise
        except Exception as error:
            return self._skip(error)

    def _receive_one(self, c: Any) -> Literal[True] | None:
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

    def __init__(self, msg: Any, channel: Any = None, **options: Any):
        if "compression" in (msg.properties.get("application_headers") or {}):
            self.errors = _error("compressed")
        super().__init__(msg, channel, **options)


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
