"""Compare two episodes on the same task side by side: their steps as text, and the first difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from db.engine.connection import Connection
from db.engine.white_space import remove_space
from db.queries.episode_names import load_finished_trajectory
from lumos_queue.errors import SpecError
from lumos_queue.reports.episode_values import EpisodeReport
from lumos_queue.reports.lanes import rows_of
from lumos_queue.reports.trajectory import describe_trajectory


@dataclass(frozen=True, slots=True)
class StepPair:
    """Steps of two episodes in the same position, as text; '' after the last step of an episode."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class EpisodePair:
    """Two episodes, and their steps in pairs by position. Ending and answer follow the last step."""

    a: EpisodeReport
    b: EpisodeReport
    steps: Sequence[StepPair]
    first_difference: int | None  #: the index, from 0, of the first pair that differs; None if all are equal


def pair_episodes(connection: Connection, names: Sequence[str]) -> EpisodePair:
    """Return the result of `pair_steps` for two finished episodes, by their names.

    Raises SpecError if an episode is missing or has not ended, or if the episodes are of different tasks.
    """
    first, second = (load_finished_trajectory(connection, name) for name in names)
    first_task, second_task = (
        (episode.task.benchmark, episode.task.row, remove_space(episode.task.question)) for episode in (first, second)
    )
    if first_task != second_task:
        raise SpecError(
            f"Episodes {names[0]} and {names[1]} are of different tasks: rows {first.task.row} and {second.task.row}. "
            "To list pairs of episodes on the same task, use: lumos compare JOB JOB"
        )
    return pair_steps(describe_trajectory(first), describe_trajectory(second))


def pair_steps(first: EpisodeReport, second: EpisodeReport) -> EpisodePair:
    """Compare two episodes step by step."""
    first_texts, second_texts = (
        [*describe_steps(episode), f"{episode.ending or 'not finished'}: {_answer(episode)}"]
        for episode in (first, second)
    )
    steps = [StepPair(a, b) for a, b in zip_longest(first_texts, second_texts, fillvalue="")]
    first_difference = next((index for index, pair in enumerate(steps) if pair.a != pair.b), None)
    return EpisodePair(first, second, steps, first_difference)


def describe_steps(episode: EpisodeReport) -> list[str]:
    """Return a text for each row of an episode (lanes.py): the plan or thought, then the action with its result."""
    texts = []
    for row in rows_of(episode):
        plan, action, result = ("".join(text for text, _ in cell) for cell in row)
        outcome = f"{action} → {result}" if action and result else action or result
        texts.append("\n".join(filter(None, (plan, outcome))))
    return texts


def _answer(episode: EpisodeReport) -> str:
    return "no answer" if episode.answer is None else episode.answer
