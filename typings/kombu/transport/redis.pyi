from typing import Literal

from kombu.transport import virtual
from kombu.transport.base import StdChannel

class Channel(StdChannel):
    Message: type[virtual.Message]
    connection_errors: tuple[type[Exception], ...]
    # The two functions that read an answer of Redis. `c` is the connection of a subscription.
    def _brpop_read(self, **options: object) -> Literal[True]: ...
    def _receive_one(self, c: object) -> Literal[True] | None: ...

class Transport:
    Channel: type[Channel]
    channel_errors: tuple[type[Exception], ...]
