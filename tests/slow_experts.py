"""Experts that take their time and say when they ran, in real processes."""

from __future__ import annotations

import os
import time

from lumos_queue.commands import digest
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.catalogue import EXPERTS


def slow_facts(expert: str, log: str, seconds: str) -> BackendFacts:
    loading = Loading("tests.slow_experts:Slow", {"expert": expert, "log": log, "seconds": seconds}, 256 * MIB)
    return BackendFacts(expert, "own:", digest("slow", expert), "MIT", Fidelity.SUBSTITUTE, EXPERTS[expert].output,
                        loading=loading)  # fmt: skip


class Slow:
    """Gives an image back as it is, and texts joined; writes when it began and ended."""

    def __init__(self, expert: str, log: str, seconds: str):
        self.expert, self.log, self.seconds = expert, log, float(seconds)

    def run(self, *inputs: bytes) -> bytes:
        began = time.monotonic()
        time.sleep(self.seconds)
        with open(self.log, "a") as file:
            file.write(f"{self.expert},{os.getpid()},{began},{time.monotonic()}\n")
        if len(inputs) == 1:
            return inputs[0]
        return b"%d bytes: " % len(inputs[0]) + inputs[1]
