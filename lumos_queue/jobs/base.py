"""The one shape of all jobs, on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from lumos_queue.episode import Journal
from lumos_queue.records import Outcome, Score, Task, Verdict


@dataclass(frozen=True, slots=True)
class Work:
    """One item as a job sees it. `task` is empty for kinds that work on no task."""

    ordinal: int
    sample: int
    task: Task | None


@dataclass(frozen=True, slots=True)
class Result:
    """What running an item gave: an episode's outcome and scores, or the output of another kind of work."""

    outcome: Outcome | None = None
    scores: Sequence[Score] = ()
    output: Any = None
    verdicts: Sequence[Verdict] = ()
    level: str = ""  #: how the annotation was checked (records.LEVELS); empty: no annotation, or none accepted


class Job(Protocol):
    """A frozen request. Its JSON form is stored, hashed and read back on any worker."""

    kind: str
    ordered: bool  #: whether each item needs the one before it
    concurrency: int  #: items in flight in one process; 0: as many as the settings say

    @property
    def pool(self) -> str:
        """Which workers are fit: cpu, llm, gpu."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    def prompt_prefixes(self) -> dict[str, str]:
        """Texts that this job's prompts begin with, by role: stored once."""
        ...

    def open(self, settings: Any) -> AbstractAsyncContextManager[Any]:
        """What `run` needs, opened for one slice; its `identities` say who the endpoints are.

        Raises InfrastructureError when an endpoint does not answer, SpecError when it is not what its URL says.
        """
        ...

    async def run(self, work: Work, journal: Journal, context: Any) -> Result:
        """Do one item. Raises InfrastructureError when it is owed again."""
        ...
