"""Which code this is: the release, and a digest of the source files, so that an edited copy has a name of its own."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

RELEASE = "0.1.0"


@cache
def code_version() -> str:
    """For example `0.1.0+3f9a1c20`; stored with every job, worker session and attempt."""
    here = Path(__file__).resolve().parents[1]
    hasher = hashlib.sha256()
    for folder in (here, here.parent / "db", here.parent / "workers"):
        for file in sorted(folder.rglob("*.py")):
            hasher.update(file.relative_to(folder.parent).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{RELEASE}+{hasher.hexdigest()[:8]}"
