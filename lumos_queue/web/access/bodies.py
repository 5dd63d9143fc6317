"""Bodies of requests: their size, and how many a person may send at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Send

from lumos_queue.util.wording import format_bytes


class BodyTooLarge(HTTPException):
    """Raised while reading a body that is larger than its limit."""

    def __init__(self, max_bytes: int):
        super().__init__(413, f"This request may have at most {format_bytes(max_bytes)}.")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a request may do before its body is read."""

    person: str  #: who has logged in; '' for a request without a session
    needs_login: bool  #: whether its route answers only with a session
    max_bytes: int  #: of its body
    max_bodies: int = 1  #: of the person, at once
    max_discarded: int = 0  #: bytes that are received behind an answer, so that the sender reads the answer


class Body:
    """The body of one request, which is received in parts."""

    def __init__(self, headers: Headers, receive: Receive):
        length = headers.get("content-length", "0")
        self.length = int(length) if length.isdecimal() else None  #: bytes; None if the header is no number
        self.is_announced = self.length != 0 or "transfer-encoding" in headers
        self.max_bytes = 0
        self._receive, self._first = receive, None
        self._is_complete, self._size = not self.is_announced, 0
        self._waits_for_consent = "expect" in headers

    async def begin(self) -> bool:
        """Receive the first part. Returns whether more parts follow."""
        self._first = await self._next()
        return not self._is_complete

    async def receive_whole(self) -> None:
        """Receive all parts, as far as `max_bytes` allows."""
        content = bytearray()
        while True:
            self._first = await self._next()
            content += self._first.get("body", b"")
            if self._is_complete or self._size > self.max_bytes:
                break
        if self._first["type"] == "http.request":
            self._first = {**self._first, "body": bytes(content)}

    async def receive(self) -> Message:
        """Return the next part, for the application. Raises BodyTooLarge beyond `max_bytes`."""
        message, self._first = self._first or await self._next(), None
        if self._size > self.max_bytes:
            raise BodyTooLarge(self.max_bytes)
        return message

    def discard_behind(self, send: Send, max_bytes: int) -> Send:
        """Return a function that sends an answer, and receives the rest of the body before the answer ends.

        A connection that is closed before would be reset, and the sender would not read the answer.
        """

        async def send_part(message: Message) -> None:
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last and not self._is_complete and not self._waits_for_consent:
                await send({**message, "more_body": True})
                end = self._size + max_bytes
                while not self._is_complete and self._size < end:
                    await self._next()
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        return send_part

    async def _next(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if not message.get("more_body"):  # the last part, or the sender has left
            self._is_complete = True
        return message


class BodySlots:
    """The bodies that people are sending. Not for use from several threads."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    @contextmanager
    def take(self, person: str, max_bodies: int) -> Iterator[bool]:
        """Take one of the slots of a person. Yields False, without one, if all are taken."""
        if self._counts[person] >= max_bodies:
            yield False
            return
        self._counts[person] += 1
        try:
            yield True
        finally:
            self._counts[person] -= 1
            if not self._counts[person]:
                del self._counts[person]
