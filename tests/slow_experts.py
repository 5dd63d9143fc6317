"""Slow experts of texts in real processes, whose output contains the time of their run."""

from __future__ import annotations

import json
import os
import time

from lumos_queue.commands import digest
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.base import Kind


def slow_facts(expert: str, seconds: str) -> BackendFacts:
    loading = Loading("tests.slow_experts:Slow", {"seconds": seconds}, 256 * MIB)
    return BackendFacts(expert, "own:", digest("slow", expert), "MIT", Fidelity.SUBSTITUTE, Kind.TEXT, loading=loading)


class Slow:
    """Answers with its process and, where that took time, when it began and ended; else with its inputs."""

    def __init__(self, seconds: str):
        self.seconds = float(seconds)

    def run(self, *inputs: bytes) -> bytes:
        if not self.seconds:
            return b" & ".join(inputs)
        began = time.monotonic()  # the same clock in all processes
        time.sleep(self.seconds)
        return json.dumps([os.getpid(), began, time.monotonic()]).encode()
