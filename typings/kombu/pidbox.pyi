from collections.abc import Callable

from kombu.entity import Exchange
from kombu.message import Message
from kombu.messaging import Consumer
from kombu.transport.base import StdChannel

class Mailbox:
    reply_exchange: Exchange

class Node:
    hostname: str
    mailbox: Mailbox
    channel: StdChannel | None
    def Consumer(
        self,
        *,
        on_message: Callable[[Message], None] = ...,
        on_decode_error: Callable[[Message, Exception], None] = ...,
    ) -> Consumer: ...
    def reply(self, data: object, exchange: str, routing_key: str, ticket: str) -> None: ...
