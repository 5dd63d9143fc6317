"""The common interface of all jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.episode import Journal
from lumos_queue.records import FeedbackStep, Outcome, Score, Task, TrainedModel, TrainingStep, Verdict
from lumos_queue.settings import Settings

#: Role, URL, and the server's identity.
Identity = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Work:
    """One item of a job. `task` is None for kinds of job without tasks."""

    ordinal: int
    sample: int
    task: Task | None
    item: int = 0  #: the key of its row


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of an item: an episode's outcome and scores, or the output of another kind of work."""

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
    """The objects that a job's items need, opened for one slice."""

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
    """A frozen request. Its JSON form is stored and hashed, and any worker can read it."""

    @property
    def kind(self) -> str: ...

    @property
    def ordered(self) -> bool:
        """Whether each item needs the one before it."""
        ...

    @property
    def concurrency(self) -> int:
        """Items in flight in one process; 0: the number in the settings."""
        ...

    @property
    def pool(self) -> str:
        """The pool of workers that can run it: cpu, llm, gpu."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    def prompt_prefixes(self) -> dict[str, str]:
        """Return the common beginnings of this job's prompts, by role: each is stored once."""
        ...

    def open(self, settings: Settings) -> AbstractAsyncContextManager[C]:
        """Open the objects that `run` needs, for one slice.

        Raises InfrastructureError when an endpoint does not answer, SpecError when it does not fit its URL.
        """
        ...

    async def run(self, work: Work, journal: Journal, context: C) -> ItemResult:
        """Run one item.

        Raises InfrastructureError when it will be retried, and its subclass WaitsForJob when another job has to end
        first; for an item without a task also SpecError, which fails the job, and NeedsAttention, which pauses it.
        """
        ...
