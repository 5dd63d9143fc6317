"""The pictures and files that an episode's task and values name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from lumos_queue.records import Action, Execution

_DIGEST = re.compile(r"[0-9a-f]{64}")
Picture = dict[str, Any]  #: of, sample, sha256, bytes and media_type


def list_pictures(connection: Any, trajectory: Any, shown_to_models: bool) -> list[Picture]:
    """The pictures of a db.reading.Trajectory in their order; one that is not stored any more has no `bytes`.

    `shown_to_models`: also that of a visual question, which the notes of its steps name.
    """
    from db.artifacts import describe_artifacts

    named = list(_named(trajectory))
    if shown_to_models:
        named[:0] = _digests("question", [(trajectory.task.inputs or {}).get("image")])
    known = describe_artifacts(connection, {digest for _, _, digest in named})
    found = []
    for of, sample, digest in named:
        media_type, size = known.get(digest, ("", None))
        found.append({"of": of, "sample": sample, "sha256": digest, "media_type": media_type, "bytes": size})
    return found


def _named(trajectory: Any) -> Iterator[tuple[str, int, str]]:
    """What names a picture, the sample and the sha256: of the task, then of the actions in their order."""
    inputs = trajectory.task.inputs or {}
    channels = inputs.get("channels")
    for one in channels if isinstance(channels, list) else ():
        if isinstance(one, Mapping) and one.get("kind") == "image":
            yield from _digests(str(one.get("name")), one.get("values"))
    for step in trajectory.steps:
        if isinstance(step.detail, Action) and isinstance(step.result, Execution):
            for variable, value in zip_longest(step.detail.variables, step.result.values, fillvalue=""):
                if isinstance(value, Mapping):
                    yield from _named_by(value, f"{step.position}-{variable}".removesuffix("-"))


def _named_by(value: Mapping[str, Any], of: str) -> Iterator[tuple[str, int, str]]:
    """The pictures of samples, or what a call of a function made."""
    if value.get("kind") == "values" and value.get("type") == "image":
        yield from _digests(of, value.get("items"))
    made = value.get("artifacts")
    for one in made if isinstance(made, list) else ():
        if isinstance(one, Mapping):
            yield from _digests(f"{of}-{one.get('name')}", [one.get("sha256")])


def _digests(of: str, items: object) -> Iterator[tuple[str, int, str]]:
    for sample, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, str) and _DIGEST.fullmatch(item):
            yield of, sample, item
