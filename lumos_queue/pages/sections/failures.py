"""Instructive failures as whole trajectories."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from db.artifacts import load_artifact
from db.outcomes import FailedEpisode, find_failures, find_right
from db.reading import Trajectory, get_trajectory
from lumos_queue.pages.blocks import Block, Episodes, Text
from lumos_queue.pages.choice import Choice, choose, tell_how
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.trajectories import ShownEpisode, ShownPicture, show_episode
from lumos_queue.pages.wording import plural
from lumos_queue.reports.pictures import list_pictures
from lumos_queue.reports.trajectory import trajectory_as_json

IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")  #: that a page may hold
MAX_PICTURE = 60_000  #: bytes of one in a page


@dataclass(frozen=True, slots=True)
class ReadEpisode:
    """An episode as it is stored."""

    found: Mapping[str, Any]  #: reports.trajectory.trajectory_as_json
    pictures: Sequence[tuple[str, str, bytes]]  #: (label, media type, bytes; b'' where it is only named)


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """A failure that was chosen, and the right episode of the same task in another job."""

    choice: Choice
    episode: ReadEpisode
    other: ReadEpisode | None


def read_failures(connection: Connection, material: Material) -> list[ReadFailure]:
    """The failures to show. Only they are read whole."""
    jobs = [job for job in material.jobs if job.row.kind != "train"]
    rows = [job.row for job in jobs]
    found: dict[str, Iterator[FailedEpisode]] = {
        job.id: find_failures(connection, job.id, _metric(job)) for job in jobs
    }
    compared = [job for job in jobs if job.row.kind == "evaluate" and job.metric] if len(jobs) > 1 else []
    right = {job.id: find_right(connection, job.id, job.metric) for job in compared}
    return [_read(connection, choice) for choice in choose(rows, found, right)]


def _metric(job: JobMaterial) -> str:
    """What says which of its episodes failed: of a conversion its verdicts do."""
    return job.metric if job.row.kind == "evaluate" else ""


def _read(connection: Connection, choice: Choice) -> ReadFailure:
    other = None if choice.right is None else read_episode(connection, get_trajectory(connection, *choice.right))
    failed = get_trajectory(connection, choice.job, choice.failed.ordinal)
    return ReadFailure(choice, read_episode(connection, failed), other)


def read_episode(connection: Connection, trajectory: Trajectory) -> ReadEpisode:
    """The episode with those of its pictures that a page can hold."""
    pictures = []
    for one in list_pictures(connection, trajectory, shown_to_models=True):
        label = f"{one['of']}: {one['media_type'] or 'file'} {one['sha256'][:12]}…"
        small = one["media_type"] in IMAGES and (one["bytes"] or MAX_PICTURE + 1) <= MAX_PICTURE
        stored = load_artifact(connection, one["sha256"]) if small else None
        pictures.append((label, one["media_type"], stored[0] if stored else b""))
    return ReadEpisode(trajectory_as_json(trajectory), pictures)


def failures(material: Material, read: Sequence[ReadFailure], limits: PageLimits) -> Iterator[Block]:
    if not read:
        return
    several = sum(job.row.kind == "evaluate" for job in material.jobs) > 1
    shown, room = [], limits.pictures
    for one in read:
        pictures, room = show_pictures(one.episode, room)
        shown.append(show_episode(one.episode.found, _title(one.choice), limits, pictures, _show_other(one, limits)))
    yield Text(f"{plural(len(shown), 'failure')}. {tell_how(several)}")
    yield Episodes(shown)


def _title(choice: Choice) -> str:
    of = f"one of {choice.size:,} such failures" if choice.size > 1 else "the only such failure"
    right = f"; right in {choice.right[0].id}" if choice.right else ""
    return f"{choice.failure} ({of}){right}"


def _show_other(one: ReadFailure, limits: PageLimits) -> ShownEpisode | None:
    if one.other is None or not limits.others:
        return None
    pictures, _ = show_pictures(one.other, 0)
    return show_episode(one.other.found, "the same task, right", limits, pictures)


def show_pictures(episode: ReadEpisode, room: int) -> tuple[list[ShownPicture], int]:
    """The pictures of an episode, those for which there is no room named only; and how many bytes are left."""
    shown = []
    for label, media_type, data in episode.pictures[:40]:
        uri = ""
        if data and len(data) <= room:
            room -= len(data)
            uri = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
        shown.append(ShownPicture(label, uri))
    if (more := len(episode.pictures) - len(shown)) > 0:
        shown.append(ShownPicture(f"and {more:,} more", ""))
    return shown, room
