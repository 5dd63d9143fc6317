"""Defines a domain: its wording, actions, demonstrations and limits, and the end of its episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from lumos_queue.errors import SpecError
from lumos_queue.scoring.limit import AtLimit

if TYPE_CHECKING:
    from lumos_queue.actions.base import ActionInterface, StatelessActions
    from lumos_queue.settings import Settings

#: The beginning of every instruction for the grounder (spec/lumos.md 1.4, verbatim).
GROUND = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. "
    "The grounded actions must be the one in available action list.\n\n"
)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved task; each step is (subgoal with its label, the grounder's line, the result that the planner is sent).

    Subgoals and lines name earlier results (`R2`) and never state them, so that the steps are also a one-pass plan.

    >>> import lumos_queue as lq
    >>> step = ("Subgoal 1: Add 101 and 44.", "R1 = Calculator(101 + 44)", "145")
    >>> lq.Demonstration("What is 101 plus 44?", (step,), answer="145").answer
    '145'
    """

    task: str
    steps: tuple[tuple[str, str, str], ...]
    rationale: str = ""  #: the text of a chain of thought before the answer, on one line
    answer: str = ""  #: '': the task has no answer; its actions count


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Everything that is particular to one domain. To add one, write its module here and name it in registry.py.

    Actions are named as `package.module:Class` and imported when first needed, because wording needs no tools.
    A domain without options, files and helper processes names only a session.

    >>> import lumos_queue as lq
    >>> class Words(lq.ActionSession):
    ...     @lq.action("Reverse(text)")
    ...     async def Reverse(self, text, context):
    ...         '''Write a text backwards.'''
    ...         return {"kind": "text", "text": text[::-1]}
    >>> words = lq.Domain(name="words", session=Words, action_names=("Reverse",))
    >>> print(words.ground_head.splitlines()[-2])
    Reverse(text): Write a text backwards.
    """

    name: str

    # --- actions ------------------------------------------------------------------------------------------------------
    interface: str = ""  #: the class of its ActionInterface; '': sessions only (actions/plain.py)
    session: str | type = ""  #: the class whose methods are its actions; '': the interface has a table of actions
    action_names: tuple[str, ...] = ()  #: as its instruction lists them; () where actions are not calls
    calls: bool = True  #: whether actions are calls, `R1 = Name(…)`; else any text may follow `R1 = `
    stateless: bool = False  #: whether actions depend only on the variables, so that they can run outside episodes
    functions: bool = False  #: whether a task contains its own functions, which tool agents call
    experts: bool = False  #: whether its actions run expert models on a task's inputs
    option_roles: Mapping[str, str] = field(default_factory=dict)  #: option `NAME=VALUE` to the model role that it uses
    concludes_by_qa: bool = False  #: whether its QA tool makes the answer from all answers (Agent.answer_by)

    # --- wording ------------------------------------------------------------------------------------------------------
    published_actions: str | None = None  #: the released list of actions; None: generated from the session's methods
    reports: Literal["result", "done"] = "result"  #: the planner is sent a subgoal's result, or that it is done
    shows_earlier: bool = False  #: whether the grounder is sent the earlier results
    reply_prefix: str = ""  #: the prefilled beginning of the grounder's first reply after demonstrations
    cot_ending: str = "Answer is {answer}."  #: the end of a chain of thought's target
    cot_cut: str = ""  #: the words before which a rationale ends in a chain of thought; '': nowhere
    demonstrations: tuple[Demonstration, ...] = ()  #: `--shots N` puts the first N before a prompt
    #: formulation to the number of demonstrations without `--shots`; other formulations: 0
    default_shots: Mapping[str, int] = field(default_factory=dict)

    # --- limits and stopping ------------------------------------------------------------------------------------------
    max_subgoals: int = 8  #: default limit at which the iterative formulation stops
    at_limit: str = AtLimit.WRONG  #: default value of an answer at this limit (scoring/limit.py)
    ends_by_action: bool = False  #: whether an action ends the episode; else the planner decides when to stop

    @property
    def verified_ground_head(self) -> str | None:
        """The grounder's instruction of the released training files; None if none was published.

        Only this text is compatible with released checkpoints.
        """
        return None if self.published_actions is None else GROUND + self.published_actions

    @property
    def ground_head(self) -> str:
        """The beginning of the grounder's first prompt: the published or else a generated instruction."""
        if self.published_actions is not None:
            return GROUND + self.published_actions
        from lumos_queue.actions.session import describe

        return GROUND + describe(self.session_class)

    def roles(self, tools: Mapping[str, str]) -> tuple[str, ...]:
        """Return the roles of the models that its actions use with these options."""
        roles = (self.option_roles.get(f"{name}={value}") for name, value in tools.items())
        return (*self._interface().roles, *filter(None, roles))

    @property
    def default_tools(self) -> Mapping[str, str]:
        """The default options of its actions."""
        return self._interface().defaults

    def prepare_tools(self, tools: Mapping[str, str]) -> dict[str, str]:
        """Check the options of its actions. Return them with defaults. Raises SpecError."""
        return self._interface().prepare(tools)

    def open_actions(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None) -> ActionInterface:
        """Open its actions; the caller closes them. `tools`: the options that `prepare_tools` returned.

        Raises SpecError for a file that does not exist, or differs from the submitted file.
        """
        return self._interface()(tools or {}, settings)

    def open_stateless(self) -> StatelessActions:
        """Open its actions outside of episodes. Raises SpecError if they need the world of a task."""
        if not self.stateless:
            raise SpecError(f"The actions of domain '{self.name}' need the world of a task: run them in an episode.")
        return self._interface()()

    def _interface(self) -> Any:
        if self.interface:
            return resolve_name(self.interface)
        from lumos_queue.actions.plain import PlainActions

        return PlainActions(self.name, self.session_class)

    @property
    def session_class(self) -> type:
        """The class that `session` names, if it names one."""
        return resolve_name(self.session) if isinstance(self.session, str) else self.session
