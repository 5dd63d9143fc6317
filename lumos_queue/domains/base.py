"""Defines domains and demonstrations. A domain has actions, wording, demonstrations and limits for a kind of task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from lumos_queue.errors import SpecError
from lumos_queue.scoring.limit import AtLimit
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from lumos_queue.actions.base import ActionInterface, StatelessActions
    from lumos_queue.deployment.deployment import Deployment

#: The beginning of every instruction for the grounder (spec/lumos.md 1.4, verbatim).
GROUND = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. "
    "The grounded actions must be the one in available action list.\n\n"
)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved task. Each step is (subgoal with its label, the grounder's line, the result that the planner is sent).

    Subgoals and lines name earlier results (`R2`) without their values, so that the steps are also a one-pass plan.

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
    """Everything that is particular to a domain. To add a domain, write a module in this package, named in registry.py.

    `interface` and `session` are names, `package.module:Class`, so that using only the wording imports no tools.
    A domain without tool options, files and helper processes needs only a `session`.

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
    default_shots: int = 0  #: demonstrations without `--shots`, of a formulation that plans and grounds step by step

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
        """The beginning of the grounder's first prompt: the published instruction, or else a generated instruction."""
        if self.published_actions is not None:
            return GROUND + self.published_actions
        from lumos_queue.actions.session import describe

        return GROUND + describe(self.session_class)

    def roles(self, tools: Mapping[str, str]) -> tuple[str, ...]:
        """Return the roles of the models that the domain's actions use with these tool options."""
        roles = (self.option_roles.get(f"{name}={value}") for name, value in tools.items())
        return (*self._interface().roles, *filter(None, roles))

    def model_addresses(self, tools: Mapping[str, str]) -> dict[str, str]:
        """Return the addresses of the models that these tool options name themselves, by role."""
        find_addresses = getattr(self._interface(), "model_addresses", None)
        return {} if find_addresses is None else find_addresses(tools)

    @property
    def default_tools(self) -> Mapping[str, str]:
        """The default tool options of the domain's actions."""
        return self._interface().defaults

    def prepare_tools(self, tools: Mapping[str, str]) -> dict[str, str]:
        """Check the tool options and return them with defaults for the others. Raises SpecError."""
        return self._interface().prepare(tools)

    def open_actions(
        self, tools: Mapping[str, str] | None = None, deployment: Deployment | None = None
    ) -> ActionInterface:
        """Return the domain's actions, which the caller closes. `tools`: the options that `prepare_tools` returned.

        Without a deployment they read no database.

        Raises SpecError for a file that does not exist, or differs from the submitted file.
        """
        actions = self._interface()(tools or {}, deployment and deployment.settings)
        if deployment is not None and (read_records := getattr(actions, "read_records", None)):
            read_records(deployment)
        return actions

    def open_stateless(self) -> StatelessActions:
        """Return the domain's actions for use outside of episodes. Raises SpecError if they need a task's world."""
        if not self.stateless:
            raise SpecError(f"The actions of domain '{self.name}' need the world of a task: run them in an episode.")
        return self._interface()()

    def _interface(self) -> Any:
        if self.interface:
            with import_libraries(self.interface):
                return resolve_name(self.interface)
        from lumos_queue.actions.plain import PlainActions

        return PlainActions(self.name, self.session_class)

    @property
    def session_class(self) -> type:
        """The class of `session`, which is imported if `session` is a name."""
        if not isinstance(self.session, str):
            return self.session
        with import_libraries(self.session):
            return resolve_name(self.session)
