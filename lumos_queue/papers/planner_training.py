"""Find what a planner was trained on: the tasks of its builds and of its rewards, and those of its base, and so on.

A fit stores the paths of its data and a digest of their content, so the data count only as long as they are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db.engine.connection import Connection
from db.queue.datasets import load_tasks
from lumos_queue.benchmarks.openagi.described_tasks import find_described_tasks
from lumos_queue.benchmarks.openagi.rows import NAME
from lumos_queue.endpoints.model_folder import digest_of_files, tokenizer_file
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.prompts.conversations import Conversation, read_conversations
from lumos_queue.training.recipes.sft import content_of_data, files_of
from lumos_queue.util.launch_folder import from_launch


@dataclass(frozen=True, slots=True)
class Training:
    """The OpenAGI tasks of a planner's training, by their rows. `gaps`: texts about training that is not known."""

    taught: frozenset[str] = frozenset()  #: tasks with plans, of supervised fits
    rewarded: frozenset[str] = frozenset()  #: tasks whose plans gave rewards
    gaps: tuple[str, ...] = ()

    def __or__(self, other: Training) -> Training:
        gaps = dict.fromkeys((*self.gaps, *other.gaps))
        return Training(self.taught | other.taught, self.rewarded | other.rewarded, tuple(gaps))


def read_training(connection: Connection, job: str, spec: Mapping[str, Any], base: str) -> Training:
    """Return what one training job taught, without its start model. `base`: the digest of the start model, or ''."""
    match spec.get("recipe"):
        case "sft":
            return _read_supervised(job, spec, base)
        case "rltf":
            return _read_rewards(connection, job, spec)
    return Training()  # other recipes have no tasks of OpenAGI


def _read_supervised(job: str, spec: Mapping[str, Any], base: str) -> Training:
    try:
        names = spec["formulation"], spec["module"]
        builds = [from_launch(path) for path in spec["data"]]
        tokenizer = digest_of_files([tokenizer_file(from_launch(spec["start"]))]) if spec["start"] else ""
        content = content_of_data(base, tokenizer, builds, *names)
        if content != spec["fit"]["content"]:
            return Training(gaps=(f"the data of job {job} have changed since it was submitted",))
        files = [path for build in builds for path in files_of(build, *names)]
        rows = {row for path in files for conversation in read_conversations(path) for row in _list_tasks(conversation)}
    except (OSError, SpecError, BadRow, KeyError, TypeError, ValueError):
        return Training(gaps=(f"the data of job {job} or its start model cannot be read",))
    return Training(taught=frozenset(rows))


def _list_tasks(conversation: Conversation) -> Iterable[str]:
    """Return the rows of the tasks that a conversation describes or names."""
    name, _, row = conversation.id.rpartition("/")
    if row and NAME in (name, conversation.dataset.partition("/")[0]):
        yield row
    for text in conversation.iterate_texts():
        yield from find_described_tasks(text)


def _read_rewards(connection: Connection, job: str, spec: Mapping[str, Any]) -> Training:
    try:
        evaluation = spec["evaluation"]
        if evaluation["benchmark"] != NAME:
            return Training()
        tasks = load_tasks(connection, NAME, evaluation["dataset"], spec["rows"])
    except (KeyError, TypeError):
        return Training(gaps=(f"the tasks of job {job} are not stored",))
    return Training(rewarded=frozenset(task.row for task in tasks))


def is_below(path: str, folder: Path) -> bool:
    """Return whether a path is in a folder. Links are not followed."""
    return bool(path) and folder in Path(path).parents
