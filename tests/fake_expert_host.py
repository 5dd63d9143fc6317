"""A fake of the host of experts: runs functions in this process, and remembers when each ran. For tests alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from lumos_queue.actions.experts.options import ALL
from lumos_queue.commands import digest
from lumos_queue.errors import ActionError
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.problems import Problem

Run = Callable[..., "bytes | Problem"]


def fake_facts(name: str) -> BackendFacts:
    return BackendFacts(name, "own:fake", digest("fake", name), "MIT", Fidelity.SUBSTITUTE, EXPERTS[name].output)


class FakeExpertHost:
    """Answers each sample by the expert's function, after `delay` seconds for each call."""

    def __init__(self, functions: Mapping[str, Run], delay: float = 0.0):
        self.functions, self.delay = functions, delay
        self.spans: list[tuple[str, float, float]] = []  #: expert, when it began and ended

    async def run(self, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> list[bytes | Problem]:
        began = time.monotonic()
        await asyncio.sleep(self.delay)
        if facts.expert not in self.functions:
            raise ActionError("expert", f"{facts.expert} cannot be loaded")
        outputs = [self.functions[facts.expert](*sample) for sample in zip(*inputs, strict=True)]
        self.spans.append((facts.expert, began, time.monotonic()))
        return outputs


def use_fakes(monkeypatch, names: Sequence[str] = tuple(EXPERTS)) -> dict[str, str]:
    """Options whose experts are fakes."""
    facts = {name: fake_facts(name) for name in names}
    monkeypatch.setattr("lumos_queue.actions.experts.interface.open_experts", lambda tools: facts)
    return {ALL: "own"}
