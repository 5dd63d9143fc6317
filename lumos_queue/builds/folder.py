"""The folders of builds. A build is published in one step, so that its folder is always complete."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lumos_queue.builds.scratch import lock_new_folder, sweep
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.util.paths import require_folders
from lumos_queue.util.regular_file import UnusableFile, open_regular, read_regular_text
from lumos_queue.util.untrusted_json import read_json

MANIFEST, LINEAGE, CARD = "manifest.json", "lineage.jsonl", "README.md"
#: The fields of every manifest, and their types.
_MANIFEST_FIELDS = {
    "name": str,
    "digest": str,
    "options": dict,
    "rows": int,
    "files": list,
    "episodes": dict,
    "verdicts": dict,
    "levels": dict,
    "licences": dict,
    "warning": str,
    "contamination": dict,
    "code_version": str,
    "created_at": str,
}
_FILE_FIELDS = {"file", "part", "rows", "average_turns", "sha256"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def folder_of(settings: Settings, name: str) -> Path:
    """Return the folder for a build of that name. Raises SpecError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise SpecError(
            f"'{name}' is not a name for a build: expected at most 100 letters, digits, '.', '_' and '-', with a "
            "letter or a digit first."
        )
    return settings.home / "builds" / name


def find_named_build(settings: Settings, name: str) -> Path:
    """Return the folder of the existing build of that name. Raises SpecError when there is none."""
    folder = settings.home / "builds" / name
    if not _NAME.fullmatch(name) or not (folder / MANIFEST).is_file():
        raise SpecError(f"There is no build '{name}'. List them with: lumos dataset list")
    return folder


def find_build(settings: Settings, text: str) -> Path:
    """Return the folder of a build, by its name or its path. Raises SpecError when there is none."""
    for folder in (settings.home / "builds" / text if _NAME.fullmatch(text) else Path(text), Path(text)):
        if (folder / MANIFEST).is_file():
            return folder
    raise SpecError(f"There is no build '{text}'. List them with: lumos dataset list")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a build. Raises SpecError when it cannot be read or is no manifest."""
    try:
        manifest = read_json(read_regular_text(folder / MANIFEST, folder))
    except (OSError, ValueError) as error:
        raise SpecError(f"'{folder / MANIFEST}' cannot be read: {error}") from None
    if not isinstance(manifest, dict):
        raise SpecError(f"'{folder / MANIFEST}' is not a manifest of a build.")
    if bad := [name for name, kind in _MANIFEST_FIELDS.items() if not isinstance(manifest.get(name), kind)]:
        raise SpecError(
            f"'{folder / MANIFEST}' is not a manifest of a build: '{bad[0]}' is missing or has another type."
        )
    if not all(isinstance(file, dict) and file.keys() >= _FILE_FIELDS for file in manifest["files"]):
        raise SpecError(
            f"'{folder / MANIFEST}' is not a manifest of a build: expected objects with "
            f"{', '.join(sorted(_FILE_FIELDS))} in 'files'."
        )
    return manifest


def find_changed_files(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Return a line for each file of rows that is missing, unreadable or differs from the manifest."""
    problems = []
    for file in manifest["files"]:
        try:
            with open_regular(folder / file["file"], folder) as stream:
                same = hashlib.file_digest(stream, "sha256").hexdigest() == file["sha256"]
        except OSError as error:
            problems.append(f"file {file['file']} cannot be read: {error.strerror}")
            continue
        except UnusableFile as error:
            problems.append(f"file {file['file']} cannot be read: it {error.problem}")
            continue
        if not same:
            problems.append(f"file {file['file']} differs from its manifest")
    return problems


def all_builds(settings: Settings) -> list[Path]:
    """Return the folders of all named builds, sorted."""
    parent = settings.home / "builds"
    return sorted(path.parent for path in parent.glob(f"*/{MANIFEST}")) if parent.is_dir() else []


def load_existing_build(target: Path, options: dict[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of the build in `target`, if it has these options; None for a missing or empty folder.

    Raises SpecError when the folder holds anything else, such as a build with other options or with changed files.
    """
    require_folders(target, "--out")
    if target.exists() and not target.is_dir():
        raise SpecError(f"'{target}' is a file: name a new or empty folder.")
    if not target.is_dir() or not any(target.iterdir()):
        return None
    if not (target / MANIFEST).is_file():
        raise SpecError(f"The folder '{target}' is not empty: name a new or empty one.")
    manifest = read_manifest(target)
    if manifest["options"] != options:
        raise SpecError(
            f"'{target}' holds a build with other options ({manifest['digest'][:12]}): take another name, or remove "
            "the folder."
        )
    if changes := find_changed_files(target, manifest):
        raise SpecError(
            f"The build in '{target}' was changed after it was made: {changes[0]}. Remove the folder to make the build "
            "again, or take another name."
        )
    return manifest


@contextmanager
def open_staging_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder beside the target, and remove it at the end of the block; `publish` moves the build out of it.

    Parent folders are created if they are missing, and removed again if they are empty. Folders that dead processes
    left from builds of the same name are removed first. Raises OSError when the disk fails.
    """
    new_parents = [folder for folder in target.absolute().parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target)
        scratch, lock = lock_new_folder(target)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            os.close(lock)
    finally:
        for folder in new_parents:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def publish(folder: Path, target: Path) -> None:
    """Sync a complete folder to the disk and rename it to the target. Raises SpecError when the rename fails."""
    for path in sorted(folder.rglob("*"), reverse=True):
        _sync(path)
    _sync(folder)
    try:
        os.rename(folder, target)
    except OSError as error:
        raise SpecError(f"The build cannot be moved to '{target}': {error.strerror}.") from None
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
