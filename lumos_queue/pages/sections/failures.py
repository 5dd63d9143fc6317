"""The section of instructive failures, which are displayed as whole trajectories."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from db.engine.connection import Connection
from db.journal.artifacts import load_artifact
from db.kinds.job_kinds import JobKind
from db.queries.outcomes import FailedEpisode, find_failures, find_right
from db.queries.trajectory import Trajectory, get_trajectory
from lumos_queue.pages.blocks import Block, Episodes, Text
from lumos_queue.pages.choice import Choice, choose, describe_choice
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.trajectories import ShownEpisode, ShownPicture, show_episode
from lumos_queue.reports.episode_values import EpisodeReport
from lumos_queue.reports.pictures import list_pictures
from lumos_queue.reports.trajectory import describe_trajectory
from lumos_queue.util.wording import plural

IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")  #: media types of pictures on a page
MAX_PICTURE = 60_000  #: bytes of a picture


@dataclass(frozen=True, slots=True)
class ReadEpisode:
    """A stored episode as it was read for a page: its steps and its pictures."""

    report: EpisodeReport
    pictures: Sequence[tuple[str, str, bytes]]  #: (label, media type, bytes; b'' if only the label is displayed)


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """A failure for the page, and a right episode of the same task in another job, if there is one."""

    choice: Choice
    episode: ReadEpisode
    other: ReadEpisode | None


def read_failures(connection: Connection, material: Material) -> list[ReadFailure]:
    """Choose the failures of the page and read their trajectories."""
    jobs = [job for job in material.jobs if job.row.kind != JobKind.TRAIN]
    rows = [job.row for job in jobs]
    failed_episodes: dict[str, Iterator[FailedEpisode]] = {
        job.id: find_failures(connection, job.id, _metric(job)) for job in jobs
    }
    evaluations = [job for job in jobs if job.row.kind == JobKind.EVALUATE and job.metric] if len(jobs) > 1 else []
    right = {job.id: find_right(connection, job.id, job.metric) for job in evaluations}
    return [_read(connection, choice) for choice in choose(rows, failed_episodes, right)]


def _metric(job: JobMaterial) -> str:
    """Return the metric that decides which episodes failed; '' for a conversion, where the verdicts decide."""
    return job.metric if job.row.kind == JobKind.EVALUATE else ""


def _read(connection: Connection, choice: Choice) -> ReadFailure:
    right_episode = (
        None if choice.right is None else read_episode(connection, get_trajectory(connection, *choice.right))
    )
    trajectory = get_trajectory(connection, choice.job, choice.failed.ordinal)
    return ReadFailure(choice, read_episode(connection, trajectory), right_episode)


def read_episode(connection: Connection, trajectory: Trajectory) -> ReadEpisode:
    """Read an episode with its pictures that are small enough for a page."""
    pictures = []
    for picture in list_pictures(connection, trajectory, shown_to_models=True):
        label = f"{picture.of}: {picture.media_type or 'file'} {picture.sha256[:12]}…"
        small = picture.media_type in IMAGES and (picture.bytes or MAX_PICTURE + 1) <= MAX_PICTURE
        artifact = load_artifact(connection, picture.sha256) if small else None
        pictures.append((label, picture.media_type, artifact[0] if artifact else b""))
    return ReadEpisode(describe_trajectory(trajectory), pictures)


def failures(material: Material, stored_failures: Sequence[ReadFailure], limits: PageLimits) -> Iterator[Block]:
    if not stored_failures:
        return
    several = sum(job.row.kind == JobKind.EVALUATE for job in material.jobs) > 1
    episodes, room = [], limits.pictures
    for failure in stored_failures:
        pictures, room = show_pictures(failure.episode, room)
        episodes.append(
            show_episode(failure.episode.report, _title(failure.choice), limits, pictures, _show_other(failure, limits))
        )
    yield Text(f"{plural(len(episodes), 'failure')}. {describe_choice(several)}")
    yield Episodes(episodes)


def _title(choice: Choice) -> str:
    of = f"one of {choice.size:,} such failures" if choice.size > 1 else "the only such failure"
    right = f"; right in {choice.right[0].id}" if choice.right else ""
    return f"{choice.failure} ({of}){right}"


def _show_other(failure: ReadFailure, limits: PageLimits) -> ShownEpisode | None:
    if failure.other is None or not limits.shows_counterparts:
        return None
    pictures, _ = show_pictures(failure.other, 0)
    return show_episode(failure.other.report, "the same task, right", limits, pictures)


def show_pictures(episode: ReadEpisode, room: int) -> tuple[list[ShownPicture], int]:
    """Return the pictures of an episode, and how many bytes of `room` remain. Pictures beyond it are only labels."""
    visible = []
    for label, media_type, data in episode.pictures[:40]:
        uri = ""
        if data and len(data) <= room:
            room -= len(data)
            uri = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
        visible.append(ShownPicture(label, uri))
    if (excess := len(episode.pictures) - len(visible)) > 0:
        visible.append(ShownPicture(f"and {excess:,} more", ""))
    return visible, room
