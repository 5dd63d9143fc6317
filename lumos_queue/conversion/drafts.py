"""The drafts of waiting rows: what a rule wrote, and why it was unsure. A teacher's job keeps them as an artifact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from lumos_queue.errors import SpecError

MEDIA_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Draft:
    """The annotation that a rule made from a row, as text, and the detail of the verdict `unsure`."""

    annotation: str
    doubt: str


def write_drafts(drafts: Mapping[str, Draft]) -> bytes:
    """Return the bytes of an artifact with the drafts by row."""
    return json.dumps({row: asdict(draft) for row, draft in drafts.items()}, sort_keys=True).encode()


def read_drafts(data: bytes) -> dict[str, Draft]:
    """Return the drafts in an artifact, by row. Raises SpecError for other bytes."""
    try:
        return {row: Draft(str(fields["annotation"]), str(fields["doubt"])) for row, fields in json.loads(data).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SpecError(
            f"The stored drafts of the waiting rows are damaged ({error!r:.80}): submit the job again."
        ) from None
