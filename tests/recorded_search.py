"""ToolBench's recorded searches as scripts: their replies as a model's, their observations as the functions'."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.actions.tools.finish import read_finish
from lumos_queue.commands import ROOT, Ask, Command, Do, Result
from lumos_queue.compat.toolbench.trees import RecordedDecision
from lumos_queue.episode import StepContext
from lumos_queue.records import Completion, Execution, FinishReason
from lumos_queue.text_calls.three_lines import Reply, write_reply

BACK_OFF = {"52": 1, "57": 2, "69": 2, "8": 2, "127": 1, "21": 1}  #: at full depth; 127 and 21 fit either


def answer_files(shared_data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Number of the query and the file's content."""
    for path in sorted((shared_data / "toolbench" / "answer").rglob("*.json")):
        yield path.name.partition("_")[0], json.loads(path.read_text())


def reply_of(decision: RecordedDecision) -> str:
    return write_reply(Reply(decision.thought, decision.name, decision.arguments))


def execution_of(decision: RecordedDecision) -> Execution:
    """What its call gave, with ToolBench's number among the values."""
    value: dict[str, Any] = {"kind": "observation", "text": decision.observation, "code": decision.code}
    if decision.code == 3:
        value |= {"kind": "answer", "text": read_finish(decision.arguments), "ends": True}
    status = {0: "ok", 3: "ok", 4: "give_up", 1: "unknown_action"}.get(decision.code or 0, "tool_error")
    return Execution(status, decision.observation, (value,))


class Script:
    """Performs a search as it was recorded, and keeps the requests."""

    def __init__(self, decisions: Sequence[RecordedDecision]):
        self._decisions, self._next = decisions, 0
        self.made: list[tuple[int, Command, Result]] = []

    async def __call__(self, command: Command, context: StepContext) -> Result:
        result = self._answer(command)
        self.made.append((context.position, command, result))
        return result

    def _answer(self, command: Command) -> Result:
        if isinstance(command, Ask):
            self._next += 1
            return Completion(reply_of(self._decisions[self._next - 1]), FinishReason.STOP)
        assert isinstance(command, Do)
        decision = self._decisions[self._next - 1]
        assert (command.action.name, command.action.arguments) == (decision.name, decision.arguments)
        return execution_of(decision)

    def decisions(self) -> list[RecordedDecision]:
        """Return the search, from the commands and their parents."""
        decisions: list[RecordedDecision] = []
        positions: dict[int, int] = {ROOT: -1}  # position of a command to its decision
        for position, command, _ in self.made:
            if isinstance(command, Ask):
                assert command.parent is not None
                positions[position] = len(decisions)
                decision = self._decisions[len(decisions)]
                decisions.append(RecordedDecision(positions[command.parent], decision.thought, pruned=decision.pruned))
            elif isinstance(command, Do):
                assert command.parent is not None
                index = positions[position] = positions[command.parent]
                old, value = decisions[index], self._decisions[index]
                decisions[index] = RecordedDecision(
                    old.before,
                    value.thought,
                    command.action.name,
                    command.action.arguments,
                    value.observation,
                    value.code,
                    value.pruned,
                )
        return decisions
