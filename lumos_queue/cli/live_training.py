"""What the live progress says of a training job: its pace, the rollouts that it waits for, and its latest reward."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from db.figures import count_endings
from db.training import list_feedback


def describe_training(connection: Connection, job: Any, awaited: Any, per_second: float) -> list[str]:
    """Lines of the block; `awaited` is the row of the job that it waits for, as of `find_awaited`."""
    lines = [f"{60 * per_second:.1f} items/min{describe_awaited(job, awaited)}"]
    if awaited and (endings := count_endings(connection, awaited.id)):
        lines.append("rollouts so far  " + "  ".join(f"{name} {count}" for name, count in sorted(endings.items())))
    if learnt := list_feedback(connection, job.id):
        latest = learnt[-1]
        lines.append(f"step {latest['step']}: mean reward {latest['reward']:.3f}, baseline {latest['baseline']:.3f}")
    return lines


def describe_awaited(job: Any, awaited: Any) -> str:
    """How far the job is that this one waits for, to follow other figures; '' if it waits for none."""
    return f" · {job.waiting}, {awaited.done}/{awaited.items}" if awaited else ""
