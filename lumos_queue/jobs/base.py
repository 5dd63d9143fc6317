"""The common interface of all jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.episode import Journal
from lumos_queue.records import FeedbackStep, Outcome, Score, Task, TrainedModel, TrainingStep, Verdict

#: Role, URL, and the server's identity.
Identity = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Work:
    """An item of a job. `task` is None for kinds of job without tasks."""

    ordinal: int
    sample: int
    task: Task | None
    item: int = 0  #: the key of its row


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of an item: the outcome and the scores of an episode, or the output of an item without episode."""

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
    """The objects that the items of a job need, such as endpoints. They are opened for a slice of the job."""

    @property
    def identities(self) -> Sequence[Identity]:
        """The role, URL and server's identity of each endpoint."""
        ...

    @property
    def traffic(self) -> Mapping[str, AdmissionControl]:
        """By URL, the admission control of each endpoint that can have a cap."""
        ...


C = TypeVar("C", bound=JobContext)


class Job(Protocol[C]):
    """A job as a frozen request. Its JSON form is stored and hashed, and any worker can read it."""

    @property
    def kind(self) -> JobKind: ...

    @property
    def ordered(self) -> bool:
        """Whether each item needs the result of the item before it."""
        ...

    @property
    def concurrency(self) -> int:
        """The number of items that a process runs at the same time; 0: the number in the settings."""
        ...

    @property
    def pool(self) -> Pool:
        """The pool of workers that can run the job."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    def prompt_prefixes(self) -> dict[str, str]:
        """Return by role the text with which all its prompts in this job begin, so that it is stored only once."""
        ...

    def open(self, deployment: Deployment) -> AbstractAsyncContextManager[C]:
        """Open the objects that `run` needs, for a slice of the job.

        Raises InfrastructureError if an endpoint does not answer, SpecError if its server does not fit its URL.
        """
        ...

    async def run(self, work: Work, journal: Journal, context: C) -> ItemResult:
        """Run an item and return its result.

        Raises InfrastructureError if the item will be retried, and its subclass WaitsForJob if another job must end
        first. An item without a task may also raise SpecError, which fails the job, or NeedsAttention, which pauses it.
        """
        ...
