"""The hidden folders beside a build in which it is made.

A killed process cannot clean up. The next build of the same name does: a lock on a file in the folder, which the system
releases when the process dies, tells a folder that was left behind from one in use.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

_LOCK = "in-use"
_RANDOM = "[a-z0-9_]{8}"  # what mkdtemp adds to a name


def lock_new_folder(target: Path) -> tuple[Path, int]:
    """A new hidden folder and the handle that keeps it locked."""
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
            continue  # not ours: a folder of ours has this file from its beginning
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass  # it is being made
        finally:
            os.close(lock)
