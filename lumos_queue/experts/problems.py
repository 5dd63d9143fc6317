"""Why an expert gave no result for a sample: a value, so that the other samples of the call go on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """`kind` is a short stable name, counted in reports; `message` is one line."""

    kind: str
    message: str


BAD_INPUT = "bad_input"  #: the sample is not what the expert takes: a broken or too large image, an empty text
BAD_OUTPUT = "bad_output"  #: the expert answered something that is not of its type: NaN, bytes that are no PNG
FAILED = "failed"  #: the expert's code raised
DIED = "died"  #: its process ended
TIMEOUT = "timeout"
MEMORY = "memory"


class SampleError(Exception):
    """Raised by a model for a sample that it cannot do; becomes a Problem of that kind."""

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


def one_line(error: BaseException) -> str:
    """What an exception says, short enough for a table."""
    return " ".join(str(error).split())[:200] or type(error).__name__
