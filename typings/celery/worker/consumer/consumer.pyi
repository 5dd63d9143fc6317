from collections.abc import Callable, Mapping

import celery.bootsteps
from celery import Celery
from celery.worker.request import Request
from celery.worker.worker import WorkController
from kombu.connection import Connection
from kombu.message import Message
from vine import promise

class Consumer:
    class Blueprint(celery.bootsteps.Blueprint): ...

    app: Celery
    controller: WorkController
    connection: Connection
    connection_errors: tuple[type[Exception], ...]
    # The worker passes further arguments by keyword.
    def __init__(
        self,
        on_task_request: Callable[[Request], object],
        *,
        worker_options: Mapping[str, object] | None = ...,
        **kwargs: object,
    ) -> None: ...
    def cancel_task_queue(self, queue: str) -> None: ...
    def create_task_handler(self, promise: type[promise] = ...) -> Callable[[Message], None]: ...
    def on_connection_error_before_connected(self, exc: Exception) -> None: ...
    def on_connection_error_after_connected(self, exc: Exception) -> None: ...
    def on_decode_error(self, message: Message, exc: Exception) -> None: ...
