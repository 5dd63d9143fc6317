"""The values of a stored episode: its outcome, the judgements on it, and its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lumos_queue.reports.json_values import MERGED, OPTIONAL
from lumos_queue.reports.totals import ModelUse
from lumos_queue.util.wording import format_reasoning


@dataclass(frozen=True, slots=True)
class StepCandidate:
    """A reply that a model proposed with others."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of an episode as text: a model call, an action, a call within an action, a plan or a subgoal."""

    at: str  #: its name, `3` or `3.1`
    prompt: str = ""  #: of a model call
    seconds: float = 0.0
    result: str = ""  #: of a model call: tokens and finish reason
    within: str | None = field(default=None, metadata=OPTIONAL)  #: the name of the action that made this call
    parent: int | None = field(default=None, metadata=OPTIONAL)  #: position of the step that it continues, in a tree
    provenance: str | None = field(default=None, metadata=OPTIONAL)  #: the source of a tool's answer
    who: str  #: the role of a model, or `tool`, `call`, `approval`, `subgoal`
    what: str
    # Fields of a Completion (records.py); None where they are empty.
    note: str | None = field(default=None, metadata=OPTIONAL)
    reasoning: str | None = field(default=None, metadata=OPTIONAL)
    reasoning_tokens: int | None = field(default=None, metadata=OPTIONAL)
    message: str | None = field(default=None, metadata=OPTIONAL)
    candidates: Sequence[StepCandidate] | None = field(default=None, metadata=OPTIONAL)
    #: the request of a model call (review.sent_requests), where it was rebuilt
    request: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)

    @property
    def reasoning_size(self) -> str:
        """The size of the model's reasoning as text; '' if there is none."""
        return format_reasoning(self.reasoning or "", self.reasoning_tokens or 0)


@dataclass(frozen=True, slots=True)
class EpisodeScore:
    """A score of an episode."""

    metric: str
    value: float
    version: str  #: of the scorer
    detail: str


@dataclass(frozen=True, slots=True)
class EpisodeVerdict:
    """A verdict of a check on the rows that an annotation becomes."""

    module: str
    name: str
    rejects: bool
    detail: str


@dataclass(frozen=True, slots=True)
class EarlierEnding:
    """An ending that was taken back."""

    ending: str
    message: str
    answer: str | None
    attempt: int
    scores: Sequence[Mapping[str, object]]  #: as stored: metric, version, value, trials, detail
    verdicts: Sequence[Mapping[str, object]]  #: as stored: module, name, rejects, detail
    finished_at: float | None  #: seconds since 1970
    replaced_at: float  #: seconds since 1970


@dataclass(frozen=True, slots=True)
class EpisodeLabel:
    """The newest label that a person gave to an episode or to one of its steps."""

    labeller: str
    label: str
    note: str
    audit: str | None
    at: float  #: seconds since 1970
    step: str | None  #: the step that was labelled; None: the episode
    wrong_step: str | None
    wrong_kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeReport:
    """An episode, step by step."""

    episode: str  #: JOB-NUMBER
    benchmark: str
    row: str
    sample: int
    formulation: str
    formulation_version: int
    question: str
    gold: str | None
    attempt: int
    ending: str  #: '' if it has not finished
    answer: str | None
    message: str
    use: ModelUse = field(metadata=MERGED)
    scores: Sequence[EpisodeScore]
    origin: str
    level: str  #: of the check of an annotation
    parent: str | None  #: the name of the episode that it corrects; '' if that was removed
    verdicts: Sequence[EpisodeVerdict]
    earlier_endings: Sequence[EarlierEnding]
    steps: Sequence[Step]
