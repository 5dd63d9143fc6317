"""Replies that a task brings along: the model goes on from where they end.

    task.inputs["given"] = {"planner": ["Subgoal 1: …"], "grounder": ["R1 = Calculator(2 + 3)"]}

The i-th Ask of a role is answered by its i-th given reply, and recorded like any other; later ones by the model. So an
evaluation from the middle of an episode, or with one module replaced by the gold solution, is an ordinary evaluation of
a derived task. With `inputs["given_while"] = [subgoal, …]` the grounder's replies are given only as long as the
subgoals so far are these: a gold grounding says nothing about another subgoal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any

from lumos_queue.commands import Ask, Command, Note, Result
from lumos_queue.episode import Formulation, Perform, StepContext
from lumos_queue.notation import unlabelled
from lumos_queue.records import GIVEN, Completion, Outcome, Subgoal


class PrefilledReplies:
    """One episode's given replies. Where they belong is seen from the commands, the recorded ones of a resume included.

    `watch` the formulation, and perform with `before`: the same object for both, a new one for each run.
    """

    def __init__(self, inputs: Mapping[str, Any]):
        self._replies: Mapping[str, list[str]] = inputs["given"]
        self._while: list[str] | None = inputs.get("given_while")
        self._asked: Counter[str] = Counter()
        self._subgoals: list[Subgoal] = []
        self._places: dict[tuple[int, int], str] = {}  # position and branch to the reply that belongs there

    def watch(self, formulation: Formulation) -> Formulation:
        """The same formulation; its commands are looked at as they pass."""

        def watched(task: Any, agent: Any) -> Generator[Command | list[Command], Any, Outcome]:
            generator = formulation(task, agent)
            position, reply = 0, None
            try:
                while True:
                    wanted = generator.send(reply)
                    for branch, command in enumerate(wanted if isinstance(wanted, list) else [wanted]):
                        self._look(command, position, branch)
                    reply = yield wanted
                    position += 1
            except StopIteration as stop:
                return stop.value
            finally:
                generator.close()

        return watched

    def before(self, perform: Perform) -> Perform:
        """Answers what is given, and leaves the rest to `perform`."""

        async def given_first(command: Command, place: StepContext) -> Result:
            reply = self._places.get((place.position, place.branch))
            if reply is None:
                return await perform(command, place)
            return Completion(reply, GIVEN)

        return given_first

    def _look(self, command: Command, position: int, branch: int) -> None:
        if isinstance(command, Note):
            self._subgoals.append(command.subgoal)
        elif isinstance(command, Ask):
            number = self._asked[command.role]
            self._asked[command.role] += 1
            replies = self._replies.get(command.role, ())
            if number < len(replies) and (command.role != "grounder" or self._as_foreseen()):
                self._places[position, branch] = replies[number]

    def _as_foreseen(self) -> bool:
        if self._while is None:
            return True
        if len(self._subgoals) > len(self._while):
            return False
        return all(same_subgoal(one.text, text) for one, text in zip(self._subgoals, self._while, strict=False))


def same_subgoal(one: str, other: str) -> bool:
    """Whether two subgoals say the same, but for label, capitals, spaces and the closing full stop."""
    return bare(one) == bare(other)


def bare(subgoal: str) -> str:
    return " ".join(unlabelled(subgoal.strip()).casefold().split()).rstrip(".").rstrip()


def source_row(task: Any) -> str:
    """The row of the task that this one was derived from; its own row when it was not."""
    return task.inputs.get("from", {}).get("row", task.row)
