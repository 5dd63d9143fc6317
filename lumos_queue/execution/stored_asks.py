"""Replay the formulation of a stored episode to get its model calls with their constraints, which are not stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lumos_queue.commands import Ask, Result
from lumos_queue.episode import Generate
from lumos_queue.errors import EpisodeError
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Task
from lumos_queue.util.exchange import Exchange


def replay_asks(
    formulation: Generate[Agent], task: Task, agent: Agent, results: Mapping[tuple[int, int], Result]
) -> Iterator[tuple[Ask, Completion]]:
    """Yield each Ask with its completion, in order. `results`: the steps' results by position and branch.

    The iteration ends at the last stored step, so the episode may be incomplete.
    """
    exchange = Exchange(formulation(task.without_gold(), agent))
    try:
        for position, request in enumerate(exchange):
            commands = request if isinstance(request, list) else [request]
            if any((position, branch) not in results for branch in range(len(commands))):
                return
            replies = [results[position, branch] for branch in range(len(commands))]
            for command, result in zip(commands, replies, strict=True):
                if isinstance(command, Ask) and isinstance(result, Completion):
                    yield command, result
            exchange.reply = replies if isinstance(request, list) else replies[0]
    except EpisodeError:
        return
