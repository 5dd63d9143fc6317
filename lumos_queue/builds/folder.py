"""Where builds lie, and how one appears: whole, or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings

MANIFEST, LINEAGE, CARD = "manifest.json", "lineage.jsonl", "README.md"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def folder_of(settings: Settings, name: str) -> Path:
    """Where the build of that name lies. Raises SpecError for what is no name of a build."""
    if not _NAME.fullmatch(name):
        raise SpecError(f"'{name}' is no name for a build: expected letters, digits, '.', '_' and '-', at most 100.")
    return settings.home / "builds" / name


def find_build(settings: Settings, text: str) -> Path:
    """The folder of a build, by its name or its folder. Raises SpecError when there is none."""
    for folder in (settings.home / "builds" / text if _NAME.fullmatch(text) else Path(text), Path(text)):
        if (folder / MANIFEST).is_file():
            return folder
    raise SpecError(f"There is no build '{text}'. List them with: lumos dataset list")


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a build says of itself. Raises SpecError when its manifest cannot be read."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(f"'{folder / MANIFEST}' cannot be read: {error}") from None
    if not isinstance(found, dict) or not {"digest", "options", "files"} <= found.keys():
        raise SpecError(f"'{folder / MANIFEST}' is no manifest of a build.")
    return found


def all_builds(settings: Settings) -> list[Path]:
    """The folders of the builds kept under their names."""
    parent = settings.home / "builds"
    return sorted(path.parent for path in parent.glob(f"*/{MANIFEST}")) if parent.is_dir() else []


def present(target: Path, options: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the build that already lies there, if it was made with the same options.

    Raises SpecError when the folder holds anything else: a build never changes.
    """
    if target.exists() and not target.is_dir():
        raise SpecError(f"'{target}' is a file: name a new or empty folder.")
    if not target.is_dir() or not any(target.iterdir()):
        return None
    if not (target / MANIFEST).is_file():
        raise SpecError(f"The folder '{target}' is not empty: name a new or empty one.")
    found = read_manifest(target)
    if found["options"] != options:
        raise SpecError(f"'{target}' holds another build ({found['digest'][:12]}): take another name, or remove it.")
    return found


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A new folder beside the target, gone when the block is left; `publish` moves what is finished out of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def publish(folder: Path, target: Path) -> None:
    """Make a finished folder the target, in one step, once all of it is on the disk."""
    for path in sorted(folder.rglob("*"), reverse=True):
        _sync(path)
    _sync(folder)
    try:
        os.rename(folder, target)
    except OSError as error:
        raise SpecError(f"The build cannot be put at '{target}': {error.strerror}.") from None
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
