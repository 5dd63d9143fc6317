"""The origin of a job's rows, as it is in reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.row_origins.origins import RowOrigin


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What is known about a job's rows."""

    state: str  #: a RowState
    published: str  #: the name of the public file, or `generated`; '' for other rows
    text: str
    file_sha256: str  #: of the file that they were read from; '': not known
    first: int | None = field(metadata=OPTIONAL)  #: the job's rows, if it has only the first rows of the dataset
    of: int | None = field(metadata=OPTIONAL)  #: rows of this dataset


def describe_origin(origin: RowOrigin) -> RowFacts:
    """Return the facts of an origin."""
    first, of = (origin.first, origin.rows) if origin.first else (None, None)
    return RowFacts(str(origin.state), origin.published, origin.text, origin.file_sha256, first, of)
