"""Read which published files the rows of stored datasets are from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from db.models import Dataset

_CHUNK = 500  #: digests of one query


@dataclass(frozen=True, slots=True)
class StoredOrigin:
    """The stored facts about the file from which a dataset's rows were read."""

    split: str
    published: str  #: the name of the published file, or `generated`; '': unknown
    rows: int
    file_sha256: str  #: of the file; '': not known


def load_row_origins(connection: Connection, datasets: Iterable[str | None]) -> dict[str, StoredOrigin]:
    """Return the origins of these datasets, by digest."""
    digests = sorted({digest for digest in datasets if digest})
    columns = (Dataset.digest, Dataset.split, Dataset.published, Dataset.rows, Dataset.file_sha256)
    origins: dict[str, StoredOrigin] = {}
    for first in range(0, len(digests), _CHUNK):
        query = select(*columns).where(Dataset.digest.in_(digests[first : first + _CHUNK]))
        for row in connection.execute(query):
            origins[row.digest] = StoredOrigin(row.split, row.published, row.rows, row.file_sha256)
    return origins


def load_files(connection: Connection) -> dict[str, str]:
    """Return the sha256 of the file that each dataset's rows were read from, by digest, where it is known."""
    rows = connection.execute(select(Dataset.digest, Dataset.file_sha256).where(Dataset.file_sha256 != ""))
    return {digest: sha256 for digest, sha256 in rows}
