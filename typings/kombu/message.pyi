from logging import Logger
from types import TracebackType

class Message:
    # What the sender has chosen. Both transports refuse headers that are no dictionary.
    body: bytes | str | memoryview
    content_type: str | None
    content_encoding: str | None
    headers: dict[str, object]
    properties: dict[str, object]
    # What the transport has added. `errors` are as of sys.exc_info().
    delivery_info: dict[str, object]
    errors: list[tuple[type[BaseException], BaseException, TracebackType | None]] | None
    def ack_log_error(self, logger: Logger, errors: tuple[type[Exception], ...]) -> None: ...
    def reject_log_error(self, logger: Logger, errors: tuple[type[Exception], ...], requeue: bool = ...) -> None: ...
