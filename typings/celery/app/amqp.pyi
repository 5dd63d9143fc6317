from collections.abc import Iterable, Mapping

from kombu.connection import Connection
from kombu.entity import Queue
from kombu.messaging import Producer

class Queues(dict[str, Queue]):
    @property
    def consume_from(self) -> Mapping[str, Queue]: ...
    def deselect(self, exclude: Iterable[str]) -> None: ...

class AMQP:
    @property
    def queues(self) -> Queues: ...
    def Producer(self, channel: Connection) -> Producer: ...
