"""The folder that a person started something in: relative paths mean what lies there, and nothing there is ever run.

A person's current folder holds whatever they downloaded. Python, Celery and Flower would run a `workers.py`, a
`random.py` or a `flowerconfig.py` of it, so every process of ours starts with `-P` in an empty folder, and learns from
a variable what relative paths belong to.
"""

from __future__ import annotations

import os
from importlib.machinery import all_suffixes
from pathlib import Path

from lumos_queue.errors import SpecError

#: Absolute, for processes that were sent elsewhere; a person's own needs none: theirs is the current folder.
VARIABLE = "LUMOS_LAUNCH_FOLDER"


def from_launch(path: str | Path) -> Path:
    """A path as a person, a setting or a stored job names it: a relative one lies in the folder of the launch."""
    return Path(os.environ.get(VARIABLE, ""), path)


def child_environment() -> dict[str, str]:
    """The variables of a process that starts in another folder than this one: what is relative in them is made good."""
    found = {**os.environ, VARIABLE: str(from_launch("").absolute()), "PYTHONSAFEPATH": "1"}
    for name in ("PATH", "PYTHONPATH"):
        # An empty entry means the current folder; who wants that to be searched writes a dot.
        entries = [os.path.abspath(entry) for entry in found.get(name, "").split(os.pathsep) if entry]
        if name in found:
            found[name] = os.pathsep.join(entries)
    return found


def empty_folder(home: Path) -> Path:
    """A folder to start processes in, made when it is not there. Raises SpecError when something in it could be run."""
    folder = from_launch(home).absolute() / "run" / "empty"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in folder.iterdir():
            if one.is_dir() or one.name.endswith(tuple(all_suffixes())):
                raise SpecError(f"'{folder}' must stay empty, processes start in it: take '{one.name}' away.")
    except OSError as error:
        raise SpecError(f"Cannot write in '{home}': {error.strerror}. Set LUMOS_HOME to another folder.") from None
    return folder
