"""Check out an earlier commit into its own folder."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def check_out(root: Path, commit: str) -> Iterator[Path]:
    """Check out the commit into a temporary worktree; yield its folder, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="affected-") as parent:
        folder = Path(parent) / "tree"
        _run(root, "worktree", "add", "--detach", str(folder), commit)
        try:
            yield folder
        finally:
            _run(root, "worktree", "remove", "--force", str(folder))


def _run(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
