"""Load the drafts of a conversion's waiting rows from the artifact that its request names."""

from __future__ import annotations

from db.engine.connection import Database
from db.journal.artifacts import load_artifact
from lumos_queue.conversion.drafts import Draft, read_drafts
from lumos_queue.errors import SpecError


def load_drafts(database: Database, digest: str) -> dict[str, Draft]:
    """Return the drafts in the artifact with this sha256, by row. Raises SpecError if they are missing or damaged."""
    with database.engine.connect() as connection:
        artifact = load_artifact(connection, digest)
    if artifact is None:
        raise SpecError(f"The database holds no drafts {digest[:12]}… of the waiting rows: submit the job again.")
    return read_drafts(artifact[0])
