"""Artifacts: bytes that tasks and executions refer to by their sha256, such as images.

A dataset or episode that names one has a row for it (`dataset_artifact`, `episode_artifact`). An artifact without such
a row may be removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, exists, func, literal, select

from db.bulk import insert_into
from db.models import Artifact, DatasetArtifact, EpisodeArtifact

Artifacts = Mapping[str, tuple[str, bytes]]  #: media type, e.g. 'image/png', and bytes, by sha256


def insert_artifacts(connection: Connection, artifacts: Artifacts) -> None:
    """Store artifacts; those stored already are left alone, and stay until this transaction ends."""
    if not artifacts:
        return
    # In order of their keys, as text blocks are: two processes wait for each other, and never deadlock.
    rows = [
        {"digest": digest, "media_type": media_type, "data": data}
        for digest, (media_type, data) in sorted(artifacts.items())
    ]
    # The update changes nothing, and locks the row: it is not removed before it is named.
    new = insert_into(connection, Artifact)
    same = {"media_type": Artifact.media_type}
    connection.execute(new.on_conflict_do_update(index_elements=["digest"], set_=same), rows)


def store_artifact(connection: Connection, data: bytes, media_type: str) -> str:
    """Store bytes, unless they are there; returns their sha256."""
    digest = hashlib.sha256(data).hexdigest()
    insert_artifacts(connection, {digest: (media_type, data)})
    return digest


def name_artifact(connection: Connection, dataset: str, digest: str) -> None:
    """Say that the tasks of a dataset name a stored artifact."""
    row = {"dataset": dataset, "digest": digest}
    connection.execute(insert_into(connection, DatasetArtifact).on_conflict_do_nothing(), [row])


def copy_names(connection: Connection, dataset: str, copy: str) -> None:
    """Say that the tasks of another dataset name what those of this one do."""
    named = select(literal(copy), DatasetArtifact.digest).where(DatasetArtifact.dataset == dataset)
    new = insert_into(connection, DatasetArtifact).from_select(
        ["dataset", "digest"], named.order_by(DatasetArtifact.digest)
    )
    connection.execute(new.on_conflict_do_nothing())


def count_named(connection: Connection, dataset: str) -> int:
    """How many artifacts the tasks of a dataset name."""
    counted = select(func.count()).where(DatasetArtifact.dataset == dataset)
    return connection.execute(counted).scalar_one()


def load_artifact(connection: Connection, digest: str) -> tuple[bytes, str] | None:
    """The bytes with this sha256 and what they are, e.g. 'image/png'; None when they are not there."""
    found = connection.execute(select(Artifact.data, Artifact.media_type).where(Artifact.digest == digest)).first()
    return (bytes(found.data), found.media_type) if found else None


def describe_artifacts(connection: Connection, digests: Collection[str]) -> dict[str, tuple[str, int]]:
    """Of those that are stored, by sha256: what they are, e.g. 'image/png', and how many bytes."""
    found: dict[str, tuple[str, int]] = {}
    ordered = sorted(digests)
    for start in range(0, len(ordered), 500):  # a query has a limit of parameters
        wanted = Artifact.digest.in_(ordered[start : start + 500])
        rows = connection.execute(
            select(Artifact.digest, Artifact.media_type, func.length(Artifact.data).label("size")).where(wanted)
        )
        found |= {row.digest: (row.media_type, row.size) for row in rows}
    return found


def peek_artifact(connection: Connection, digest: str, most: int = 16) -> tuple[bytes, bytes] | None:
    """The first and the last bytes with this sha256; None when they are not there."""
    ends = func.substr(Artifact.data, 1, most), func.substr(Artifact.data, func.length(Artifact.data) - most + 1, most)
    # The end of bytes shorter than that would begin before them.
    whole = select(Artifact.data).where(Artifact.digest == digest, func.length(Artifact.data) <= most)
    if (short := connection.execute(whole).scalar()) is not None:
        return bytes(short), bytes(short)
    found = connection.execute(select(*ends).where(Artifact.digest == digest)).first()
    return (bytes(found[0]), bytes(found[1])) if found else None


def remove_unnamed(connection: Connection, most: int) -> int:
    """Remove at most so many of the artifacts that neither a dataset nor an episode names; returns how many."""
    unnamed = [~exists().where(one.digest == Artifact.digest) for one in (EpisodeArtifact, DatasetArtifact)]
    wanted = select(Artifact.digest).where(*unnamed).order_by(Artifact.digest).limit(most)
    # Those that a commit is about to name are locked by it, and passed over. Once they are locked here, a second look
    # finds what was named before that; who names one later waits, and stores it anew.
    found = connection.execute(wanted.with_for_update(skip_locked=True)).scalars().all()
    return connection.execute(delete(Artifact).where(Artifact.digest.in_(found), *unnamed)).rowcount
