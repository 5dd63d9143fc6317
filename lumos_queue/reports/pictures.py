"""List the pictures and files that an episode's task and values refer to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from db.engine.connection import Connection
from db.queries.trajectory import Trajectory
from lumos_queue.records import Action, Execution

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture or file that an episode refers to."""

    of: str  #: the channel or value that refers to it
    sample: int  #: its index in the channel or value
    sha256: str
    media_type: str  #: '' if it is not stored
    bytes: int | None  #: its size; None if it is not stored


def list_pictures(connection: Connection, trajectory: Trajectory, shown_to_models: bool) -> list[Picture]:
    """Return the pictures of an episode in order.

    With `shown_to_models`, the picture of a visual question is included, to which the notes of the steps refer.
    """
    from db.journal.artifacts import describe_artifacts

    references = list(_list_references(trajectory))
    if shown_to_models:
        references[:0] = _digests("question", [(trajectory.task.inputs or {}).get("image")])
    descriptions = describe_artifacts(connection, {digest for _, _, digest in references})
    pictures = []
    for of, sample, digest in references:
        media_type, size = descriptions.get(digest, ("", None))
        pictures.append(Picture(of, sample, digest, media_type, size))
    return pictures


def _list_references(trajectory: Trajectory) -> Iterator[tuple[str, int, str]]:
    """Yield (referring name, sample, sha256) of the pictures: those of the task, then those of the actions in order."""
    inputs = trajectory.task.inputs or {}
    channels = inputs.get("channels")
    for channel in channels if isinstance(channels, list) else ():
        if isinstance(channel, Mapping) and channel.get("kind") == "image":
            yield from _digests(str(channel.get("name")), channel.get("values"))
    for step in trajectory.steps:
        if isinstance(step.detail, Action) and isinstance(step.result, Execution):
            for variable, value in zip_longest(step.detail.variables, step.result.values, fillvalue=""):
                if isinstance(value, Mapping):
                    yield from _list_value_references(value, f"{step.position}-{variable}".removesuffix("-"))


def _list_value_references(value: Mapping[str, object], of: str) -> Iterator[tuple[str, int, str]]:
    """Yield the pictures of a value: those of samples, or the artifacts of a function call."""
    if value.get("kind") == "values" and value.get("type") == "image":
        yield from _digests(of, value.get("items"))
    artifacts = value.get("artifacts")
    for artifact in artifacts if isinstance(artifacts, list) else ():
        if isinstance(artifact, Mapping):
            yield from _digests(f"{of}-{artifact.get('name')}", [artifact.get("sha256")])


def _digests(of: str, items: object) -> Iterator[tuple[str, int, str]]:
    for sample, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, str) and _DIGEST.fullmatch(item):
            yield of, sample, item
