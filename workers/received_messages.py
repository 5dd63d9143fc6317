"""Read the body of a message from the broker: its form and size are checked first, and only JSON is decoded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol, TypeGuard


class MessageRejected(Exception):
    """Raised for a message that lumos-queue has not sent. The text is the reason, and the name of a count."""


class ReceivedMessage(Protocol):
    """The parts of a message of kombu's that are checked. Its sender chose them, so they may have any type."""

    @property
    def content_type(self) -> object: ...

    @property
    def content_encoding(self) -> object: ...

    @property
    def headers(self) -> object: ...

    @property
    def body(self) -> object: ...

    @property
    def delivery_info(self) -> Mapping[str, object] | None:
        """The transport's own values, such as the queue as `routing_key`."""
        ...


def is_body(value: object) -> TypeGuard[bytes | str | memoryview[int]]:
    """Whether a value is of a type that a transport gives to bodies."""
    return isinstance(value, bytes | str | memoryview)


def check_form(message: ReceivedMessage, max_bytes: int) -> bytes | str:
    """Return the body, which claims to be JSON. Raises MessageRejected for another form, and for a larger body."""
    body = message.body
    if message.content_type != "application/json" or message.content_encoding not in ("utf-8", "utf8"):
        raise MessageRejected("not JSON")
    if not is_body(body) or len(body) > max_bytes:
        raise MessageRejected("too large")
    return bytes(body) if isinstance(body, memoryview) else body


def decode_body(body: bytes | str) -> object:
    """Return the JSON value of a body. Raises MessageRejected if there is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise MessageRejected("unreadable body") from None
