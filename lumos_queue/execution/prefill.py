"""Answer the first model calls of an episode with replies from its task; models answer the later calls.

    task.inputs["given"] = {"planner": ["Subgoal 1: …"], "grounder": ["R1 = Calculator(2 + 3)"]}

The i-th Ask of a role is answered by the task's i-th reply for the role, which is recorded as usual. So an evaluation
that starts in the middle of an episode, or replaces a module by the gold solution, is an ordinary evaluation of a
derived task. With `inputs["given_while"] = [subgoal, …]`, the grounder's replies are used only while the episode's
subgoals are equal to this list so far, because a gold grounding does not fit another subgoal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from lumos_queue.commands import Ask, Command, Commands, Note, Result
from lumos_queue.episode import Generate, Perform, StepContext
from lumos_queue.notation import strip_label
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, FinishReason, Outcome, Role, Subgoal, Task
from lumos_queue.util.exchange import Exchange


class PrefilledReplies:
    """The replies from an episode's task. It counts all Asks, recorded or new, to find the Ask of each reply.

    `watch` the formulation and `prefill` its commands with the same object; use a new object for each run.
    """

    def __init__(self, inputs: Mapping[str, Any]):
        self._replies: Mapping[str, list[str]] = inputs["given"]
        self._expected_subgoals: list[str] | None = inputs.get("given_while")
        self._request_counts: Counter[str] = Counter()
        self._subgoals: list[Subgoal] = []
        self._answers: dict[tuple[int, int], str] = {}  # by position and branch

    def watch(self, formulation: Generate[Agent]) -> Generate[Agent]:
        """Return a formulation with the same commands, which are counted."""

        def generate(task: Task, agent: Agent) -> Commands[Outcome]:
            exchange = Exchange(formulation(task, agent))
            for position, request in enumerate(exchange):
                for branch, command in enumerate(request if isinstance(request, list) else [request]):
                    self._look(command, position, branch)
                exchange.reply = yield request
            return exchange.returned

        return generate

    def prefill(self, perform: Perform) -> Perform:
        """Return a function like `perform` that answers with the task's replies where it has one for an Ask."""

        async def perform_prefilled(command: Command, context: StepContext) -> Result:
            reply = self._answers.get((context.position, context.branch))
            if reply is None:
                return await perform(command, context)
            return Completion(reply, FinishReason.GIVEN)

        return perform_prefilled

    def _look(self, command: Command, position: int, branch: int) -> None:
        if isinstance(command, Note):
            self._subgoals.append(command.subgoal)
        elif isinstance(command, Ask):
            number = self._request_counts[command.role]
            self._request_counts[command.role] += 1
            replies = self._replies.get(command.role, ())
            if number < len(replies) and (command.role != Role.GROUNDER or self._follows_expected()):
                self._answers[position, branch] = replies[number]

    def _follows_expected(self) -> bool:
        if self._expected_subgoals is None:
            return True
        if len(self._subgoals) > len(self._expected_subgoals):
            return False
        return all(
            same_subgoal(subgoal.text, text)
            for subgoal, text in zip(self._subgoals, self._expected_subgoals, strict=False)
        )


def same_subgoal(first: str, second: str) -> bool:
    """Whether two subgoals are equal except for label, capitals, spaces and the closing full stop."""
    return bare(first) == bare(second)


def bare(subgoal: str) -> str:
    return " ".join(strip_label(subgoal.strip()).casefold().split()).rstrip(".").rstrip()


def source_row(task: Task) -> str:
    """Return the row of the task from which this task was derived; its own row if it was not derived."""
    return task.inputs.get("from", {}).get("row", task.row)
