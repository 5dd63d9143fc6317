"""Find the steps of stored episodes that people name in labels."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.journal.step_records import RecordedStep, load_steps
from db.models import EpisodeRow
from db.queries.step_names import locate_step, name_of_step


class StepLocator:
    """Translates between names and positions of steps. It reads the steps of an episode once."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self._steps: dict[int, list[RecordedStep]] = {}

    def locate(self, episode: int, name: str) -> tuple[int, int]:
        """Return (position, branch) of the step with this name. Raises SpecError when there is no such step."""
        return locate_step(self._load(episode), name)

    def name(self, episode: int, position: int | None, branch: int | None) -> str:
        """Return the name of the step at this position; '' without a position."""
        return "" if position is None else name_of_step(self._load(episode), position, branch or 0)

    def _load(self, episode: int) -> list[RecordedStep]:
        if episode not in self._steps:
            query = select(EpisodeRow.attempt).where(EpisodeRow.id == episode)
            attempt = self._connection.execute(query).scalar_one()
            self._steps[episode] = load_steps(self._connection, {episode: attempt})[episode]
        return self._steps[episode]
