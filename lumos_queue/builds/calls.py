"""Make rows of tool agents: a row for each model call, by any role, that led to an accepted answer.

A row has the model's reply and the stored prompt, byte for byte. Only the prompt of a native function call is rewritten
as that of a text call, with the list of functions. If an agent searched, only calls on the path to its answer count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from db.journal.step_records import RecordedStep
from lumos_queue.commands import ROOT, WITHIN
from lumos_queue.formulations.descriptions import shows_descriptions_in
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.tool_agent import as_text_calls
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Completion, Ending, Execution, Subgoal

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode

FORMAT = "trl-sft"  #: the only format whose rows are a prompt as it is sent, and a reply


def is_tool_agent(name: str) -> bool:
    """Return whether the calls of a formulation's episodes become rows."""
    formulation = FORMULATIONS.find(name)
    return formulation is not None and formulation.is_tool_agent


def examine_calls(episode: StoredEpisode) -> Annotation | str:
    """Return the actions of a tool agent on the path to its answer, or the reason why the episode gives no rows."""
    if episode.ending != Ending.ANSWERED:
        return f"ended {episode.ending}"
    pairs = [
        (step.detail, step.result.result)
        for step in answer_path(episode.steps)
        if isinstance(step.detail, Action) and isinstance(step.result, Execution)
    ]
    step = AnnotatedSubgoal(Subgoal(1, ""), tuple(action for action, _ in pairs), tuple(result for _, result in pairs))
    return Annotation((step,), episode.answer or "")


def call_rows(episode: StoredEpisode) -> Iterator[tuple[str, str, str]]:
    """Yield (file, key, JSON text) of each row; the file is ROLE_FORMULATION, the key BENCHMARK/ROW#POSITION."""
    is_described = shows_descriptions_in(episode.spec)
    for step in answer_path(episode.steps):
        if isinstance(step.result, Completion) and step.result.text.strip():
            prompt = as_text_calls(step.prompt, episode.task, is_described)
            row = {"prompt": prompt, "completion": step.result.text.strip()}
            key = f"{episode.task.benchmark}/{episode.task.row}#{step.position}"
            yield f"{step.role}_{episode.formulation}", key, json.dumps(row, ensure_ascii=False)


def answer_path(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Return the steps on the path to the answer, or all steps without a tree. Steps within actions are left out."""
    own_steps = [step for step in steps if step.branch < WITHIN]
    ends = [step for step in own_steps if isinstance(step.result, Execution) and step.result.ends]
    if not ends or ends[-1].parent is None:
        return own_steps
    by_position = {step.position: step for step in own_steps}
    step, path = ends[-1], []
    while True:
        path.append(step)
        if step.parent is None or step.parent == ROOT:
            return path[::-1]
        step = by_position[step.parent]
