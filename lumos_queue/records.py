"""The parts of an episode: immutable values, which are the same in memory, in a prompt and in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

C = TypeVar("C", bound=type[object])
#: A JSON value. A value that was read has lists and dictionaries; a value to write may have other containers.
if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
else:
    Json = object  # code that reads annotations at run time cannot resolve a type that contains itself
JsonObject: TypeAlias = Mapping[str, Json]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: C) -> C:
    """Make a dataclass with slots, compared and hashed by its fields. Type checkers refuse to set a field.

    At run time fields can be set: creating an object of a frozen dataclass takes nearly five times as long (six fields:
    0.47 instead of 0.10 µs), and a model call sets some forty fields.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class TextEnum(StrEnum):
    """A closed set whose members print as their text, too: dictionaries with members as keys are shown to users.

    >>> class Colour(TextEnum):
    ...     RED = "red"
    >>> {Colour.RED: 1}
    {'red': 1}
    """

    __repr__ = str.__repr__


class Ending(TextEnum):
    """How an episode ended. An ending is not a score: an answer may be wrong. The values are stored.

    >>> import lumos_queue as lq
    >>> lq.Outcome("58", lq.Ending.ANSWERED).ending == "answered"
    True
    """

    ANSWERED = "answered"  #: there is an answer
    NO_ANSWER = "no_answer"  #: the models stopped without an answer
    LIMIT = "limit"  #: a limit of the agent was reached, or the model's context was full
    GAVE_UP = "gave_up"  #: the model said that it cannot solve the task
    ACTION_ERROR = "action_error"  #: the action that the answer depends on failed
    UNREADABLE = "unreadable"  #: a model's reply could not be read
    INFEASIBLE = "infeasible"  #: the model's plan cannot run, and no part of it was run
    CANCELLED = "cancelled"  #: a person stopped it
    INFRA_ERROR = "infra_error"  #: something other than models and task failed: the item does not count as finished


class FinishReason(TextEnum):
    """The reason why a completion ended. The values are stored."""

    STOP = "stop"  #: the model stopped, or wrote a stop string
    LENGTH = "length"  #: the reply reached the limit of tokens; without a text, all tokens were reasoning
    EMPTY = "empty"  #: the model wrote nothing
    REFUSED = "refused"  #: a judge's server refused the request: there is no vote
    GIVEN = "given"  #: the reply is from the task: no model was called


class Level(TextEnum):
    """How an annotation was checked, from the weakest to the strongest level. Each level includes the previous levels.

    The values are stored; '' in a row means that there is no accepted annotation.
    """

    FORMAT = "format"  #: it can be read as an annotation
    ORACLE_TOOL = "oracle_tool"  #: its steps ran with tools that answer from the annotation itself
    EXECUTED = "executed"  #: its steps ran, and gave the stated results and the gold answer
    PERTURBED = "perturbed"  #: the same with other numbers


class Role(TextEnum):
    """The roles of models in the agents, tools and conversions of this package. The values are stored.

    A plug-in's formulation may have other roles, and each expert that a chat model plays has its own, so that a field
    that holds any role is text.
    """

    PLANNER = "planner"  #: writes subgoals, or a whole plan
    GROUNDER = "grounder"  #: turns subgoals into actions
    SOLVER = "solver"  #: writes an answer without a plan, or from the results of a plan
    POLICY = "policy"  #: a tool agent's model: writes thoughts and calls
    ROUTER = "router"  #: chooses the next call from a state
    STATE_MANAGER = "state_manager"  #: rewrites that state
    CAPTIONER = "captioner"  #: describes an image
    TEACHER = "teacher"  #: its replies are attempts at an annotation: only the steps after the last reply count
    JUDGE = "judge"  #: judges whether an answer is right
    PARSER = "parser"  #: names the expert that a step of a plan uses
    SIMULATOR = "simulator"  #: plays an API (actions/tools/simulator.py)
    QA = "qa"  #: answers the questions of a question answering tool
    VQA = "vqa"  #: answers questions about an image


class Origin(TextEnum):
    """How the episodes of a job came to be. The values are stored."""

    RUN = "run"  #: an agent ran
    CONVERTED = "converted"  #: made from gold solutions
    DERIVED = "derived"  #: continues stored episodes
    IMPORTED = "imported"  #: read from files of other programs
    CORRECTED = "corrected"  #: a stored episode with a person's changes


LEVELS = tuple(Level)  #: in their order
MODULES = (Role.PLANNER, Role.GROUNDER)  #: trained by an annotation: one row each, which may be rejected separately
#: A field of an action's value. If it is false, the grounder's later prompts omit the value (actions/qa/original.py).
SHOWN = "shown"


@record
class Task:
    """One question of a benchmark, identified by (benchmark, dataset digest, row).

    >>> import lumos_queue as lq
    >>> task = lq.Task("gsm8k", "", "1", "What is 2 + 3?", gold={"answer": 5})
    >>> task.without_gold().gold is None
    True
    """

    benchmark: str
    dataset: str  #: sha256 of the rows of its dataset
    row: str  #: the row's own id, or its number counted from 1
    question: str
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    gold: Any = None  #: hidden from formulations: see `without_gold`

    def without_gold(self) -> Task:
        """Return the task without its gold answer, as formulations get it."""
        return Task(self.benchmark, self.dataset, self.row, self.question, self.inputs)


@record
class Subgoal:
    """A goal as text. `text` keeps its label `Subgoal 2: `.

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
    """The result of an action.

    `values` has a JSON object for each of the action's variables, with at least the field `text`. Later actions use
    these variables by name. A replay restores them from here and runs nothing again.

    >>> import lumos_queue as lq
    >>> lq.Execution("ok", "145", ({"kind": "number", "text": "145"},)).ok
    True
    """

    status: str  #: 'ok', or the kind of the ActionError
    result: str = ""  #: the text for a model
    values: tuple[Mapping[str, Any], ...] = ()
    message: str = ""  #: the reason of a failure, for people
    seconds: float = 0.0
    provenance: str = ""  #: of an external tool's answer: recorded, simulated, synthetic or live; '' otherwise

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def ends(self) -> bool:
        """Whether the action ends the episode, as a purchase or a submitted query does."""
        return self.ok and any(value.get("ends") for value in self.values)


@record
class Candidate:
    """One of the replies that a search returned, with its log-probability."""

    text: str
    logprob: float  #: nats: the sum over its tokens and the end token, each renormalised over the allowed tokens


@record
class Completion:
    """One model call: its reply, cut at the stop strings, and its cost.

    >>> import lumos_queue as lq
    >>> for episode in lq.infer("wordmath", formulation="direct", solver=lambda prompt: "7", limit=1).wait().episodes():
    ...     [step.result.text for step in episode.steps if isinstance(step.result, lq.Completion)]
    ['7']
    """

    text: str
    finish_reason: FinishReason
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0  #: from sending the request to the end of the reply
    retries: int = 0
    replaced: int = 0  #: characters that could not be stored (NUL, lone surrogates) and were replaced
    waited: float = 0.0  #: seconds before the first try, for a slot at the endpoint
    lost: float = 0.0  #: seconds of failed tries and of the pauses after them
    queued: float = 0.0  #: seconds of `seconds` that the request waited inside the server, if the server reports them
    note: str = ""  #: the images sent (sha256), and parts of the server's reply that could not be used
    candidates: tuple[Candidate, ...] = ()  #: best first, including the text. Empty: none were requested
    #: The model's thoughts before its reply: no formulation reads them, and no later prompt or training row has them.
    reasoning: str = ""
    reasoning_tokens: int = 0  #: of `completion_tokens`, where the server counts them
    message: str = ""  #: the server's reply, where it differs from the text: JSON, or a completion's whole text

    @property
    def is_only_reasoning(self) -> bool:
        """Whether the model only wrote reasoning and no reply. A judge then has no vote."""
        has_thought = self.reasoning or self.reasoning_tokens or self.finish_reason == FinishReason.LENGTH
        return not self.text and bool(has_thought)


@record
class Outcome:
    """The result of a formulation: the answer, if there is one, and the ending of the episode.

    >>> import lumos_queue as lq
    >>> lq.Outcome(None, lq.Ending.GAVE_UP, "no action fits").answer is None
    True
    """

    answer: str | None
    ending: Ending
    message: str = ""
    #: The answers of other readers of the same reply, by reader: they are scored, too, but not stored.
    readings: tuple[tuple[str, str | None], ...] = ()


@record
class Score:
    """The score of an episode by one metric. Raises ValueError for NaN and for values outside 0 to 1.

    >>> import lumos_queue as lq
    >>> lq.Score("accuracy", 1.2)
    Traceback (most recent call last):
    ValueError: the metric 'accuracy' gave 1.2, which is not a number from 0 to 1
    """

    metric: str
    value: float  #: from 0 to 1: a mean over `of` trials
    version: str = "1"
    detail: str = ""
    of: int = 1  #: trials: more than one if an episode is scored step by step

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
    rejects: bool = True  #: False: the finding is only noted, and the row is accepted


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
    """The data of an optimizer step that learns from rewards: its rollouts, rewards, and figures of the policy."""

    fit: str  #: as of TrainingStep
    step: int  #: from 1
    rollouts: str  #: the job with their episodes
    episodes: int
    reward: float  #: mean over the episodes
    baseline: float  #: subtracted from each reward: the moving average of earlier rewards
    feasible: float | None  #: share of the plans that could run; None if plans are not judged so
    entropy: float  #: nats: mean over the episodes of the entropy at each token, summed along the reply
    kl: float  #: nats: the same of KL(policy || the policy that the fit began with)
    epsilon: float  #: the probability of sampling a plan other than the best; 0 if replies are sampled


class FitPhase(TextEnum):
    """The phases of a training process."""

    PREPARING = "preparing"  #: tokenizer and conversations, or the start model of a policy
    LOADING = "loading"  #: libraries, model and checkpoint
    TRAINING = "training"
    EVALUATING = "evaluating"  #: the loss on development conversations
    SAVING = "saving"  #: a checkpoint
    EXPORTING = "exporting"  #: the model folder


@dataclass(frozen=True, slots=True, kw_only=True)
class FitProgress:
    """What a training process reports while it runs: its phase and the latest optimizer step. None: not known."""

    phase: FitPhase
    fit: str = ""  #: as of TrainingStep
    step: int = 0  #: the latest; 0: none
    steps: int = 0  #: of the whole fit; 0: not known
    start_step: int | None = None  #: after which this process has continued the fit; None: not known yet
    loss: float | None = None
    rate: float | None = None
    grad_norm: float | None = None
    tokens_per_second: float | None = None  #: of the latest steps
    memory: int | None = None  #: bytes, as of TrainingStep
    seconds_left: float | None = None  #: to the end of the fit, by the duration of the latest steps
    reward: float | None = None  #: of a step that learns from rewards, as of FeedbackStep
    kl: float | None = None
    entropy: float | None = None
    dev_loss: float | None = None  #: the newest loss on development conversations
    best_step: int | None = None  #: the step with the lowest of these losses
    best_dev_loss: float | None = None
    checkpoint_step: int = 0  #: of the newest checkpoint; 0: none
    checkpoint_seconds: float | None = None  #: between two checkpoints within a window
    memory_estimate: int | None = None  #: bytes, calculated before the first step

    @property
    def curve_figure(self) -> float | None:
        """The figure that the fit's curve shows: the reward of a step that learns from rewards, else the loss."""
        return self.loss if self.reward is None else self.reward


@record
class TrainedModel:
    """A model folder, or an adapter, that a job wrote."""

    name: str
    path: str
    kind: str  #: 'full' | 'adapter'
    digest: str  #: sha256 of its files
    bytes: int
    base: str  #: digest of the model that it started from; '' = random weights
    builds: tuple[str, ...]
