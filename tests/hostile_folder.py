"""A working directory full of modules that must never run."""

from __future__ import annotations

import json
from pathlib import Path

#: Ours, the libraries', the standard library's, and the configurations that Celery and Flower run when they find them.
NAMES = (
    "workers",
    "random",
    "celery",
    "lumos_queue",
    "db",
    "json",
    "torch",
    "sitecustomize",
    "usercustomize",
    "flower",
    "celeryconfig",
    "flowerconfig",
    "sympy",
    "secrets",
    "numpy",
    "bdb",
    "code",
)
#: In the file `replies.json` of the folder, for jobs that name it relatively.
REPLIES = [
    {"contains": "Should we stop planning?", "reply": "Yes, I will stop planning."},
    {"contains": "to be grounded:", "reply": "R1 = Calculator(2 + 3); R2 = Code(answer = R1 * 2)"},
    {"contains": "", "reply": "Subgoal 1: Add."},
]


def make_hostile_folder(parent: Path) -> Path:
    """A folder with a module of each name that, when it is run, writes its name into the file `run` of the parent."""
    folder = parent / "downloads"
    folder.mkdir()
    log = f"import os\nos.write(os.open({str(parent / 'run')!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"{log}b'{name}\\n')\n")
    (folder / "replies.json").write_text(json.dumps(REPLIES))
    return folder


def were_run(folder: Path) -> list[str]:
    """Return the modules of a hostile folder that ran."""
    log = folder.parent / "run"
    return sorted(set(log.read_text().split())) if log.exists() else []
