"""Write and read checkpoints of a fit. A checkpoint is used only if it is complete and unchanged."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.util.regular_file import open_regular, read_regular_text
from lumos_queue.util.untrusted_json import read_json

SEAL = "seal.json"  #: written last: the digests of all other files, and the facts of the checkpoint
KEPT = 2  #: newest checkpoints of a fit: one of the two may be damaged
PARTIAL = "partial-"  #: begins the name of a folder of incomplete checkpoints
ABANDONED_SECONDS = 3600.0  #: after which nobody writes to such a folder of another machine


def checkpoint_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:06d}"


def seal_checkpoint(folder: Path, target: Path, facts: dict[str, Any]) -> None:
    """Write the seal of a complete folder, and rename the folder to `target` when all of it is on the disk.

    An existing `target` is replaced, unless another process writes it at the same time: then it has the same content.
    The seal contains digests and `facts`, which are JSON. If the process is killed during the call, `target` is missing
    or complete.
    """
    files = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
    (folder / SEAL).write_text(json.dumps(facts | {"files": files}) + "\n")
    for path in (*folder.iterdir(), folder):
        flush(path)
    if target.exists():
        shutil.rmtree(target, ignore_errors=True)
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        read_seal(target)  # raises SpecError if it is not complete
    flush(target.parent)


def read_facts(checkpoint: Path) -> dict[str, Any]:
    """Return the seal of a checkpoint without reading its other files. Raises SpecError if it has no seal."""
    try:
        seal = read_json(read_regular_text(checkpoint / SEAL, checkpoint))
        seal["files"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SpecError(f"'{checkpoint}' is not a checkpoint of a fit: it has no {SEAL}.") from None
    return seal


def read_seal(checkpoint: Path) -> dict[str, Any]:
    """Return the seal of a checkpoint. Raises SpecError unless the checkpoint is complete and all digests match."""
    seal = read_facts(checkpoint)
    for name, digest in seal["files"].items():
        path = checkpoint / name
        if not path.is_file() or _sha256(path) != digest:
            raise SpecError(f"The checkpoint '{checkpoint}' is damaged: {name} is not as it was written.")
    return seal


@dataclass(frozen=True, slots=True)
class UsableCheckpoint:
    """The newest undamaged checkpoint of a fit."""

    path: Path | None  #: None: there is none
    seal: dict[str, Any]  #: {} without a checkpoint
    problems: list[str]  #: of newer ones

    @property
    def notes(self) -> list[str]:
        """The problems, and the step after which the fit continues; [] without problems."""
        step = self.seal.get("step", 0)
        return [*self.problems, f"Its steps are done again from step {step}."] if self.problems else []


def newest_usable(folder: Path, spec: str, at_most: int) -> UsableCheckpoint:
    """Return the newest undamaged checkpoint of a fit up to the step `at_most`. `spec` is the digest of the fit."""
    problems = []
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            seal = read_seal(path)
        except SpecError as problem:
            problems.append(str(problem))
            continue
        if seal.get("spec") != spec:
            problems.append(f"'{path}' is of another fit.")
        elif seal["step"] <= at_most:
            return UsableCheckpoint(path, seal, problems)
    return UsableCheckpoint(None, {}, problems)


def partial_folder_of(folder: Path) -> Path:
    """Return the folder for the incomplete checkpoints of this process. Another process may work on the fit, too."""
    return folder / f"{PARTIAL}{socket.gethostname()}-{os.getpid()}"


def remove_old(folder: Path, keep: int | None = None) -> None:
    """Remove all checkpoints except the newest KEPT and the best, and incomplete folders that nobody writes.

    `keep`: the best step that this process knows. Another process may have continued the fit, and the newest checkpoint
    has the best step that it knows. A process that still writes has lost the fit to this process. Its incomplete
    checkpoint stays for a time.
    """
    checkpoints = sorted(folder.glob("step-*"))
    best_steps = {keep, *map(_find_best_step, checkpoints[-1:])}
    best_checkpoints = {checkpoint_of(folder, step) for step in best_steps if step is not None}
    for old in checkpoints[:-KEPT]:
        if old not in best_checkpoints:
            shutil.rmtree(old, ignore_errors=True)
    for partial in [*folder.glob("checkpoint-*"), *folder.glob(f"{PARTIAL}*")]:
        if partial != partial_folder_of(folder) and not _is_written(partial):
            shutil.rmtree(partial, ignore_errors=True)


def remove_later(folder: Path, step: int) -> None:
    """Remove the checkpoints of later steps. `remove_old` would take damaged ones for the newest."""
    for later in folder.glob("step-*"):
        if later.name > checkpoint_of(folder, step).name:
            shutil.rmtree(later, ignore_errors=True)


def _find_best_step(checkpoint: Path) -> int | None:
    with contextlib.suppress(SpecError):
        return DevRecord.from_seal(read_facts(checkpoint)).best_step
    return None


def _is_written(partial: Path) -> bool:
    """Whether a process may still write to a folder: it lives on this machine, or may live on another one."""
    host, _, process = partial.name.removeprefix(PARTIAL).rpartition("-")
    if not partial.name.startswith(PARTIAL) or not process.isdigit():
        return False
    if host == socket.gethostname():
        return _is_alive(int(process))
    with contextlib.suppress(OSError):
        return time.time() - max(path.stat().st_mtime for path in [partial, *partial.rglob("*")]) < ABANDONED_SECONDS
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


def _sha256(path: Path) -> str:
    with open_regular(path, path.parent) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Wait until the content of a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
