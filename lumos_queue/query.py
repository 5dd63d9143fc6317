"""Stored episodes for programs: `for episode in episodes('benchmark=gsm8k score=1'): …`."""

from __future__ import annotations

from collections.abc import Iterator

from db.connection import open_database
from db.filters import Filter, parse_where
from db.migrate import require_current
from db.trajectories import StoredEpisode, stream_episodes
from lumos_queue.settings import Settings, read_settings


def episodes(where: str = "", settings: Settings | None = None) -> Iterator[StoredEpisode]:
    """Every finished episode that meets the filter (docs/queries.md), whole, in the order of their ids.

    The database is the one that the settings name, by default those of the environment (LUMOS_…). It is only read, and
    the memory needed does not depend on how many episodes there are. Raises SpecError when the filter cannot be read or
    the database is not at this code's revision, InfrastructureError when it does not answer.
    """
    wanted, chosen = parse_where(where), settings or read_settings()  # at once: not only when the first is asked for
    return _episodes(wanted, chosen)


def _episodes(wanted: Filter, settings: Settings) -> Iterator[StoredEpisode]:
    database = open_database(settings.database, settings.lease_seconds)
    try:
        require_current(database)
        yield from stream_episodes(database, wanted)
    finally:
        database.close()
