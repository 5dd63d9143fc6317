"""Read the recorded steps of attempts from their rows, with whole prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from db.engine.whole_rows import read_rows
from db.journal.text_blocks import load_texts
from db.models import STEPS, Approval, CompletionRow, EpisodeRow, ExecutionRow, SubgoalRow, TaskRow, ToolCallRow
from db.models.steps import StepKey
from lumos_queue.commands import KEPT_DIGITS, Approve, Call, Result, write_answer
from lumos_queue.records import Action, Candidate, Completion, Execution, FinishReason, Role, Subgoal

YES, NO = "yes", "no"  #: a person's answers, as they are stored


def pack_digest(digest: str) -> bytes:
    """Return the bytes of a digest of a command or a prompt that are stored: its first KEPT_DIGITS digits."""
    return bytes.fromhex(digest[:KEPT_DIGITS])


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step that was read from the database. `detail` is the content of the command, e.g. the action."""

    position: int
    branch: int
    command: str  #: the first KEPT_DIGITS of the command's digest
    result: Result
    detail: Subgoal | Action | Call | Approve | None = None
    role: str = ""
    prompt: str = ""
    parent: int | None = None  #: as of Ask and Do
    prefix: str | None = None  #: digest of the text that the prompt begins with, if that is a text block


def select_annotated_steps(steps: Sequence[RecordedStep]) -> Sequence[RecordedStep]:
    """Return the steps of the annotation: those after the teacher's last reply. Without a teacher, return all steps."""
    return steps[max((index for index, step in enumerate(steps, start=1) if step.role == Role.TEACHER), default=0) :]


def load_steps(connection: Connection, attempts: Mapping[int, int]) -> dict[int, list[RecordedStep]]:
    """Return the recorded steps of each episode, in order. `attempts`: the number of the attempt, by episode."""
    steps_by_episode: dict[int, list[RecordedStep]] = {episode: [] for episode in attempts}
    for table in STEPS.values():
        if table is ToolCallRow and not any(steps_by_episode.values()):
            break  # calls and plans follow a model's reply, so new episodes need fewer queries
        query = (
            select(table.__table__)
            .where(table.episode.in_(attempts))
            .order_by(table.episode, table.position, table.branch)
        )
        rows = [row for row in read_rows(connection, table, query) if row.attempt == attempts[row.episode]]
        for row, step in zip(rows, _STEPS[table](connection, rows), strict=True):
            steps_by_episode[row.episode].append(step)
    for steps in steps_by_episode.values():
        steps.sort(key=lambda step: (step.position, step.branch))
    return steps_by_episode


def _subgoals(_connection: Connection, rows: Sequence[SubgoalRow]) -> list[RecordedStep]:
    return [
        RecordedStep(row.position, row.branch, row.command.hex(), None, Subgoal(row.number, row.text)) for row in rows
    ]


def _completions(connection: Connection, rows: Sequence[CompletionRow]) -> list[RecordedStep]:
    texts = load_texts(connection, (digest for row in rows for digest in (row.prefix, row.delta_block)))
    questions = _load_questions(connection, {row.episode for row in rows if row.question_at is not None})
    prompts: dict[tuple[int, int], str] = {}
    steps: list[RecordedStep] = []
    for row in rows:
        delta = texts[row.delta_block] if row.delta_block else row.delta
        if row.question_at is not None:
            delta = f"{delta[: row.question_at]}{questions[row.episode]}{delta[row.question_at :]}"
        if row.base is not None:
            prompt = prompts[row.episode, row.base] + delta
        else:
            prompt = (texts[row.prefix] if row.prefix else "") + delta
        if row.branch == 0:  # later prompts may continue this one
            prompts[row.episode, row.position] = prompt
        completion = Completion(
            row.reply,
            FinishReason(row.finish_reason),
            row.prompt_tokens,
            row.completion_tokens,
            row.seconds,
            row.retries,
            row.replaced,
            row.waited,
            row.lost,
            row.queued,
            row.note,
            tuple(Candidate(text, logprob) for text, logprob in row.candidates or ()),
            row.reasoning or "",
            row.reasoning_tokens or 0,
            row.message or "",
        )
        step = RecordedStep(
            row.position, row.branch, row.command.hex(), completion, None, row.role, prompt, row.parent, row.prefix
        )
        steps.append(step)
    return steps


def _load_questions(connection: Connection, episodes: Collection[int]) -> dict[int, str]:
    """Return the questions of these episodes' tasks, in the form in which prompts contain them, by episode."""
    if not episodes:
        return {}
    query = select(EpisodeRow.id, TaskRow.question).join(TaskRow, TaskRow.id == EpisodeRow.task)
    return {episode: text.strip() for episode, text in connection.execute(query.where(EpisodeRow.id.in_(episodes)))}


def _executions(connection: Connection, rows: Sequence[ExecutionRow]) -> list[RecordedStep]:
    return [
        RecordedStep(
            row.position,
            row.branch,
            row.command.hex(),
            execution,
            Action(tuple(row.variables), row.name, row.arguments, row.raw),
            parent=row.parent,
        )
        for row, execution in zip(rows, load_executions(connection, rows), strict=True)
    ]


def _tool_calls(connection: Connection, rows: Sequence[ToolCallRow]) -> list[RecordedStep]:
    return [
        RecordedStep(row.position, row.branch, row.command.hex(), execution, Call(row.tool, row.arguments))
        for row, execution in zip(rows, load_executions(connection, rows), strict=True)
    ]


def _approvals(_connection: Connection, rows: Sequence[Approval]) -> list[RecordedStep]:
    return [
        RecordedStep(
            row.position,
            row.branch,
            row.command.hex(),
            write_answer(row.answer == YES, row.note, row.who) if row.answer else None,
            Approve(row.shown),
        )
        for row in rows
    ]


def load_executions(connection: Connection, rows: Sequence[ExecutionRow] | Sequence[ToolCallRow]) -> list[Execution]:
    """Return the executions of rows of `execution` or `tool_call`. One query loads all long texts."""
    texts = load_texts(connection, (digest for row in rows for digest in (row.result_block, row.outputs_block)))
    executions: list[Execution] = []
    for row in rows:
        result = texts[row.result_block] if row.result_block else row.result
        values = json.loads(texts[row.outputs_block]) if row.outputs_block else row.outputs
        executions.append(
            Execution(row.status, result, tuple(values), row.message, row.seconds, getattr(row, "provenance", ""))
        )
    return executions


_STEPS: dict[type[StepKey], Callable[[Connection, Sequence[Any]], list[RecordedStep]]] = {
    SubgoalRow: _subgoals,
    CompletionRow: _completions,
    ExecutionRow: _executions,
    ToolCallRow: _tool_calls,
    Approval: _approvals,
}
