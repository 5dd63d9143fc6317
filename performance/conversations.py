"""Conversations of generated problems with their gold replies, as a fit gets them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def write_dialogues(folder: Path, problems: int) -> Path:
    """The file of planner's and grounder's conversations of so many problems, made by the project in `folder`."""
    environment = os.environ | {"LUMOS_HOME": str(folder / "home")}
    lumos = [sys.executable, "-m", "lumos_queue.cli.main"]
    for command in (
        ["convert", "wordmath", "--deterministic", "--split", "train", "--limit", str(problems)],
        ["dataset", "build", "pairs", "--where", "origin=converted", "--formulations", "iterative"],
    ):
        subprocess.run([*lumos, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    build = folder / "home" / "builds" / "pairs"
    text = "".join((build / f"{role}_iterative.jsonl").read_text(encoding="utf-8") for role in ("planner", "grounder"))
    path = folder / "conversations.jsonl"
    path.write_text(text, encoding="utf-8")
    return path
