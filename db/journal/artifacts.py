"""Artifacts: bytes that tasks and executions refer to by their sha256, such as images.

A dataset or an episode that names an artifact has a row for it (in `dataset_artifact` or `episode_artifact`). An
artifact without such a row may be removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, exists, func, literal, select

from db.engine.bulk import insert_into
from db.models import Artifact, DatasetArtifact, EpisodeArtifact

Artifacts = Mapping[str, tuple[str, bytes]]  #: media type, e.g. 'image/png', and bytes, by sha256


def insert_artifacts(connection: Connection, artifacts: Artifacts) -> None:
    """Store artifacts, unless they are stored already. None of them is removed before this transaction ends."""
    if not artifacts:
        return
    # They are sorted by key, as text blocks are: two processes then wait for each other without a deadlock.
    rows = [
        {"digest": digest, "media_type": media_type, "data": data}
        for digest, (media_type, data) in sorted(artifacts.items())
    ]
    # The update changes nothing, and locks the row, so that it stays until a dataset or an episode names it.
    new = insert_into(connection, Artifact)
    same = {"media_type": Artifact.media_type}
    connection.execute(new.on_conflict_do_update(index_elements=["digest"], set_=same), rows)


def store_artifact(connection: Connection, data: bytes, media_type: str) -> str:
    """Store bytes unless they are stored already; return their sha256."""
    digest = hashlib.sha256(data).hexdigest()
    insert_artifacts(connection, {digest: (media_type, data)})
    return digest


def name_artifact(connection: Connection, dataset: str, digest: str) -> None:
    """Record that the tasks of a dataset name a stored artifact."""
    row = {"dataset": dataset, "digest": digest}
    connection.execute(insert_into(connection, DatasetArtifact).on_conflict_do_nothing(), [row])


def copy_names(connection: Connection, dataset: str, copy: str) -> None:
    """Record that the tasks of the dataset `copy` name the same artifacts as the tasks of `dataset`."""
    query = select(literal(copy), DatasetArtifact.digest).where(DatasetArtifact.dataset == dataset)
    new = insert_into(connection, DatasetArtifact).from_select(
        ["dataset", "digest"], query.order_by(DatasetArtifact.digest)
    )
    connection.execute(new.on_conflict_do_nothing())


def count_named(connection: Connection, dataset: str) -> int:
    """Count the artifacts that the tasks of a dataset name."""
    query = select(func.count()).where(DatasetArtifact.dataset == dataset)
    return connection.execute(query).scalar_one()


def load_artifact(connection: Connection, digest: str) -> tuple[bytes, str] | None:
    """Return the bytes with this sha256 and their media type, e.g. 'image/png'; None if they are not stored."""
    row = connection.execute(select(Artifact.data, Artifact.media_type).where(Artifact.digest == digest)).first()
    return (bytes(row.data), row.media_type) if row else None


def describe_artifacts(connection: Connection, digests: Collection[str]) -> dict[str, tuple[str, int]]:
    """Return media type, e.g. 'image/png', and size in bytes of each of these artifacts that is stored, by sha256."""
    descriptions: dict[str, tuple[str, int]] = {}
    ordered_digests = sorted(digests)
    for start in range(0, len(ordered_digests), 500):  # a query has a limit of parameters
        condition = Artifact.digest.in_(ordered_digests[start : start + 500])
        rows = connection.execute(
            select(Artifact.digest, Artifact.media_type, func.length(Artifact.data).label("size")).where(condition)
        )
        descriptions |= {row.digest: (row.media_type, row.size) for row in rows}
    return descriptions


def peek_artifact(connection: Connection, digest: str, size: int = 16) -> tuple[bytes, bytes] | None:
    """Return the first and the last `size` bytes of an artifact; None if it is not stored."""
    ends = func.substr(Artifact.data, 1, size), func.substr(Artifact.data, func.length(Artifact.data) - size + 1, size)
    # The end of shorter bytes would begin before their start.
    whole = select(Artifact.data).where(Artifact.digest == digest, func.length(Artifact.data) <= size)
    if (whole_bytes := connection.execute(whole).scalar()) is not None:
        return bytes(whole_bytes), bytes(whole_bytes)
    row = connection.execute(select(*ends).where(Artifact.digest == digest)).first()
    return (bytes(row[0]), bytes(row[1])) if row else None


def remove_unnamed(connection: Connection, limit: int) -> int:
    """Remove at most `limit` artifacts that neither a dataset nor an episode names; return their number."""
    conditions = [~exists().where(table.digest == Artifact.digest) for table in (EpisodeArtifact, DatasetArtifact)]
    query = select(Artifact.digest).where(*conditions).order_by(Artifact.digest).limit(limit)
    # A commit locks the artifacts that it is about to name; they are skipped here. The DELETE looks again for names
    # that were stored before this lock. A commit that names an artifact later waits, and stores the artifact again.
    digests = connection.execute(query.with_for_update(skip_locked=True)).scalars().all()
    return connection.execute(delete(Artifact).where(Artifact.digest.in_(digests), *conditions)).rowcount
