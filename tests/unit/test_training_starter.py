"""The model folders that ship: small, loadable, and able to answer problems of the families they were trained on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.benchmarks.wordmath.grammar import generate
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.local import Local
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS, starter_names
from lumos_queue.prompts.agent import Agent

STARTER = Path(__file__).resolve().parents[2] / "models" / "starter"


def test_the_folders_are_under_twenty_four_megabytes_together():
    assert sum(path.stat().st_size for path in STARTER.rglob("*") if path.is_file()) < 24_000_000


@pytest.mark.parametrize("name", starter_names())
def test_the_instruction_heads_cost_one_token(name):
    from transformers import AutoTokenizer

    from lumos_queue.training.starter.work import list_phrases

    tokenizer = AutoTokenizer.from_pretrained(STARTER / name, local_files_only=True)
    lengths = [len(tokenizer(phrase, add_special_tokens=False)["input_ids"]) for phrase in list_phrases()]
    assert set(lengths) == {1}


@pytest.mark.parametrize("name", starter_names())
def test_a_third_of_the_new_problems_of_the_trained_families_are_answered_correctly(name):
    agent = Agent(roles={}, domain="maths")

    async def right() -> int:
        endpoint, actions = Local(f"local:{STARTER / name}", STARTER / name), DOMAINS.load("maths").open_actions()
        executor = Executor({"planner": endpoint, "grounder": endpoint}, actions, agent.sampling, seed=0)
        tasks = list(generate("familiar", 24, seed=1))

        async def answered(task):
            async with executor.for_episode(task, 0) as perform:
                return (await run_episode(FORMULATIONS.load(name), task, agent, MemoryJournal(), perform)).outcome

        try:
            outcomes = await asyncio.gather(*map(answered, tasks))
        finally:
            await endpoint.close()
            await actions.close()
        pairs = zip(tasks, outcomes, strict=True)
        return sum(bool(benchmark.score(task, EpisodeResult(outcome.answer))[0].value) for task, outcome in pairs)

    assert asyncio.run(right()) >= 8  # the best rule without a model gets 4
