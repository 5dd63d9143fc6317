"""What an episode is made of: frozen values, the same in memory, in a prompt and in the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: C) -> C:
    """A dataclass with slots that compares and hashes by its fields. A type checker refuses to set one of them.

    Nothing refuses it at run time: a frozen dataclass takes nearly five times as long to make (six fields:
    0.47 µs, and 0.10), and a model call makes some forty fields.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class Ending(StrEnum):
    """How an episode ended. An ending is not a score: an answer may be wrong. The values are stored.

    >>> import lumos_queue as lq
    >>> lq.Outcome("58", lq.Ending.ANSWERED).ending == "answered"
    True
    """

    ANSWERED = "answered"  #: there is an answer
    NO_ANSWER = "no_answer"  #: the models stopped, and left no answer
    LIMIT = "limit"  #: a limit of the agent was reached, or the model's context was full
    GAVE_UP = "gave_up"  #: the model said that it cannot solve the task
    ACTION_ERROR = "action_error"  #: the action that the answer depends on failed
    UNREADABLE = "unreadable"  #: a model's reply could not be read
    INFEASIBLE = "infeasible"  #: the plan that the model wrote cannot run: nothing of it was run
    CANCELLED = "cancelled"  #: a person stopped it
    INFRA_ERROR = "infra_error"  #: something beside models and task failed: the item is not counted as finished


class FinishReason(StrEnum):
    """Why a completion ends where it does. The values are stored."""

    STOP = "stop"  #: the model stopped, or wrote a stop string
    LENGTH = "length"  #: it reached the limit of tokens; without a text: all of them were reasoning
    EMPTY = "empty"  #: it wrote nothing
    REFUSED = "refused"  #: a judge's server refused the request: there is no vote
    GIVEN = "given"  #: the task brought the reply along: no model was called


class Level(StrEnum):
    """How an annotation was checked, from the weakest to the strongest; each level includes the ones before it.

    The values are stored; '' in a row means that there is no annotation, or none accepted.
    """

    FORMAT = "format"  #: it can be read as an annotation
    ORACLE_TOOL = "oracle_tool"  #: its steps ran with tools that answer from the annotation itself
    EXECUTED = "executed"  #: its steps ran, and gave the stated results and the gold answer
    PERTURBED = "perturbed"  #: so they do with other numbers


LEVELS = tuple(Level)  #: in their order
TEACHER = "teacher"  #: the role whose replies are attempts at an annotation: only what follows the last one counts
MODULES = ("planner", "grounder")  #: what an annotation trains: a row of each, which may be rejected separately


@record
class Task:
    """One question of a benchmark, identified by (benchmark, dataset digest, row).

    >>> import lumos_queue as lq
    >>> task = lq.Task("gsm8k", "", "1", "What is 2 + 3?", gold={"answer": 5})
    >>> task.without_gold().gold is None
    True
    """

    benchmark: str
    dataset: str  #: sha256 of the rows it came with
    row: str  #: the row's own id, or its number counted from 1
    question: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    gold: Any = None  #: hidden from formulations: see `without_gold`

    def without_gold(self) -> Task:
        """The same task as a formulation may see it."""
        return Task(self.benchmark, self.dataset, self.row, self.question, self.inputs)


@record
class Subgoal:
    """What to achieve, in words. `text` keeps its `Subgoal 2: ` label.

    >>> import lumos_queue as lq
    >>> lq.Subgoal(1, "Subgoal 1: Add 101 and 44.").number
    1
    """

    number: int  #: counted from 1 by the loop, not read from the model's text
    text: str


@record
class Action:
    """One grounded call: `R1, R2 = Name(arguments)`. An alias such as `R3 = (R2)` has the name ''.

    >>> import lumos_queue as lq
    >>> lq.Action(("R1",), "Calculator", "101 + 44").arguments
    '101 + 44'
    """

    variables: tuple[str, ...]
    name: str
    arguments: str
    raw: str = ""  #: as the model wrote it


@record
class Execution:
    """What happened when an action ran.

    `values` holds one JSON object for each of the action's variables, each with at least `text`; later actions
    refer to them by name. Replay restores variables from here and runs nothing again.

    >>> import lumos_queue as lq
    >>> lq.Execution("ok", "145", ({"kind": "number", "text": "145"},)).ok
    True
    """

    status: str  #: 'ok', or the kind of the ActionError
    result: str = ""  #: the text a model is shown
    values: tuple[Mapping[str, Any], ...] = ()
    message: str = ""  #: why it failed, for people
    seconds: float = 0.0
    provenance: str = ""  #: of what an outside tool said: recorded, simulated, synthetic or live; '' for all else

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def ends(self) -> bool:
        """Whether there is nothing to be done after it: the purchase is made, the query submitted."""
        return self.ok and any(value.get("ends") for value in self.values)


@record
class Candidate:
    """One of the replies that a search found."""

    text: str
    logprob: float  #: nats: the sum over its tokens, the end token included, each renormalised over what was allowed


@record
class Completion:
    """One model call: its reply, cut at the stop strings, and what it cost.

    >>> import lumos_queue as lq
    >>> for episode in lq.infer("wordmath", formulation="direct", solver=lambda prompt: "7", limit=1).wait().episodes():
    ...     [step.result.text for step in episode.steps if isinstance(step.result, lq.Completion)]
    ['7']
    """

    text: str
    finish_reason: FinishReason
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0  #: from sending the request to having the whole reply
    retries: int = 0
    replaced: int = 0  #: characters that could not be stored (NUL, lone surrogates) and were replaced
    waited: float = 0.0  #: seconds before the first try was sent, until so many requests were no longer in flight
    lost: float = 0.0  #: seconds spent on tries that failed and on the pauses after them
    queued: float = 0.0  #: seconds of `seconds` that the request waited inside the server, when the server says so
    note: str = ""  #: the images shown (sha256), and what the server said that could not be taken as it was
    candidates: tuple[Candidate, ...] = ()  #: best first; the text is one of theirs. Empty: none were asked for
    #: What the model thought before it replied: no formulation reads it, no later prompt has it, no model learns it.
    reasoning: str = ""
    reasoning_tokens: int = 0  #: of `completion_tokens`, where the server counts them
    message: str = ""  #: what the server sent, where it differs from the text: JSON, or a completion's whole text

    @property
    def is_only_reasoning(self) -> bool:
        """Whether the model thought and never replied: of a judge, there is no vote."""
        has_thought = self.reasoning or self.reasoning_tokens or self.finish_reason == FinishReason.LENGTH
        return not self.text and bool(has_thought)


@record
class Outcome:
    """What a formulation returns: the answer, if there is one, and how the episode ended.

    >>> import lumos_queue as lq
    >>> lq.Outcome(None, lq.Ending.GAVE_UP, "no action fits").answer is None
    True
    """

    answer: str | None
    ending: Ending
    message: str = ""
    #: The answers that other readers see in the same reply, by reader: they are judged, too, and not stored.
    readings: tuple[tuple[str, str | None], ...] = ()


@record
class Score:
    """A judgement about an episode, recomputable from stored rows. Raises ValueError for NaN and outside 0 to 1.

    >>> import lumos_queue as lq
    >>> lq.Score("accuracy", 1.2)
    Traceback (most recent call last):
    ValueError: the metric 'accuracy' gave 1.2, which is not a number from 0 to 1
    """

    metric: str
    value: float  #: from 0 to 1: a mean over `of` trials
    version: str = "1"
    detail: str = ""
    of: int = 1  #: trials: more than one where an episode is judged step by step

    def __post_init__(self) -> None:
        # SQLite would store NaN as null, PostgreSQL as a number above all others.
        if not 0 <= self.value <= 1:
            raise ValueError(f"the metric '{self.metric}' gave {self.value}, which is not a number from 0 to 1")


@record
class Verdict:
    """What a filter found in an annotation, for the training row of one module."""

    module: str  #: 'planner' or 'grounder'
    name: str  #: of the filter, e.g. 'undefined reference'; counted in reports
    detail: str = ""
    rejects: bool = True  #: False: noted only, the row is still accepted


@record
class AnnotatedSubgoal:
    """A subgoal with its gold actions and the result of each action, as text.

    >>> import lumos_queue as lq
    >>> actions = lq.read_actions("R1 = Calculator(101 + 44)")
    >>> lq.AnnotatedSubgoal(lq.Subgoal(1, "Subgoal 1: Add 101 and 44."), actions, ("145",)).results
    ('145',)
    """

    subgoal: Subgoal
    actions: tuple[Action, ...]
    results: tuple[str, ...]


@record
class Annotation:
    """A gold solution of a task in LUMOS form.

    >>> import lumos_queue as lq
    >>> actions = lq.read_actions("R1 = Calculator(101 + 44)")
    >>> step = lq.AnnotatedSubgoal(lq.Subgoal(1, "Subgoal 1: Add 101 and 44."), actions, ("145",))
    >>> lq.Annotation((step,), "145").answer
    '145'
    """

    steps: tuple[AnnotatedSubgoal, ...]
    answer: str


@record
class TrainingStep:
    """One optimizer step of a fit."""

    fit: str  #: its name within the job; '' = the only one
    step: int  #: from 1
    loss: float  #: nats per learnt token
    rate: float  #: peak learning rate of the first group of parameters
    grad_norm: float  #: before clipping
    tokens: int  #: real tokens seen in this step, padding not counted
    memory: int  #: bytes: peak of the device (GPU), or resident size (CPU)


@record
class FeedbackStep:
    """What one optimizer step learnt from: the rollouts of a batch of tasks, and how the policy stood then."""

    fit: str  #: as of TrainingStep
    step: int  #: from 1
    rollouts: str  #: the job whose episodes they are
    episodes: int
    reward: float  #: mean over the episodes
    baseline: float  #: what was subtracted from each reward: the moving average of those before
    feasible: float | None  #: share of the plans that could run; None where plans are not judged so
    entropy: float  #: nats: mean over the episodes of the entropy at each token, summed along what was written
    kl: float  #: nats: the same of KL(policy || the policy that the fit began with)
    epsilon: float  #: the probability with which a plan other than the best was drawn; 0 where replies are sampled


@record
class TrainedModel:
    """A model folder, or an adapter, that a job wrote."""

    name: str
    path: str
    kind: str  #: 'full' | 'adapter'
    digest: str  #: sha256 of its files
    bytes: int
    base: str  #: digest of what it started from; '' = random weights
    builds: tuple[str, ...]
