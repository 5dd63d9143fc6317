"""An episode's journal: steps as rows, and rows as steps again.

A prompt mostly repeats the one before it, and the first begins like every other of its role. So only what is new is
stored: `delta`, after the prompt at `base` or the text block `prefix`; `prompt_digest` says what must come out.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from db.models import STEPS, Attempt, CompletionRow, ExecutionRow, SubgoalRow, TextBlock
from lumos_queue.commands import Ask, Do, Result, Step, digest
from lumos_queue.records import Action, Completion, Execution, Subgoal

_PLACE = ("episode", "attempt", "position", "branch", "command")
COLUMNS: dict[type, tuple[str, ...]] = {
    SubgoalRow: (*_PLACE, "number", "text"),
    CompletionRow: (*_PLACE, "role", "prompt_digest", "base", "prefix", "delta", "reply", "finish_reason",
                    "prompt_tokens", "completion_tokens", "retries", "replaced", "seconds"),
    ExecutionRow: (*_PLACE, "variables", "name", "arguments", "raw", "status", "result", "outputs", "message",
                   "seconds"),
    TextBlock: ("digest", "text"),
    Attempt: ("episode", "number", "code_version", "started_at"),
}  # fmt: skip
#: What must not change when a row arrives a second time.
COMPARED: dict[type, tuple[str, ...]] = {
    SubgoalRow: ("command",), CompletionRow: ("command", "reply"), ExecutionRow: ("command", "status", "result"),
}  # fmt: skip


def prompt_digest(prompt: str) -> str:
    """sha256 of the prompt's UTF-8 bytes."""
    return hashlib.sha256(prompt.encode()).hexdigest()


@dataclass(slots=True)
class Buffer:
    """Rows on their way to the database, by table. Emptied whole by each commit."""

    rows: dict[type, list[tuple]] = field(default_factory=lambda: defaultdict(list))
    size: int = 0

    def add(self, table: type, row: tuple) -> None:
        self.rows[table].append(row)
        self.size += 1

    def take(self) -> dict[type, list[tuple]]:
        rows, self.rows, self.size = self.rows, defaultdict(list), 0
        return rows


class EpisodeJournal:
    """The recorded steps of one attempt, and the way in for new ones."""

    def __init__(self, episode: int, attempt: int, buffer: Buffer, heads: Mapping[str, str]):
        self.episode, self.attempt = episode, attempt
        self.calls = self.prompt_tokens = self.completion_tokens = 0
        self._buffer, self._heads = buffer, heads
        self._known: dict[tuple[int, int], tuple[str, Result]] = {}
        self._latest: dict[str, tuple[int, str]] = {}  # role to position and prompt of its latest completion

    def recorded(self, position: int, branch: int) -> tuple[str, Result] | None:
        return self._known.get((position, branch))

    def recall(self, step: RecordedStep) -> None:
        """Take in a step that the database holds."""
        self._known[step.position, step.branch] = (step.command, step.result)
        if isinstance(step.result, Completion):
            self._count(step.result)
            if step.branch == 0:
                self._latest[step.role] = (step.position, step.prompt)

    def record(self, step: Step) -> None:
        command, done = step.command, step.result
        place = (self.episode, self.attempt, step.position, step.branch, command.digest)
        if isinstance(command, Ask):
            assert isinstance(done, Completion)
            self._record_completion(place, command, done, step)
        elif isinstance(command, Do):
            assert isinstance(done, Execution)
            action = command.action
            self._buffer.add(ExecutionRow, (
                *place, list(action.variables), action.name, action.arguments, action.raw, done.status, done.result,
                list(done.values), done.message, done.seconds,
            ))  # fmt: skip
        else:
            self._buffer.add(SubgoalRow, (*place, command.subgoal.number, command.subgoal.text))

    def _record_completion(self, place: tuple, ask: Ask, done: Completion, step: Step) -> None:
        prompt = ask.prompt
        base, prefix, delta = None, None, prompt
        if ask.role in self._latest and prompt.startswith(self._latest[ask.role][1]):
            base, known = self._latest[ask.role]
            delta = prompt[len(known) :]
        elif (head := self._heads.get(ask.role)) and prompt.startswith(head):
            prefix, delta = digest("text", head), prompt[len(head) :]
            self._buffer.add(TextBlock, (prefix, head))
        self._buffer.add(CompletionRow, (
            *place, ask.role, prompt_digest(prompt), base, prefix, delta, done.text, done.finish_reason,
            done.prompt_tokens, done.completion_tokens, done.retries, done.replaced, done.seconds,
        ))  # fmt: skip
        self._count(done)
        if step.branch == 0:
            self._latest[ask.role] = (step.position, prompt)

    def _count(self, done: Completion) -> None:
        self.calls += 1
        self.prompt_tokens += done.prompt_tokens
        self.completion_tokens += done.completion_tokens


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step as the database holds it. `command` is the command's digest; `detail` the subgoal or the action."""

    position: int
    branch: int
    command: str
    result: Result
    detail: Subgoal | Action | None = None
    role: str = ""
    prompt: str = ""


def load_steps(connection: Connection, attempts: Mapping[int, int]) -> dict[int, list[RecordedStep]]:
    """The recorded steps of the given attempt of each episode (episode to attempt number), in order."""
    found: dict[int, list[RecordedStep]] = {episode: [] for episode in attempts}
    blocks: dict[str, str] = {}
    for table in STEPS.values():
        wanted = (
            select(table.__table__)
            .where(table.episode.in_(attempts))
            .order_by(table.episode, table.position, table.branch)
        )
        prompts: dict[tuple[int, int], str] = {}
        for row in connection.execute(wanted):
            if row.attempt != attempts[row.episode]:
                continue
            if table is CompletionRow:
                prompt = _prompt(connection, row, prompts, blocks)
                if row.branch == 0:  # the one that later prompts may continue
                    prompts[row.episode, row.position] = prompt
                step = RecordedStep(row.position, row.branch, row.command, _completion(row), None, row.role, prompt)
            elif table is ExecutionRow:
                action = Action(tuple(row.variables), row.name, row.arguments, row.raw)
                step = RecordedStep(row.position, row.branch, row.command, _execution(row), action)
            else:
                step = RecordedStep(row.position, row.branch, row.command, None, Subgoal(row.number, row.text))
            found[row.episode].append(step)
    for steps in found.values():
        steps.sort(key=lambda step: (step.position, step.branch))
    return found


def _prompt(connection: Connection, row: Any, prompts: dict[tuple[int, int], str], blocks: dict[str, str]) -> str:
    if row.base is not None:
        return prompts[row.episode, row.base] + row.delta
    if row.prefix is None:
        return row.delta
    if row.prefix not in blocks:
        blocks[row.prefix] = connection.execute(
            select(TextBlock.text).where(TextBlock.digest == row.prefix)
        ).scalar_one()
    return blocks[row.prefix] + row.delta


def _completion(row: Any) -> Completion:
    return Completion(
        row.reply, row.finish_reason, row.prompt_tokens, row.completion_tokens, row.seconds, row.retries, row.replaced
    )


def _execution(row: Any) -> Execution:
    return Execution(row.status, row.result, tuple(row.outputs), row.message, row.seconds)
