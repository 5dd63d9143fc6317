"""The pictures and files that an episode's task and values name: for `lumos show`, and saved by `--save DIR`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Execution

SHOWN = 3  #: pictures of one value that a person is told of; all are in the JSON
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif",
             "text/plain": "txt", "text/markdown": "md", "text/csv": "csv", "audio/wav": "wav"}  # fmt: skip
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


def describe_pictures(pictures: list[Picture]) -> Iterator[str]:
    """A line for each value: `E1: 3fa2b1c07d5e… image/png 12,345 bytes, … and 7 more`."""
    by_value: dict[str, list[Picture]] = {}
    for one in pictures:
        by_value.setdefault(one["of"], []).append(one)
    for of, several in by_value.items():
        told = [f"{one['sha256'][:12]}… {_size(one)}" for one in several[:SHOWN]]
        more = f", and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
        kind = "files" if str(several[0]["media_type"]).startswith(("text/", "audio/")) else "pictures"
        yield f"{kind} of {of}: {', '.join(told)}{more}"


def save_pictures(connection: Any, pictures: list[Picture], folder: Path) -> list[str]:
    """Write each picture to a file of its own in the folder, which is made; returns the names.

    Nothing is written outside of it, or over a file. Raises SpecError where a file is there already, or for a folder
    that cannot be written.
    """
    from db.artifacts import load_artifact

    named = {_file_name(one): one["sha256"] for one in pictures if one["bytes"] is not None}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise SpecError(f"Cannot write in '{folder}': {error.strerror}.") from None
    try:
        if there := sorted(named.keys() & set(os.listdir(opened))):
            raise SpecError(f"'{folder / there[0]}' is there already: choose another folder, nothing was written.")
        for name, digest in named.items():
            stored = load_artifact(connection, digest)
            if stored is not None:
                _write(opened, name, stored[0])
    except OSError as error:
        raise SpecError(f"Cannot write in '{folder}': {error.strerror}.") from None
    finally:
        os.close(opened)
    return list(named)


def _write(folder: int, name: str, data: bytes) -> None:
    """Write a new file in an open folder; a link of that name is not followed, which O_EXCL sees to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with open(os.open(name, flags, 0o644, dir_fd=folder), "wb") as file:
        file.write(data)


def _file_name(picture: Picture) -> str:
    """`E1-003.png`, of letters, digits, '-' and '_' alone whatever the row says."""
    of = _UNSAFE.sub("_", picture["of"])[:60]
    return f"{of}-{picture['sample']:03}.{_SUFFIXES.get(picture['media_type'], 'bin')}"


def _size(picture: Picture) -> str:
    if picture["bytes"] is None:
        return "not stored any more"
    return f"{picture['media_type']} {picture['bytes']:,} bytes"


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
