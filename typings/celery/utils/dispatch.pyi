from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., None])

class Signal:
    def connect(self, receiver: F) -> F: ...
