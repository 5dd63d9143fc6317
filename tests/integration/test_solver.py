"""Formulations with one model alone, from the rows of a benchmark to scored episodes in the database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.prompts.dialogue import render
from lumos_queue.submission.store import read_rows
from tests.stored_rows import read_stored_rows, run_embedded

TASKS = 4


def rules(tasks, benchmark, name: str) -> list[dict]:
    """What the gold solver says to each prompt; longer prompts first, as they contain the shorter ones."""
    agent, found = Agent(roles={}, domain=benchmark.domain), []
    for task in tasks:
        [one] = gold_conversations(task, benchmark.gold(task), FORMULATIONS.load(name), agent, "By the question.")
        for end, turn in enumerate(one.turns):
            if turn.role == "assistant":
                found.append({"contains": render(one.turns[:end], agent.framing), "reply": turn.content})
    return sorted(found, key=lambda rule: -len(rule["contains"]))


@pytest.mark.parametrize("name", ["cot", "direct", "integrated"])
def test_a_gold_solver_answers_every_task(name, tmp_path: Path):
    benchmark = open_benchmark("wordmath")
    rows = read_rows(benchmark, None, "test", False)
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(rules(rows.tasks[:TASKS], benchmark, name)))
    agent = Agent(roles={"solver": f"scripted:{file}"}, domain=benchmark.domain)
    infer = Infer(benchmark.name, rows.digest, "test", name, agent, limit=TASKS)
    database, job = run_embedded(tmp_path, Evaluate(infer), rows)
    episodes = read_stored_rows(database, job).values()
    database.close()
    assert len(episodes) == TASKS
    for episode in episodes:
        assert (episode["ending"], episode["scores"][0][2]) == ("answered", 1.0)
        assert {row[3] for row in episode["completion"]} == {"solver"}
        assert bool(episode["execution"]) == (name == "integrated")
        assert episode["calls"] == (1 if name != "integrated" else len(episode["subgoal"]) + 1)
