"""What a domain is: its wording, its actions, its demonstrations, its limits and how its episodes end."""

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

#: What every instruction for the grounder begins with (spec/lumos.md 1.4, verbatim).
GROUND = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. "
    "The grounded actions must be the one in available action list.\n\n"
)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved task; each step is (subgoal with its label, the grounder's line, the result as the planner is told).

    Subgoals and lines name earlier results (`R2`), and never say them: so the steps are also a plan made at once.

    >>> import lumos_queue as lq
    >>> step = ("Subgoal 1: Add 101 and 44.", "R1 = Calculator(101 + 44)", "145")
    >>> lq.Demonstration("What is 101 plus 44?", (step,), answer="145").answer
    '145'
    """

    task: str
    steps: tuple[tuple[str, str, str], ...]
    rationale: str = ""  #: what a chain of thought says before the answer; on one line
    answer: str = ""  #: '': what is done counts, and nothing is answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Everything that is particular to one domain. To add one, write its module here and name it in registry.py.

    Actions are named as `package.module:Class` and imported when they are first needed: wording needs no tools.
    A domain without options, files and helper processes names a session alone.

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
    interface: str = ""  #: the class of its ActionInterface; '': nothing but sessions (actions/plain.py)
    session: str | type = ""  #: the class whose methods are its actions; '': the interface itself has a table of them
    action_names: tuple[str, ...] = ()  #: as its instruction lists them; () where actions are not calls
    calls: bool = True  #: whether actions are calls, `R1 = Name(…)`; else anything may follow `R1 = `
    stateless: bool = False  #: whether actions depend on the variables alone, so that they run outside any episode
    functions: bool = False  #: whether a task brings its own functions, which tool agents call
    experts: bool = False  #: whether its actions are runs of expert models on what a task brings
    option_roles: Mapping[str, str] = field(default_factory=dict)  #: option `NAME=VALUE` to the role that it asks
    concludes_by_qa: bool = False  #: whether the answer is what its QA tool makes of all answers (Agent.answer_by)

    # --- wording ------------------------------------------------------------------------------------------------------
    published_actions: str | None = None  #: the released list of actions; None: it is made from the session's methods
    reports: Literal["result", "done"] = "result"  #: what the planner is told: a subgoal's result, or that it is done
    shows_earlier: bool = False  #: whether the grounder is told the earlier results
    reply_prefix: str = ""  #: what the grounder's first reply after demonstrations is begun with
    cot_ending: str = "Answer is {answer}."  #: how the target of a chain of thought ends
    cot_cut: str = ""  #: the words at which a rationale is cut off for a chain of thought; '': nowhere
    demonstrations: tuple[Demonstration, ...] = ()  #: that `--shots` can put in front of a prompt, from the first on
    #: formulation to the number that are shown unless `--shots` says otherwise; where none is named, 0
    default_shots: Mapping[str, int] = field(default_factory=dict)

    # --- limits and stopping ------------------------------------------------------------------------------------------
    max_subgoals: int = 8  #: after which the iterative formulation gives up, unless it is told otherwise
    at_limit: str = AtLimit.WRONG  #: what an answer is worth there, unless it is told otherwise (scoring/limit.py)
    ends_by_action: bool = False  #: whether an action ends the episode; else the planner is asked whether to stop

    @property
    def verified_ground_head(self) -> str | None:
        """The grounder's instruction of the released training files; None where none was published.

        Compatibility with released checkpoints can be claimed for this text only.
        """
        return None if self.published_actions is None else GROUND + self.published_actions

    @property
    def ground_head(self) -> str:
        """What the grounder's first prompt begins with: the published instruction, else one made from the session."""
        if self.published_actions is not None:
            return GROUND + self.published_actions
        from lumos_queue.actions.session import describe

        return GROUND + describe(self.session_class)

    def roles(self, tools: Mapping[str, str]) -> tuple[str, ...]:
        """The roles of the models that its actions ask, with these options."""
        roles = (self.option_roles.get(f"{name}={value}") for name, value in tools.items())
        return (*self._interface().roles, *filter(None, roles))

    @property
    def default_tools(self) -> Mapping[str, str]:
        """What the options of its actions are when they are not given."""
        return self._interface().defaults

    def prepare_tools(self, tools: Mapping[str, str]) -> dict[str, str]:
        """The options of its actions, checked. Raises SpecError."""
        return self._interface().prepare(tools)

    def open_actions(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None) -> ActionInterface:
        """Its actions; the caller closes them. `tools` is what `prepare_tools` returned.

        Raises SpecError for a file that does not exist here, or is not the one that was submitted.
        """
        return self._interface()(tools or {}, settings)

    def open_stateless(self) -> StatelessActions:
        """Its actions, to be run outside any episode. Raises SpecError where they need the world of a task."""
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
        """The class of `session`, where there is one."""
        return resolve_name(self.session) if isinstance(self.session, str) else self.session
