"""CPU time and tokens at the beginning of each optimizer step."""

from __future__ import annotations

import time

WARM_UP = 4  #: steps that are not counted: memory is first touched and kernels are chosen in them


class StepClock:
    def __init__(self) -> None:
        self.tokens = 0  #: seen so far, without padding
        self._stamps: list[tuple[float, int]] = []

    def start_step(self) -> None:
        self._stamps.append((time.process_time(), self.tokens))

    def rate(self) -> float:
        """Tokens per CPU second of all threads, from the first counted step to the end of the last."""
        self.start_step()
        (began, before), (end, after) = self._stamps[WARM_UP], self._stamps[-1]
        return (after - before) / (end - began)
