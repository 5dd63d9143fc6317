from collections.abc import Iterable, Mapping

from kombu import messaging
from kombu.entity import Queue

class Queues(dict[str, Queue]):
    @property
    def consume_from(self) -> Mapping[str, Queue]: ...
    def deselect(self, exclude: Iterable[str]) -> None: ...

class AMQP:
    @property
    def queues(self) -> Queues: ...
    Producer: type[messaging.Producer]
