"""Measure the time of a pattern on texts that are made for it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from tests.cpu_limit import cpu_limit

#: After the repeated text: nothing, or a character that many patterns do not expect there.
ENDS = ("", "\0", "x", "\n", " ")
ROUNDS = 3  #: of which the fastest counts


def write_texts(beginning: str, repetition: str, length: int, ends: Sequence[str] = ENDS) -> list[str]:
    """Return texts of that many characters, one with each end."""
    text = beginning + repetition * (length // len(repetition) + 1)
    return [text[: length - len(end)] + end for end in ends]


def measure(pattern: str, flags: int, method: str, texts: list[str]) -> float:
    """Return the processor time in seconds of the slowest text. Raises AssertionError if all take more than 60 s."""
    match = getattr(re.compile(pattern, flags), method)
    slowest = 0.0
    with cpu_limit(60):
        for text in texts:
            rounds = []
            for _ in range(ROUNDS):
                begin = time.process_time()
                match(text)
                rounds.append(time.process_time() - begin)
            slowest = max(slowest, min(rounds))
    return slowest
