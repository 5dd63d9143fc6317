"""Scripted judges of tool agents, which decide by their prompts, and tasks for them. For control flow only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from lumos_queue.commands import Ask, Command, Result
from lumos_queue.episode import EpisodeRun, StepContext, run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.judged_run import ANSWERED, JudgedRun, JudgedStep
from lumos_queue.records import Completion, FinishReason, Task
from lumos_queue.scoring.tool_verdicts import ToolVerdict

ANSWER, AGAIN, TASK, PAIR = "answer", "again", "task", "pair"
_KINDS = {
    "as far as these two texts tell?": ANSWER,
    "in view of what the calls returned?": AGAIN,
    "Could the request be solved": TASK,
    "Which run dealt better": PAIR,
}
Reply = Callable[[str], str]


def kind_of(prompt: str) -> str:
    """Return the kind of the question of a prompt, by the last line that begins as one of the four questions."""
    lines = prompt.splitlines()
    return next(kind for line in reversed(lines) for words, kind in _KINDS.items() if words in line)


def find_answers(prompt: str) -> list[str]:
    """The final answers that a prompt shows, as quoted, in their order."""
    return [line.removeprefix("Final answer: ") for line in prompt.splitlines() if line.startswith("Final answer: ")]


def label(word: str, reason: str = "so it is") -> str:
    return f"Reason: {reason}\nLabel: {word}"


def answer_with(text: str, *observations: str) -> JudgedRun:
    """A run that called a function for each observation and then answered."""
    steps = tuple(JudgedStep("state", '{"number": 17}', "ok", observation) for observation in observations)
    return JudgedRun(ANSWERED, text, steps)


def task_of(own_run: JudgedRun, other_run: JudgedRun | None = None, query: str = "Where is order 17?") -> Task:
    inputs: dict[str, Any] = {"tools": ["state: says where an order is"], "run": own_run.as_json()}
    if other_run is not None:
        inputs["against"] = other_run.as_json()
    return Task("tooleval", "", "1", query, inputs)


class ScriptedJudge:
    """Answers each kind of question by a function of its prompt, or with the same label always."""

    def __init__(self, **replies: Reply | str):
        self._replies: Mapping[str, Reply | str] = replies
        self.asked: list[tuple[str, str]] = []  #: kind and prompt
        self.places: list[tuple[int, int]] = []

    def reply(self, prompt: str) -> str:
        kind = kind_of(prompt)
        self.asked.append((kind, prompt))
        replies = self._replies[kind]
        return label(replies) if isinstance(replies, str) else replies(prompt)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.asked]

    def prompts(self, kind: str) -> list[str]:
        return [prompt for name, prompt in self.asked if name == kind]

    async def __call__(self, command: Command, context: StepContext) -> Result:
        assert isinstance(command, Ask) and command.role == "judge"
        self.places.append((context.position, context.branch))
        return Completion(self.reply(command.prompt), FinishReason.STOP)


def judge_task(judge: ScriptedJudge, task: Task, votes: int = 3, journal: MemoryJournal | None = None) -> ToolVerdict:
    """The verdict on a task."""
    run = run_judge(judge, task, votes, journal)
    assert run.outcome.answer is not None
    return ToolVerdict.from_text(run.outcome.answer)


def run_judge(judge: Any, task: Task, votes: int = 3, journal: MemoryJournal | None = None) -> EpisodeRun:
    agent = Agent({}, "tools", settings={"votes": str(votes)})
    return asyncio.run(run_episode(FORMULATIONS.load("tooleval"), task, agent, journal or MemoryJournal(), judge))
