"""A formulation: the order in which planning, grounding and executing take turns, with the properties of this order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lumos_queue.commands import Commands
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import Generate
from lumos_queue.errors import unknown
from lumos_queue.formulations.answer_files import AnswerFiles
from lumos_queue.formulations.state_keeping import StateKeeping
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import GoldSolution, Replies
from lumos_queue.records import MODULES, Outcome, Task

#: Version of all formulations; the changed code states the changes. A job keeps the version with which it began.
#: Version 3 reads the replies of models that think, and of instruct models over `chat://` (decision 0051).
#: Version 4 shows ToolBench's descriptions of tools and arguments (decision 0057).
VERSION = 4


def version_of(spec: Mapping[str, Any]) -> int:
    """Return the version of the formulation that a stored job's specification names, or 1 if it names no version."""
    return spec.get("infer", spec).get("formulation_version", 1)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a formulation (`--setting NAME=VALUE`)."""

    default: str
    meaning: str
    read: Callable[[str, str], Any]  #: parses a value, from name and text; raises SpecError for an invalid value


@dataclass(frozen=True, slots=True)
class Formulation:
    """A formulation. Calling it with a task and an agent returns the generator of an episode.

    >>> import lumos_queue as lq
    >>> def ask_twice(task, agent):
    ...     replies = yield [lq.Ask("solver", task.question), lq.Ask("solver", f"Think. {task.question}")]
    ...     return lq.Outcome(replies[1].text, lq.Ending.ANSWERED)
    >>> lq.Formulation("ask-twice", ask_twice, ("solver",), executes=False).roles
    ('solver',)
    """

    name: str
    generator: Callable[..., Commands[Outcome]]  #: gets a task, an agent and, if `versioned`, the version
    roles: tuple[str, ...]  #: roles of its models: planner and grounder, or one model, the solver or the captioner
    executes: bool = True  #: whether it runs actions, and so may need tools
    functions: bool = False  #: whether its actions are functions of the task (tool agents)
    experts: bool = False  #: whether its actions are runs of expert models on inputs of the task
    approved: bool = False  #: whether a person has to approve its plans before they run
    #: The replies of each role in an episode that follows a gold solution; None: it cannot be trained.
    write_gold: Callable[[GoldSolution], Replies] | None = None
    #: The settings under which these are its prompts.
    taught_with: Mapping[str, str] = field(default_factory=dict[str, str])
    whole_plans: bool = False  #: whether a planner writes all subgoals in one reply
    reasons: bool = False  #: whether its only reply has reasoning before the answer
    starter: bool = False  #: whether the project has a starter model for it
    judges_runs: bool = False  #: whether it judges stored runs of tool agents: its answer is a ToolVerdict as text
    of_episodes: bool = False  #: whether its tasks are stored episodes of other jobs
    answer_files: AnswerFiles | None = None  #: how its episodes become ToolBench's answer files; None: they do not
    state: StateKeeping | None = None  #: how its state is restored; None: it keeps no state beside its steps
    limited: bool = False  #: whether it stops at the agent's limit of subgoals
    demonstrated: bool = False  #: whether it uses the demonstrations of a domain
    versioned: bool = False  #: whether its versions differ
    instructed: bool = False  #: whether its prompts follow `Agent.system` and `Agent.prompt` (prompts/solver_prompt.py)
    templated: bool = False  #: whether its prompts follow `Agent.prompt` alone: a template with the question
    #: If its only reply is the answer: the reader `phrase`, which returns '' for no answer. None: it has no readers.
    phrase: Callable[[str], str] | None = None
    expected_calls: Callable[[int, int], int] | None = None  #: model calls, from subgoals and their limit, if fixed
    #: The settings of `--setting NAME=VALUE`, by name.
    settings: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    #: The models that its settings name: the role of each to its address, from the settings that the agent has.
    setting_roles: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
    limits: Limits = field(default_factory=Limits)  #: unless the agent has its own
    samplings: Mapping[str, Sampling] = field(default_factory=dict[str, Sampling])  #: of roles with their own sampling
    prefixes: Callable[[Agent], Mapping[str, str]] | None = None  #: of `prompt_prefixes`; None: those of a Dialogue
    callers: tuple[str, ...] = ()  #: roles that call functions through their server's interface if `calls` is native

    @property
    def trainable(self) -> bool:
        """Whether a gold solution determines its whole conversations."""
        return self.write_gold is not None

    @property
    def is_modular(self) -> bool:
        """Whether a planner and a grounder work, and a gold solution determines the replies of both."""
        return self.trainable and {*MODULES} <= {*self.roles}

    @property
    def is_stepwise(self) -> bool:
        """Whether a planner and a grounder work on one subgoal after another."""
        return self.is_modular and not self.whole_plans

    @property
    def answers_alone(self) -> bool:
        """Whether one model answers a question in a single reply, which a gold solution determines."""
        return self.trainable and self.phrase is not None

    @property
    def is_tool_agent(self) -> bool:
        """Whether it calls functions of the task without a person's approval."""
        return self.functions and not self.approved

    def __call__(self, task: Task, agent: Agent) -> Commands[Outcome]:
        return self.generator(task, agent)

    def prompt_prefixes(self, agent: Agent) -> dict[str, str]:
        """Return for each role the text with which all its prompts begin, so that it is stored only once."""
        if self.prefixes is not None:
            return dict(self.prefixes(agent))
        return agent.dialogue(Task("", "", "", ""), whole_plans=self.whole_plans).prompt_prefixes

    def choose_shots(self, domain_default: int) -> int:
        """Return the number of demonstrations without `--shots`. Those of domains show one step after another."""
        return domain_default if self.demonstrated and self.is_stepwise else 0

    def read_settings(self, agent: Agent) -> dict[str, Any]:
        """Return the value of each setting, by name. Raises SpecError for an unknown setting."""
        for name in agent.settings:
            if name not in self.settings:
                raise unknown(f"setting of '{self.name}'", name, self.settings)
        return {
            name: setting.read(name, agent.settings.get(name, setting.default))
            for name, setting in self.settings.items()
        }

    def at_version(self, version: int) -> Generate[Agent]:
        """Return the function of a task and an agent that runs the formulation in that version."""
        return partial(self.generator, version=version) if self.versioned else self.generator


def formulation(
    name: str = "", *, roles: tuple[str, ...], executes: bool = True, **facts: Any
) -> Callable[[Callable[[Task, Agent], Commands[Outcome]]], Formulation]:
    """Return a decorator that makes a generator function a formulation, by default with the function's name.

    `facts`: further fields of Formulation.

    >>> import lumos_queue as lq
    >>> @lq.formulation(roles=("solver",), executes=False)
    ... def shout(task, agent):
    ...     reply = yield from lq.Ask("solver", task.question.upper())
    ...     return lq.Outcome(reply.text, lq.Ending.ANSWERED)
    >>> lq.evaluate("wordmath", formulation=shout, solver=lambda prompt: "7", limit=3).wait().episodes().count()
    3
    """

    def make(generator: Callable[[Task, Agent], Commands[Outcome]]) -> Formulation:
        defaults: dict[str, Any] = {"prefixes": _no_prefixes}
        return Formulation(name or generator.__name__, generator, roles, executes, **(defaults | facts))

    return make


def _no_prefixes(_agent: Agent) -> Mapping[str, str]:
    return {}
