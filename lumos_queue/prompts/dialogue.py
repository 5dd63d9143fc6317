"""Convert records to conversations with planner, grounder or solver, for training and inference (spec/lumos.md 1).

A framing is a way to write turns as text. Checkpoints are trained on the framing `train`; the published numbers come
from `eval`. No text has `<s>`; `FRAMINGS[framing].bos` tells whether the tokenizer adds it to an agent's prompts. Roles
and `</s>` are plain text. In texts of tasks and tools the marks of roles are broken, so that these cannot begin a turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from lumos_queue.domains.base import Domain
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import unknown
from lumos_queue.notation import format_result, read_actions, strip_label, without_roles
from lumos_queue.prompts.instruct_actions import read_instruct_actions
from lumos_queue.records import SHOWN, Action, Execution, Role, Subgoal, Task, record

#: What every instruction for the planner begins with (spec/lumos.md 1.2, verbatim).
PLAN_HEAD = "Please provide a reasonable subgoal-based plan to solve the given task.\n"
_BEGUN = re.compile(r"^R1\s*=\s*")  #: what a reply may repeat of what was begun for it
MAX_ACTIONS = 1000  #: of one reply that are run
USER, ASSISTANT = "<|user|>\n", "<|assistant|>\n"


@record
class Turn:
    """A message. `content` is as in the released data, where a user's turn to the grounder ends with a line break."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Framing:
    """A way to write turns as text."""

    bos: bool  #: whether the tokenizer puts `<s>` in front
    strips_user: bool  #: else only the closing line break of a user turn goes
    after_reply: str

    def write(self, turn: Turn) -> str:
        """Return the text of a turn. A user's turn includes the header of the assistant's reply."""
        if turn.role == "assistant":
            return turn.content.strip() + self.after_reply
        content = turn.content.strip() if self.strips_user else turn.content.removesuffix("\n")
        return f"{USER}{content}\n{ASSISTANT}"


FRAMINGS = {
    "train": Framing(bos=True, strips_user=True, after_reply="</s>\n"),
    "eval": Framing(bos=False, strips_user=False, after_reply="\n\n"),
}


def get_framing(name: str) -> Framing:
    """Return the framing of that name. Raises SpecError with the choices for an unknown name."""
    if name not in FRAMINGS:
        raise unknown("framing", name, FRAMINGS)
    return FRAMINGS[name]


def render(turns: Sequence[Turn], framing: str) -> str:
    """Return the turns as text: a prompt if the last turn is the user's, else a text without a final line break.

    Raises ValueError unless user and assistant alternate and the user is first.
    """
    style = get_framing(framing)
    if any(turn.role != ("user", "assistant")[position % 2] for position, turn in enumerate(turns)):
        raise ValueError("turns must alternate between user and assistant, the user first")
    text = "".join(map(style.write, turns))
    if turns and turns[-1].role == "assistant":
        text = text.removesuffix(style.after_reply) + style.after_reply.rstrip("\n")
    return text


def question_prompt(task: Task, framing: str = "train") -> str:
    """Return the prompt of the cot and direct formulations: the question alone."""
    return render([Turn("user", without_roles(task.question.strip()))], framing)


def _solver_head(domain: Domain) -> str:
    """Return the prompt's head for a model that plans and grounds: the planner's instruction, the grounder's action
    list.
    """
    _, separator, actions = domain.ground_head.partition("The available action list")
    return f"{PLAN_HEAD}{separator}{actions}"


def amend(prompt: str, request: str) -> str:
    """Return the prompt with another line at the end of the user's last turn."""
    return f"{prompt.removesuffix(ASSISTANT)}{request}\n{ASSISTANT}"


class _Conversation:
    """Turns and their text, to which turns are added. `before`: demonstrations, which are in the text but no turns."""

    def __init__(self, style: Framing, before: str = ""):
        self._style = style
        self.turns: list[Turn] = []
        self.text = before

    @property
    def awaits_reply(self) -> bool:
        return bool(self.turns) and self.turns[-1].role == "user"

    def add(self, role: Literal["user", "assistant"], content: str) -> None:
        turn = Turn(role, content if role == "assistant" else without_roles(content))
        self.turns.append(turn)
        self.text += self._style.write(turn)


class Dialogue:
    """The conversations of one episode: one with the planner and one with the grounder, or one with the solver.

    For each subgoal, call `to_planner`, `add_plan`, `to_grounder`, `add_grounding`, and `observe` for each action; or
    `to_solver`, `add_solution`, and `observe` for each action. A prompt that is requested twice is the same. If a reply
    is added before its prompt was requested, the prompt is added first. Demonstrations precede the conversations.
    """

    def __init__(
        self, task: Task, domain: str, framing: str = "train", demonstrations: Mapping[str, str] = MappingProxyType({})
    ):
        """`demonstrations`: their texts by role. Raises SpecError for an unknown domain or framing."""
        self._task = task.question.strip()
        self._domain = DOMAINS.load(domain)
        self._style = get_framing(framing)
        self._demonstrations = demonstrations
        self._planner, self._grounder, self._solver = map(self._begin, (Role.PLANNER, Role.GROUNDER, Role.SOLVER))
        self._subgoal: Subgoal | None = None
        self._result = ""  #: of the current subgoal, as the planner is sent it
        self._results: dict[str, str] = {}  #: `Subgoal 1` to its result, where the last action gave one

    def _begin(self, role: str) -> _Conversation:
        return _Conversation(self._style, self._demonstrations.get(role, ""))

    @property
    def prompt_prefixes(self) -> dict[str, str]:
        """By role, the text with which the first prompt begins, and which is the same for all tasks of the domain."""
        return {
            Role.PLANNER: f"{self._demonstrations.get(Role.PLANNER, '')}{USER}{PLAN_HEAD}Task: ",
            Role.GROUNDER: f"{self._demonstrations.get(Role.GROUNDER, '')}{USER}{self._domain.ground_head}Task: ",
            Role.SOLVER: f"{self._demonstrations.get(Role.SOLVER, '')}{USER}{_solver_head(self._domain)}Task: ",
        }

    @property
    def planner_turns(self) -> tuple[Turn, ...]:
        return tuple(self._planner.turns)

    @property
    def grounder_turns(self) -> tuple[Turn, ...]:
        return tuple(self._grounder.turns)

    @property
    def solver_turns(self) -> tuple[Turn, ...]:
        return tuple(self._solver.turns)

    def to_planner(self) -> str:
        """Return the prompt for the planner's next reply."""
        if not self._planner.awaits_reply:
            self._planner.add("user", self._planner_turn())
        return self._planner.text

    def add_plan(self, reply: str, subgoal: Subgoal | None = None) -> None:
        """Add the planner's reply verbatim. `subgoal`: None if the reply stops, or plans everything at once."""
        self.to_planner()
        self._planner.add("assistant", reply)
        self._subgoal, self._result = subgoal, ""

    def override_subgoal(self, subgoal: Subgoal) -> None:
        """Put `subgoal` into later prompts of the planner instead of the planner's subgoal, for teacher forcing."""
        self._subgoal = subgoal

    def to_grounder(self) -> str:
        """Return the prompt for grounding the current subgoal."""
        if not self._grounder.awaits_reply:
            self._grounder.add("user", self._grounder_turn())
        return self._grounder.text + self._primer

    def to_grounder_all(self, plan: str) -> str:
        """Return the prompt for grounding a whole plan at once. It starts a new conversation with the grounder."""
        self._grounder = self._begin(Role.GROUNDER)
        self._grounder.add("user", f"{self._ground_task()}Subgoals to be grounded: {plan.strip()}\n")
        return self._grounder.text

    def add_grounding(self, reply: str) -> tuple[Action, ...]:
        """Add the grounder's reply and return its actions. Until `observe` the reply counts as the subgoal's result."""
        primer = self._primer if self.to_grounder() else ""
        reply = f"{primer}{_BEGUN.sub('', reply.strip(), count=1)}" if primer else reply
        self._grounder.add("assistant", reply)
        self._result = reply.strip()
        return self.read(reply)

    def read(self, reply: str) -> tuple[Action, ...]:
        """Return the actions of a reply in the domain's grammar: at most MAX_ACTIONS, and one action for the rest."""
        return read_actions(reply, self._domain.calls, MAX_ACTIONS)

    def read_instruct(self, reply: str, subgoal: int = 0, must_act: bool = True) -> tuple[Action, ...]:
        """Return the actions of an instruct model's reply. `read_instruct_actions` explains the arguments."""
        calls, primer = self._domain.calls, self._primer
        return read_instruct_actions(reply, calls, MAX_ACTIONS, subgoal=subgoal, primer=primer, must_act=must_act)

    def add_actions(self, actions: Sequence[Action]) -> None:
        """Add a reply of the grounder that is written from these actions in LUMOS's notation."""
        self.to_grounder()
        self._result = "; ".join(action.raw for action in actions)
        self._grounder.add("assistant", self._result)

    def to_solver(self) -> str:
        """Return the prompt for the solver's next reply in the integrated formulation."""
        if not self._solver.awaits_reply:
            self._solver.add("user", self._solver_turn())
        return self._solver.text

    def add_solution(self, reply: str, subgoal: Subgoal | None = None, grounding: str = "") -> None:
        """Add the solver's reply verbatim. `subgoal`: None if the reply stops. `grounding`: its actions as text."""
        self.to_solver()
        self._solver.add("assistant", reply)
        self._subgoal, self._result = subgoal, grounding.strip()

    def observe(self, action: Action, execution: Execution) -> None:
        """Add the result of an action. The result of a subgoal is that of its last action. A failed action has its text
        as the result. A value that is not shown is no result for the grounder.
        """
        if execution.ok:
            self._result = execution.result or ", ".join(str(value["text"]) for value in execution.values)
        else:
            self._result = f"{action.name}({action.arguments})" if action.variables else action.arguments
        if self._subgoal is None:
            return
        label = f"Subgoal {self._subgoal.number}"
        self._results.pop(label, None)
        if execution.ok and all(value.get(SHOWN, True) for value in execution.values[-1:]):
            self._results[label] = self._result

    def _planner_turn(self) -> str:
        return self._report() if self._planner.turns else f"{PLAN_HEAD}{self._plan_task()}"

    def _solver_turn(self) -> str:
        return self._report() if self._solver.turns else f"{_solver_head(self._domain)}{self._plan_task()}"

    def _plan_task(self) -> str:
        return f"Task: {self._task}; Initial Environment Description: None."

    def _report(self) -> str:
        """Return the text that reports the outcome of the current subgoal to the planner or the solver."""
        if self._subgoal is None:
            raise ValueError("the model stopped or planned everything at once: it has no further turn")
        if self._domain.reports == "done":
            text = strip_label(self._subgoal.text)
            outcome = f"{text[:1].lower()}{text[1:]}".rstrip(".").strip()
            return f"We have already {outcome}. Should we stop planning?"
        if self._domain.ends_by_action:
            return f"The executed result for Subgoal {self._subgoal.number} is {self._result.strip()}"
        result = format_result(self._result)
        return f"The executed result for Subgoal {self._subgoal.number} is {result}. Should we stop planning?"

    def _grounder_turn(self) -> str:
        if self._subgoal is None:
            raise ValueError("there is no subgoal to ground: call add_plan first")
        turn = f"Subgoal to be grounded: {self._subgoal.text}"
        if not self._grounder.turns:
            return f"{self._ground_task()}{turn}\n"
        if self._domain.shows_earlier:
            # In string order, as the original sorts its labels: Subgoal 10 before Subgoal 2.
            turn += " The grounding could be based on the following results:" + "".join(
                f" The execution result for {label} is {format_result(result)}."
                for label, result in sorted(self._results.items())
            )
        return f"{turn}\n"

    def _ground_task(self) -> str:
        return f"{self._domain.ground_head}Task: {self._task} \n"

    @property
    def _primer(self) -> str:
        """The beginning of the grounder's reply, which its first prompt after demonstrations has, as in LUMOS."""
        return (
            self._domain.reply_prefix
            if self._demonstrations.get(Role.GROUNDER) and len(self._grounder.turns) == 1
            else ""
        )
