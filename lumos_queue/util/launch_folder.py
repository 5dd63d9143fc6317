"""The folder that a person started something in: relative paths refer to it, and nothing in it is ever run.

A person's current folder holds whatever they downloaded. Python, Celery and Flower would run a `workers.py`, a
`random.py` or a `flowerconfig.py` of it, so every process of this project starts with `-P` in an empty folder, and a
variable tells it which folder relative paths refer to.
"""

from __future__ import annotations

import os
from importlib.machinery import all_suffixes
from pathlib import Path

from lumos_queue.errors import SpecError

#: An absolute path, for processes that start elsewhere; one that a person starts does without, in the current folder.
VARIABLE = "LUMOS_LAUNCH_FOLDER"


def from_launch(path: str | Path) -> Path:
    """A path as a person, a setting or a stored job names it: a relative one is in the folder of the launch."""
    return Path(os.environ.get(VARIABLE, ""), path)


def child_environment() -> dict[str, str]:
    """The variables of a process that starts in another folder, with absolute paths for relative ones."""
    variables = {**os.environ, VARIABLE: str(from_launch("").absolute()), "PYTHONSAFEPATH": "1"}
    for name in ("PATH", "PYTHONPATH"):
        # An empty entry means the current folder, which is searched only if it is written as a dot.
        entries = [os.path.abspath(entry) for entry in variables.get(name, "").split(os.pathsep) if entry]
        if name in variables:
            variables[name] = os.pathsep.join(entries)
    return variables


def empty_folder(home: Path) -> Path:
    """A folder to start processes in, made when it is not there. Raises SpecError when something in it could be run."""
    folder = from_launch(home).absolute() / "run" / "empty"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.is_dir() or path.name.endswith(tuple(all_suffixes())):
                raise SpecError(f"'{folder}' must stay empty, as processes start in it: remove '{path.name}'.")
    except OSError as error:
        raise SpecError(f"Cannot write in '{home}': {error.strerror}. Set LUMOS_HOME to another folder.") from None
    return folder
