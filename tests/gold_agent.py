"""A scripted planner and grounder that know the gold solution: the replies of a fake endpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.prompts.dialogue import render
from lumos_queue.records import Task


def gold_replies(benchmark: Benchmark, tasks: Iterable[Task], name: str) -> dict[str, str]:
    """Return the sha256 of each prompt of the formulation for these tasks, with its gold reply."""
    agent, replies = Agent(roles={}, domain=benchmark.domain), {}
    for task in tasks:
        for conversation in gold_conversations(task, benchmark.gold(task), FORMULATIONS.load(name), agent):
            for end, turn in enumerate(conversation.turns):
                if turn.role == "assistant":
                    prompt = render(conversation.turns[:end], agent.framing)
                    replies[hashlib.sha256(prompt.encode()).hexdigest()] = turn.content
    return replies
