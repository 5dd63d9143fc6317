"""Branches of a plan run side by side in real processes, and give the bytes that they give one after the other."""

from __future__ import annotations

import asyncio
import json

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.experts.host import ExpertHost
from lumos_queue.records import Ending
from tests.expert_tasks import ALL, make_task, run_task
from tests.slow_experts import slow_facts

PLAN = "(Text Summarization,)(Fill Mask,)Question Answering,"
SPEC = next(one for one in ALL if one.category == "text+text-text")


def run(monkeypatch, seconds: str, one_by_one: bool) -> dict[str, list[str]]:
    """The values of each variable."""
    names = ("Text Summarization", "Fill Mask", "Question Answering")
    facts = {name: slow_facts(name, seconds) for name in names}
    monkeypatch.setattr("lumos_queue.actions.experts.interface.open_experts", lambda tools: facts)
    host = ExpertHost()
    if one_by_one:
        turn, together = asyncio.Lock(), host.run

        async def alone(*arguments):
            async with turn:
                return await together(*arguments)

        monkeypatch.setattr(host, "run", alone)

    async def run_episode():
        try:
            return await run_task(*make_task(SPEC), PLAN, ExpertActions({}, host=host))
        finally:
            await host.close()

    done, _ = asyncio.run(run_episode())
    assert done.outcome.ending == Ending.ANSWERED, done.outcome
    values = {action.variables[0]: execution.values[0] for action, execution in done.actions}
    assert not any(one["problems"] for one in values.values()), values
    return {name: one["items"] for name, one in values.items()}


def test_branches_overlap_in_time_and_the_join_comes_after_them(monkeypatch):
    found = {name: list(map(json.loads, items)) for name, items in run(monkeypatch, "1.5", False).items()}
    began = {name: items[0][1] for name, items in found.items()}
    ended = {name: items[-1][2] for name, items in found.items()}
    assert began["E1"] < ended["E2"] and began["E2"] < ended["E1"], "both run before either ends"
    assert began["E3"] > max(ended["E1"], ended["E2"])
    assert len({items[0][0] for items in found.values()}) == 3, "each expert has a process of its own"


def test_one_after_the_other_they_give_the_same_bytes(monkeypatch):
    together = run(monkeypatch, "0", False)
    assert run(monkeypatch, "0", True) == together and all(map(all, together.values()))
