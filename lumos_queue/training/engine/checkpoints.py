"""Write and read checkpoints of a fit. A checkpoint is used only if it is complete and unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import open_regular, read_regular_text
from lumos_queue.util.untrusted_json import read_json

SEAL = "seal.json"  #: written last: the digests of all other files, and the facts of the checkpoint
KEPT = 2  #: checkpoints of a fit: one of the two may be damaged


def checkpoint_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:06d}"


def seal_checkpoint(folder: Path, target: Path, facts: dict[str, Any]) -> None:
    """Write the seal of a complete folder, and rename the folder to `target` when all of it is on the disk.

    An existing `target` is replaced. The seal contains digests and `facts`, which are JSON. If the process is killed
    during the call, `target` is missing or complete.
    """
    files = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
    (folder / SEAL).write_text(json.dumps(facts | {"files": files}) + "\n")
    for path in (*folder.iterdir(), folder):
        flush(path)
    if target.exists():
        shutil.rmtree(target)
    folder.rename(target)
    flush(target.parent)


def read_seal(checkpoint: Path) -> dict[str, Any]:
    """Return the seal of a checkpoint. Raises SpecError unless the checkpoint is complete and all digests match."""
    try:
        seal = read_json(read_regular_text(checkpoint / SEAL, checkpoint))
        files = seal["files"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SpecError(f"'{checkpoint}' is not a checkpoint of a fit: it has no {SEAL}.") from None
    for name, digest in files.items():
        path = checkpoint / name
        if not path.is_file() or _sha256(path) != digest:
            raise SpecError(f"The checkpoint '{checkpoint}' is damaged: {name} is not as it was written.")
    return seal


def newest_usable(folder: Path, spec: str, at_most: int) -> tuple[Path | None, list[str]]:
    """Return the newest undamaged checkpoint of a fit up to the step `at_most`, and the problems of newer ones.

    `spec` is the digest of the fit. The checkpoint is None if there is none.
    """
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
            return path, problems
    return None, problems


def remove_old(folder: Path) -> None:
    """Remove all checkpoints except the newest KEPT, and all incomplete folders."""
    for old in [*sorted(folder.glob("step-*"))[:-KEPT], *folder.glob("checkpoint-*")]:
        shutil.rmtree(old, ignore_errors=True)


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
