"""Hidden folders beside a build, in which the build is made.

A killed process cannot remove its folder, so the next build of the same name does. A folder in use has a lock on a file
in it; the system releases the lock when the process dies.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

_LOCK = "in-use"
_RANDOM = "[a-z0-9_]{8}"  # the suffix that mkdtemp adds to a name


def lock_new_folder(target: Path) -> tuple[Path, int]:
    """Create a hidden folder. Return its path and the file descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)  # another build swept the folder before it was locked


def sweep(target: Path) -> None:
    """Remove the folders of builds of this name whose processes died."""
    name = re.compile(rf"\.{re.escape(target.name)}\.{_RANDOM}")
    for folder in target.parent.iterdir():
        if not name.fullmatch(folder.name):
            continue
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:
            continue  # another program made it: the folder of a build always has this file
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass  # another process is using it
        finally:
            os.close(lock)
