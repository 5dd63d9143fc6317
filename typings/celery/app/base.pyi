from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from celery.app.amqp import AMQP
from celery.app.control import Control
from celery.app.task import Task
from celery.app.utils import Settings
from celery.loaders.base import BaseLoader
from kombu.clocks import LamportClock
from kombu.connection import Connection
from kombu.messaging import Producer

P = ParamSpec("P")
R = TypeVar("R")

class Celery:
    conf: Settings
    clock: LamportClock
    def __init__(
        self,
        main: str | None = ...,
        *,
        loader: type[BaseLoader] | None = ...,
        set_as_current: bool = ...,
        broker: str | None = ...,
        include: Sequence[str] | None = ...,
    ) -> None: ...
    @property
    def amqp(self) -> AMQP: ...
    @property
    def control(self) -> Control: ...
    # The task, which is called with the function's arguments.
    def task(self, *, name: str, base: type[Task] = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def send_task(
        self,
        name: str,
        args: Sequence[object] | None = ...,
        *,
        producer: Producer | None = ...,
        retry: bool = ...,
        ignore_result: bool = ...,
        queue: str = ...,
    ) -> object: ...
    def connection_for_write(self, url: str | None = ..., *, connect_timeout: float = ...) -> Connection: ...
