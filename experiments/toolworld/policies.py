"""Scripted policies, one function of the prompt: the oracle, the oracle with noise, and a policy that draws at random.

The oracle reads documents, follows each part with the next API that was not tried, corrects a misspelt argument, tries
again what was refused for its rate where nothing else is left, says unknown where everything was tried, and gives up a
branch that is locked. Its decisions are values with a thought, so that they can be written as a teacher's replies. The
same prompt has the same reply.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from experiments.tool_agents.reading import SeenCall
from experiments.toolworld.reading import LIMITED, LOCKED, MADE_BEFORE, ListedFunction, Missing, WorldView, right_name
from experiments.toolworld.state_manager import ENTITY, MANAGES, can_manage, manage
from lumos_queue.actions.tools.finish import GIVE_ANSWER, GIVE_UP
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.actions.tools.world import ANSWERS
from lumos_queue.prompts.tool_agent import ROUTER, SYSTEM
from lumos_queue.text_calls.three_lines import Reply, write_reply

UNKNOWN = "unknown"
BETWEEN = "_for_"  #: API and tool in the name of a function
MAX_CALLS = 2  #: of a call that a rate limit refuses
FINISHING = 0.1  #: how often the random policy finishes
NOISE = 0.1  #: how often the noisy policy errs
STRONG_NOISE = 0.3  #: how often the policy of the rollouts errs: what to do after an error is to be learnt as well


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next, and why."""

    thought: str
    action: str
    arguments: Mapping[str, str]

    def write(self, thinks: bool = True) -> str:
        """Return the decision as the reply of a model."""
        return write_reply(Reply(self.thought if thinks else "", self.action, json.dumps(dict(self.arguments))))


def decide(view: WorldView, restarts: bool, reads: Callable[[ListedFunction, Missing], bool] | None = None) -> Decision:
    """The oracle's decision. `restarts`: whether giving up a locked branch may lead to another one.

    `reads` says which functions it takes for answers of a missing step; None: those whose documents say so.
    """
    is_locked = False
    for part in view.parts:
        _, missing_step = view.follow(part)
        if missing_step is None:
            continue
        if (decision := _next_call(view, missing_step, reads or _answers)) is not None:
            return decision
        is_locked = is_locked or any(LOCKED in call.message for call in view.seen)
    if is_locked and restarts:
        thought = "A part is locked for the rest of this attempt, so it has to begin anew."
        return Decision(thought, FINISH.name, {"return_type": GIVE_UP})
    return finish(view)


def finish(view: WorldView) -> Decision:
    """Return the answer from the known values."""
    ends = [view.follow(part) for part in view.parts]
    values = [UNKNOWN if missing_step else value for value, missing_step in ends]
    answer = "; ".join(f"{position}: {value}" for position, value in enumerate(values, start=1))
    thought = "What could not be found stays unknown." if UNKNOWN in values else "Everything is known."
    return Decision(thought, FINISH.name, {"return_type": GIVE_ANSWER, "final_answer": answer})


def _answers(function: ListedFunction, missing_step: Missing) -> bool:
    return function.kind == ANSWERS and (function.of, function.gives) == (missing_step.of, missing_step.gives)


def by_names_alone(function: ListedFunction, missing_step: Missing) -> bool:
    """Whether a function might answer, for a policy that cannot tell look-alikes apart."""
    return (function.of, function.gives) == (missing_step.of, missing_step.gives)


def _next_call(
    view: WorldView, missing_step: Missing, reads: Callable[[ListedFunction, Missing], bool]
) -> Decision | None:
    """Return a call with a corrected argument, else of an untried function, else one that a rate limit refused."""
    thought = f"The {missing_step.gives} of {missing_step.argument} is missing."
    fresh = again = None
    for function in view.functions:
        if not reads(function, missing_step):
            continue
        calls = view.calls(function, missing_step.argument)
        if not calls:
            fresh = fresh or Decision(thought, function.name, {function.parameter: missing_step.argument})
        elif any(LOCKED in call.message for call in calls):
            return None
        elif name := right_name(calls):
            return Decision(f"{thought} The argument is called {name}.", function.name, {name: missing_step.argument})
        elif _may_repeat(view, function, calls):
            why = f"{thought} It was refused for its rate alone."
            again = again or Decision(why, function.name, {function.parameter: missing_step.argument})
    return fresh or again


def _may_repeat(view: WorldView, function: ListedFunction, calls: Sequence[SeenCall]) -> bool:
    """Whether a call that a rate limit refused may be made once more: not where the prompt asks for another one."""
    refusal_count = sum(LIMITED in call.message for call in calls)
    off = any((call.function, call.argument) == (function.name, calls[0].argument) for call in view.tried_here)
    return 0 < refusal_count < MAX_CALLS and not off and not any(MADE_BEFORE in call.message for call in calls)


class Policies:
    """The replies of all roles."""

    def __init__(self, seed: int, noise: float, *, apart: bool = True, thinks: float = 0.5, invents: bool = False):
        """`noise`: share of decisions that are errors. `apart`: whether look-alikes are told apart by their documents.
        `thinks`: share of replies with a thought, which in ToolBench's depth is a node of its own. `invents`: whether
        a fourth kind of error calls a function that does not exist, as small models do."""
        self._seed, self._noise, self._apart, self._thinks, self._invents = seed, noise, apart, thinks, invents

    def of(self, role: str) -> Callable[[str], str]:
        """The reply to a prompt of that role."""
        return manage if role == "state_manager" else self._reply

    def _reply(self, prompt: str) -> str:
        view, draw = WorldView(prompt), random.Random(f"{self._seed} {prompt}")
        thinks = draw.random() < self._thinks
        if not view.parts or not view.functions:
            return "Thought: The request or the functions are not in sight."
        if not self._apart:
            draw.shuffle(view.functions)
        restarts = not prompt.startswith(SYSTEM + ROUTER)
        right = decide(view, restarts, None if self._apart else by_names_alone)
        wrong = draw.random() < self._noise
        return (_mistaken(right, view, draw, self._invents) if wrong else right).write(thinks)


class RandomPolicy:
    """Draws a function and an id of those in sight; finishes with any of the values in sight."""

    def __init__(self, seed: int):
        self._seed = seed

    def of(self, role: str) -> Callable[[str], str]:
        return manage if role == "state_manager" else self._reply

    def _reply(self, prompt: str) -> str:
        view, draw = WorldView(prompt), random.Random(f"random {self._seed} {prompt}")
        text = " ".join([prompt.rpartition("Request: Find")[2], *(call.message for call in view.seen)])
        ids = sorted(set(ENTITY.findall(text)))
        if not ids or not view.functions or draw.random() < FINISHING:
            values = sorted({UNKNOWN, *re.findall(r"[0-9]{3,5}", text)})
            answer = "; ".join(f"{position}: {draw.choice(values)}" for position in range(1, len(view.parts) + 1))
            return Decision("", FINISH.name, {"return_type": GIVE_ANSWER, "final_answer": answer}).write()
        function = draw.choice(view.functions)
        return Decision("", function.name, {function.parameter: draw.choice(ids)}).write()


def _mistaken(right: Decision, view: WorldView, draw: random.Random, invents: bool) -> Decision:
    """An error, one of three in equal shares: a look-alike, another argument, any other function or Finish. `invents`:
    one of four; a function that does not exist."""
    if right.action == FINISH.name:
        function = draw.choice(view.functions)
        return Decision(right.thought, function.name, {function.parameter: view.parts[0].start})
    right_function = next(function for function in view.functions if function.name == right.action)
    argument = next(iter(right.arguments.values()))
    kind = draw.randrange(4 if invents else 3)
    if kind == 3 and (names := _mix_names(view)):
        return Decision(right.thought, draw.choice(names), {right_function.parameter: argument})
    alike = [
        function
        for function in view.functions
        if (function.of, function.gives) == (right_function.of, right_function.gives) and function.kind != ANSWERS
    ]
    wrong_arguments = sorted({*view.facts.values(), *(part.start for part in view.parts)} - {argument})
    if kind == 0 and alike:
        function = draw.choice(alike)
        return Decision(right.thought, function.name, {function.parameter: argument})
    if kind == 1 and wrong_arguments:
        return Decision(right.thought, right_function.name, {right_function.parameter: draw.choice(wrong_arguments)})
    choices = [None, *(function for function in view.functions if function.name != right_function.name)]
    function = draw.choice(choices)
    return finish(view) if function is None else Decision(right.thought, function.name, {function.parameter: argument})


def _mix_names(view: WorldView) -> list[str]:
    """Names of no function: one's API with another one's tool."""
    names = {function.name for function in view.functions}
    pieces = [name.partition(BETWEEN) for name in sorted(names)]
    return sorted({f"{api}{BETWEEN}{tool}" for api, _, _ in pieces for _, _, tool in pieces} - names)


def oracle(prompt: str) -> str:
    """The oracle in any role, as an endpoint: function:experiments.toolworld.policies:oracle."""
    return _as_any_role(_ORACLE, prompt)


def noisy(prompt: str) -> str:
    """The policy that errs in NOISE of its decisions, in any role, whose state manager does not err: an endpoint."""
    return _as_any_role(_NOISY, prompt)


def very_noisy(prompt: str) -> str:
    """As `noisy`, but it errs in STRONG_NOISE of its decisions, and calls functions that do not exist as well."""
    return _as_any_role(_VERY_NOISY, prompt)


def teach(prompt: str) -> str | None:
    """The oracle's reply to a prompt of any role, always with a thought; None where it does not know what to say."""
    if prompt.startswith(MANAGES):
        return manage(prompt) if can_manage(prompt) else None
    view = WorldView(prompt)
    return _TEACHER.of("policy")(prompt) if view.parts and view.functions else None


def _as_any_role(models: Policies, prompt: str) -> str:
    return models.of("state_manager" if prompt.startswith(MANAGES) else "policy")(prompt)


_ORACLE, _TEACHER = Policies(0, 0.0), Policies(0, 0.0, thinks=1.0)
_NOISY, _VERY_NOISY = Policies(0, NOISE, thinks=1.0), Policies(0, STRONG_NOISE, thinks=1.0, invents=True)
