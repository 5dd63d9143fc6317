"""Write a folder completely or not at all, even if several processes write the same folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.paths import require_folders
from lumos_queue.util.write_failures import is_disk_full


def write_folder(target: Path, write: Callable[[Path], None], option: str = "LUMOS_HOME") -> bool:
    """Let `write` fill an empty folder, then move this folder to `target`. Return False if `target` existed already.

    If several processes call this, one writes and the others wait; what a killed process left is removed. Messages name
    `option`, an option or variable, as the way to choose another folder. Raises SpecError if the folder cannot be
    written, the disk is full or `target` is a file, and all errors of `write`. After an error, no part remains.
    """
    require_folders(target, option)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = (target.parent / f".{target.name}.lock").open("w")
    except OSError as error:
        raise SpecError(f"Cannot write in '{target.parent}': {error.strerror}. Name another with {option}.") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in target.parent.glob(f".{target.name}.*.part"):
            shutil.rmtree(leftover, ignore_errors=True)
        if target.is_dir():
            return False
        if target.exists():
            raise SpecError(f"'{target}' is a file, not a folder: move it away.")
        part = ""
        try:
            part = tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            write(Path(part))
            _sync(Path(part))
            os.rename(part, target)
        except Exception as error:
            if is_disk_full(error):
                raise SpecError(
                    f"The disk is full: '{target}' was not written, and no part of it remains. Free some space, or "
                    f"name a folder on another disk with {option}."
                ) from None
            raise
        finally:
            if part:
                shutil.rmtree(part, ignore_errors=True)
    return True


def _sync(folder: Path) -> None:
    """Sync all files to the disk, because otherwise they may be empty after a power cut.

    All files are made readable for everyone, because some libraries write files for their owner only.
    """
    for path in (*folder.rglob("*"), folder):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
