"""Scripted models for tool agents: replies by role in their order, functions as plain Python. For control flow only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lumos_queue.commands import Approve, Ask, Command, Do, Note, Result
from lumos_queue.episode import EpisodeRun, Journal, StepContext, run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits, limit_formulation
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Execution, FinishReason, Task

TASK = Task("toolbench", "", "1", "What is the state of order 17?")


def call(name: str, thought: str = "", /, **arguments: Any) -> str:
    """A reply that calls a function."""
    return (f"Thought: {thought}\n" if thought else "") + f"Action: {name}\nAction Input: {json.dumps(arguments)}"


def finish(answer: str, thought: str = "") -> str:
    return call("Finish", thought, return_type="give_answer", final_answer=answer)


def give_up(thought: str = "") -> str:
    return call("Finish", thought, return_type="give_up_and_restart")


class Scripted:
    """Answers each role by its replies in order, the last one for ever, and functions by Python."""

    def __init__(
        self,
        replies: Mapping[str, Sequence[str]],
        functions: Mapping[str, Callable[..., Any]] | None = None,
        answers: Sequence[Execution | None] = (),
    ):
        """`answers`: answers of the user who approves plans, in order."""
        self._answers = list(answers)
        self._replies = {role: list(texts) for role, texts in replies.items()}
        self._functions = functions or {}
        self.commands: list[Command] = []
        self.contexts: list[StepContext] = []

    def prompts(self, role: str) -> list[str]:
        return [command.prompt for command in self.commands if isinstance(command, Ask) and command.role == role]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Names and arguments of the functions that were called."""
        return [(command.action.name, command.action.arguments) for command in self.commands if isinstance(command, Do)]

    async def __call__(self, command: Command, context: StepContext) -> Result:
        self.commands.append(command)
        self.contexts.append(context)
        return self.answer(command)

    def answer(self, command: Command) -> Result:
        if isinstance(command, Note):
            return None
        if isinstance(command, Approve):
            return self._answers.pop(0)
        if isinstance(command, Ask):
            replies = self._replies[command.role]
            return Completion(replies.pop(0) if len(replies) > 1 else replies[0], FinishReason.STOP, 10, 5)
        assert isinstance(command, Do)
        return self._execute(command.action.name, command.action.arguments)

    def _execute(self, name: str, text: str) -> Execution:
        if name == REPEATED:
            return Execution(REPEATED, message="made before")
        arguments = json.loads(text or "{}")
        if name == "Finish":
            if arguments.get("return_type") == "give_up_and_restart":
                return Execution("give_up")
            return Execution("ok", "", ({"kind": "answer", "text": arguments["final_answer"], "ends": True},))
        if name not in self._functions:
            return Execution("unknown_action", f"no function {name}", message=f"no function {name}")
        try:
            text = json.dumps({"error": "", "response": self._functions[name](**arguments)})
            return Execution("ok", text, ({"kind": "observation", "text": text, "code": 0},))
        except ValueError as error:
            text = json.dumps({"error": str(error), "response": ""})
            return Execution("tool_error", text, ({"kind": "observation", "text": text, "code": 11},), str(error))


def run(
    name: str,
    script: Scripted,
    limits: Limits | None = None,
    journal: Journal | None = None,
    task: Task = TASK,
    version: int | None = None,
    **settings: str,
) -> EpisodeRun:
    """An episode of a formulation within its own limits, or those given; of the newest version, or another one."""
    formulation = FORMULATIONS.load(name)
    limits = formulation.limits if limits is None else limits
    agent = Agent({}, "maths", limits=limits, settings=settings)
    limited_formulation = limit_formulation(formulation if version is None else formulation.at_version(version), limits)
    return asyncio.run(run_episode(limited_formulation, task, agent, journal or MemoryJournal(), script))
