"""Print the next annotation or run to label, and how many are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from db.queries.labels import KINDS
from lumos_queue.cli import output
from lumos_queue.cli.trajectory import print_trajectory
from lumos_queue.reports.episode_details import EpisodeDetails
from lumos_queue.reports.episode_values import EpisodeReport


@dataclass(frozen=True, slots=True)
class LabellerTurn:
    """The next place of an audit for a labeller."""

    audit: str
    labeller: str
    place: int | None  #: None if nothing is left to label
    of: int  #: places
    left: int  #: places that the labeller has not labelled
    episode: EpisodeReport | None  #: of the place


def print_next(task: LabellerTurn) -> None:
    """Print the annotation or run to label, and the command that labels it."""
    if not task.of:
        output.show(f"the audit {task.audit} has no places left: the jobs of its annotations or runs were removed")
        return
    if task.episode is None:
        output.show(f"{task.labeller} has labelled all {task.of}. See: lumos audit report {task.audit}")
        return
    print_trajectory(EpisodeDetails(task.episode), False)
    output.show(
        f"place {task.place}; {task.left} of {task.of} left to label. Label it with: "
        f"lumos audit label {task.audit} {task.place} right|wrong|unsure (wrong: --step 2-1 --kind "
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
