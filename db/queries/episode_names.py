"""Episodes by the name people use: JOB-NUMBER."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.models import Item
from db.queries.jobs import get_job
from db.queries.trajectories import find_cursor
from db.queries.trajectory import Trajectory, get_trajectory
from lumos_queue.errors import SpecError


def split_name(name: str) -> tuple[str, int]:
    """Split the name of an episode, such as `k3f9a2cd-17`, into job and number. Raises SpecError for another text."""
    job, dash, number = name.rpartition("-")
    if not dash or not job or not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise SpecError(f"'{name}' names no episode: expected JOB-NUMBER, as `lumos episodes JOB` lists them.")
    return job, int(number)


def load_finished_trajectory(connection: Connection, name: str) -> Trajectory:
    """Return the finished episode of that name, with its steps. Raises SpecError if it is missing or has not ended."""
    job, number = split_name(name)
    trajectory = get_trajectory(connection, get_job(connection, job), number)
    if not trajectory.episode.ending:
        raise SpecError(f"Episode {trajectory.job.id}-{number} has not ended: its item is {trajectory.item.state}.")
    return trajectory


def trajectory_of(connection: Connection, episode: int) -> Trajectory:
    """Return the episode with that key. Raises SpecError if its job was removed."""
    item = connection.execute(select(Item.job, Item.ordinal).where(Item.id == episode)).first()
    if item is None:
        raise SpecError(f"The episode with the key {episode} is not stored any more: its job was removed.")
    return get_trajectory(connection, get_job(connection, item.job), item.ordinal)


def read_cursor(connection: Connection, job: str, after: str) -> int:
    """Return the id of the episode that precedes a page of episodes.

    `after`: the name JOB-NUMBER of that episode; or, with a job, the number of the page's first episode.

    Raises SpecError for another text, and for an unknown job.
    """
    name, dash, number = after.rpartition("-")
    if not number.isascii() or not number.isdecimal() or len(number) > 9 or not (name if dash else job):
        raise SpecError(
            f"Cannot continue after '{after}': expected the name JOB-NUMBER of an episode, or with a JOB its number."
        )
    if dash:
        return find_cursor(connection, get_job(connection, name).id, int(number))
    return find_cursor(connection, job, int(number) - 1)
