"""Print the next annotation or run to label, and how many are left."""

from __future__ import annotations

from typing import Any

from db.queries.labels import KINDS
from lumos_queue.cli import output
from lumos_queue.cli.trajectory import print_trajectory


def print_next(task: dict[str, Any]) -> None:
    """Print the annotation or run to label, and the command that labels it."""
    if not task["of"]:
        output.show(f"the audit {task['audit']} has no places left: the jobs of its annotations or runs were removed")
        return
    if task["place"] is None:
        output.show(f"{task['labeller']} has labelled all {task['of']}. See: lumos audit report {task['audit']}")
        return
    print_trajectory(task["episode"], False)
    output.show(
        f"place {task['place']}; {task['left']} of {task['of']} left to label. Label it with: "
        f"lumos audit label {task['audit']} {task['place']} right|wrong|unsure (wrong: --step 2-1 --kind "
        f"{'|'.join(KINDS)})"
    )


def print_progress(progress: dict[str, Any]) -> None:
    """Print how many items each labeller has left."""
    for labeller, remaining in progress["left"].items():
        output.show(
            f"{labeller}: {remaining} left"
            if remaining
            else f"{labeller}: all labelled. See: lumos audit report {progress['audit']}"
        )
