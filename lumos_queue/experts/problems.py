"""Problems of single samples. A problem is a value, so the other samples of the call continue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a sample has no result. `kind` is a stable name that reports count; `message` is one line."""

    kind: str
    message: str


BAD_INPUT = "bad_input"  #: the expert cannot take the sample: a broken or too large image, an empty text
BAD_OUTPUT = "bad_output"  #: the output has a wrong type: NaN, bytes that are no PNG
FAILED = "failed"  #: the expert's code raised
DIED = "died"  #: its process ended
TIMEOUT = "timeout"
MEMORY = "memory"


class SampleError(Exception):
    """Raised by a model for a sample that it cannot process. It becomes a Problem of the kind `kind`."""

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


def one_line(error: BaseException) -> str:
    """Return the message of an exception in one line of at most 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__
