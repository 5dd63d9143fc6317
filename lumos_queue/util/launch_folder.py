"""The launch folder is the folder where a person started the command. Relative paths refer to it; no file in it runs.

A person's current folder may contain downloaded files. Python, Celery and Flower would run a `workers.py`, a
`random.py` or a `flowerconfig.py` in it. So every process of this project starts with `-P` in an empty folder, and a
variable has the folder to which relative paths refer.
"""

from __future__ import annotations

import os
from importlib.machinery import all_suffixes
from pathlib import Path

from lumos_queue.errors import SpecError

#: An absolute path, for processes that start in another folder. A process that a person starts does not need it.
VARIABLE = "LUMOS_LAUNCH_FOLDER"


def from_launch(path: str | Path) -> Path:
    """Return the path that a person, a setting or a stored job names. A relative path is below the launch folder."""
    return Path(os.environ.get(VARIABLE, ""), path)


def child_environment() -> dict[str, str]:
    """Return the environment for a process that starts in another folder. Its relative paths are made absolute."""
    variables = {**os.environ, VARIABLE: str(from_launch("").absolute()), "PYTHONSAFEPATH": "1"}
    for name in ("PATH", "PYTHONPATH"):
        # An empty entry means the current folder. It is dropped; only a dot selects that folder.
        entries = [os.path.abspath(entry) for entry in variables.get(name, "").split(os.pathsep) if entry]
        if name in variables:
            variables[name] = os.pathsep.join(entries)
    return variables


def empty_folder(home: Path) -> Path:
    """Return the folder to start processes in, and create it if needed.

    Raises SpecError if it contains something that could be run, or cannot be written.
    """
    folder = from_launch(home).absolute() / "run" / "empty"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.is_dir() or path.name.endswith(tuple(all_suffixes())):
                raise SpecError(f"'{folder}' must stay empty, because processes start in it: remove '{path.name}'.")
    except OSError as error:
        raise SpecError(f"Cannot write in '{home}': {error.strerror}. Set LUMOS_HOME to another folder.") from None
    return folder
