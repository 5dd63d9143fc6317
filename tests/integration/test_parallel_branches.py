"""Branches of a plan run side by side in real processes, and give the bytes that they give one after the other."""

from __future__ import annotations

import asyncio
from itertools import combinations

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.experts.host import ExpertHost
from lumos_queue.records import Ending
from tests.expert_tasks import ALL, make_task, run_task
from tests.slow_experts import slow_facts

NAMES = ("Image Super Resolution", "Fill Mask", "Visual Question Answering")
SPEC = next(one for one in ALL if one.plan.names == NAMES)


def run(log, monkeypatch, seconds: str, one_by_one: bool) -> tuple[list[tuple[str, str, float, float]], dict]:
    """When each sample of each expert ran, and what came out."""
    facts = {name: slow_facts(name, str(log), seconds) for name in NAMES}
    monkeypatch.setattr("lumos_queue.actions.experts.interface.open_experts", lambda tools: facts)
    host = ExpertHost()

    async def run_episode():
        if one_by_one:
            turn, together = asyncio.Lock(), host.run

            async def alone(*arguments):
                async with turn:
                    return await together(*arguments)

            monkeypatch.setattr(host, "run", alone)
        try:
            return await run_task(*make_task(SPEC), SPEC.plan.write(), ExpertActions({}, host=host))
        finally:
            await host.close()

    done, journal = asyncio.run(run_episode())
    assert done.outcome.ending == Ending.ANSWERED, done.outcome
    lines = [line.split(",") for line in log.read_text().splitlines()]
    values = {action.variables: execution.values for action, execution in done.actions}
    return [(name, pid, float(began), float(ended)) for name, pid, began, ended in lines], {
        "values": values, "artifacts": journal.artifacts, "answer": done.outcome.answer,
    }  # fmt: skip


def overlap(spans) -> set[frozenset[str]]:
    """Experts that ran at the same time."""
    return {
        frozenset((one[0], other[0]))
        for one, other in combinations(spans, 2)
        if one[2] < other[3] and other[2] < one[3]
    }


def test_branches_overlap_and_give_the_same_bytes_one_after_the_other(tmp_path, monkeypatch):
    spans, found = run(tmp_path / "together", monkeypatch, "1.0", one_by_one=False)
    assert overlap(spans) == {frozenset(NAMES[:2])}, "both branches run before either ends, and the join after them"
    assert len({pid for _, pid, _, _ in spans}) == 3, "each expert has a process of its own"
    apart, again = run(tmp_path / "apart", monkeypatch, "0.0", one_by_one=True)
    assert not overlap(apart) and again == found
