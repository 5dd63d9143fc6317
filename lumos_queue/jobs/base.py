"""The one shape of all jobs, on one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.episode import Journal
from lumos_queue.records import FeedbackStep, Outcome, Score, Task, TrainedModel, TrainingStep, Verdict
from lumos_queue.settings import Settings

#: Role, URL, and what the server says it is.
Identity = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Work:
    """One item as a job sees it. `task` is None for kinds that work on no task."""

    ordinal: int
    sample: int
    task: Task | None
    item: int = 0  #: the key of its row


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What running an item gave: an episode's outcome and scores, or the output of another kind of work."""

    outcome: Outcome | None = None
    scores: Sequence[Score] = ()
    output: Any = None  #: JSON
    verdicts: Sequence[Verdict] = ()
    level: str = ""  #: how the annotation was checked (records.Level); empty: no annotation, or none accepted
    training_steps: Sequence[TrainingStep] = ()
    feedback_steps: Sequence[FeedbackStep] = ()
    models: Sequence[TrainedModel] = ()
    pause: str = ""  #: why the job should pause after this item, which is accepted


class JobContext(Protocol):
    """What a job's items need, opened for one slice."""

    @property
    def identities(self) -> Sequence[Identity]:
        """Of the endpoints."""
        ...

    @property
    def traffic(self) -> Mapping[str, AdmissionControl]:
        """Of the endpoints that can have a cap, by URL."""
        ...


C = TypeVar("C", bound=JobContext)


class Job(Protocol[C]):
    """A frozen request. Its JSON form is stored, hashed and read back on any worker."""

    @property
    def kind(self) -> str: ...

    @property
    def ordered(self) -> bool:
        """Whether each item needs the one before it."""
        ...

    @property
    def concurrency(self) -> int:
        """Items in flight in one process; 0: as many as the settings say."""
        ...

    @property
    def pool(self) -> str:
        """Which workers are fit: cpu, llm, gpu."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    def prompt_prefixes(self) -> dict[str, str]:
        """Texts that this job's prompts begin with, by role: stored once."""
        ...

    def open(self, settings: Settings) -> AbstractAsyncContextManager[C]:
        """What `run` needs, opened for one slice.

        Raises InfrastructureError when an endpoint does not answer, SpecError when it is not what its URL says.
        """
        ...

    async def run(self, work: Work, journal: Journal, context: C) -> ItemResult:
        """Do one item.

        Raises InfrastructureError when it is owed again, AwaitsJob (one of these) when another job has to end first; of
        an item without a task also SpecError, which fails the job, and NeedsAttention, which pauses it.
        """
        ...
