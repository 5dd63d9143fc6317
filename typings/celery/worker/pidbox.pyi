from collections.abc import Callable

from celery import Celery
from celery.worker.consumer import Consumer
from kombu.messaging import Consumer as MessageConsumer
from kombu.pidbox import Node

class _State:
    app: Celery
    consumer: Consumer

class _WorkerNode(Node):
    state: _State

class Pidbox:
    c: Consumer
    node: _WorkerNode
    consumer: MessageConsumer | None
    _forward_clock: Callable[[], int]
    def __init__(self, c: Consumer) -> None: ...
    def start(self, c: Consumer) -> None: ...
    def stop(self, c: Consumer) -> None: ...
    def reset(self) -> None: ...
    def shutdown(self, c: Consumer) -> None: ...
