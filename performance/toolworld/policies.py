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

from lumos_queue.actions.tools.finishing import GIVE_ANSWER, GIVE_UP
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.actions.tools.world import ANSWERS
from lumos_queue.benchmarks.toolworld.catalogue import read_description
from lumos_queue.prompts.three_lines import Reply, write_reply
from lumos_queue.prompts.tool_agent import ROUTER, STATE_MANAGER, SYSTEM
from performance.tool_agents.reading import Seen, value_in
from performance.toolworld.reading import LIMITED, LOCKED, MADE_BEFORE, Listed, Missing, WorldView, right_name

UNKNOWN = "unknown"
MAX_CALLS = 2  #: of a call that a rate limit refuses
FINISHING = 0.1  #: how often the random policy finishes
ENTITY = re.compile(r"\b[A-Z]{2}-[0-9]{5}\b")
_RETURNED = re.compile(r"\nFunction: (.*)\n\nReturned: (.*?)(?=\n<\||\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next, and why."""

    thought: str
    action: str
    arguments: Mapping[str, str]

    def write(self, thinks: bool = True) -> str:
        """As a model replies."""
        return write_reply(Reply(self.thought if thinks else "", self.action, json.dumps(dict(self.arguments))))


def decide(view: WorldView, restarts: bool, reads: Callable[[Listed, Missing], bool] | None = None) -> Decision:
    """The oracle's decision. `restarts`: whether giving up a locked branch may lead to another one.

    `reads` says which functions it takes for answers of a missing step; None: those whose documents say so.
    """
    stuck = False
    for part in view.parts:
        _, missing = view.follow(part)
        if missing is None:
            continue
        if (found := _next_call(view, missing, reads or _answers)) is not None:
            return found
        stuck = stuck or any(LOCKED in one.told for one in view.seen)
    if stuck and restarts:
        thought = "A part is locked for the rest of this attempt, so it has to begin anew."
        return Decision(thought, FINISH.name, {"return_type": GIVE_UP})
    return finish(view)


def finish(view: WorldView) -> Decision:
    """Say what is known."""
    ends = [view.follow(part) for part in view.parts]
    values = [UNKNOWN if missing else value for value, missing in ends]
    told = "; ".join(f"{place}: {value}" for place, value in enumerate(values, start=1))
    thought = "What could not be found stays unknown." if UNKNOWN in values else "Everything is known."
    return Decision(thought, FINISH.name, {"return_type": GIVE_ANSWER, "final_answer": told})


def _answers(function: Listed, missing: Missing) -> bool:
    return function.kind == ANSWERS and (function.of, function.gives) == (missing.of, missing.gives)


def by_names_alone(function: Listed, missing: Missing) -> bool:
    """Whether a function might answer, for a policy that cannot tell look-alikes apart."""
    return (function.of, function.gives) == (missing.of, missing.gives)


def _next_call(view: WorldView, missing: Missing, reads: Callable[[Listed, Missing], bool]) -> Decision | None:
    """A corrected argument; else a function that was not tried; else once more what was refused for its rate."""
    said = f"The {missing.gives} of {missing.argument} is missing."
    fresh = again = None
    for one in view.functions:
        if not reads(one, missing):
            continue
        calls = view.calls(one, missing.argument)
        if not calls:
            fresh = fresh or Decision(said, one.name, {one.parameter: missing.argument})
        elif any(LOCKED in call.told for call in calls):
            return None
        elif name := right_name(calls):
            return Decision(f"{said} The argument is called {name}.", one.name, {name: missing.argument})
        elif _may_repeat(view, one, calls):
            why = f"{said} It was refused for its rate alone."
            again = again or Decision(why, one.name, {one.parameter: missing.argument})
    return fresh or again


def _may_repeat(view: WorldView, function: Listed, calls: Sequence[Seen]) -> bool:
    """Whether a call that a rate limit refused may be made once more, and nobody has said to do otherwise."""
    limited = sum(LIMITED in one.told for one in calls)
    off = any((one.function, one.argument) == (function.name, calls[0].argument) for one in view.told_off)
    return 0 < limited < MAX_CALLS and not off and not any(MADE_BEFORE in one.told for one in calls)


class Policies:
    """The replies of all roles."""

    def __init__(self, seed: int, noise: float, *, apart: bool = True, thinks: float = 0.5):
        """`noise`: share of decisions that are errors. `apart`: whether look-alikes are told apart by their documents.
        `thinks`: share of replies with a thought, which in ToolBench's depth is a node of its own."""
        self._seed, self._noise, self._apart, self._thinks = seed, noise, apart, thinks

    def of(self, role: str) -> Callable[[str], str]:
        """The reply to a prompt of that role."""
        return record_reply if role == "state_manager" else self._reply

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
        return (_mistaken(right, view, draw) if wrong else right).write(thinks)


class RandomPolicy:
    """Draws a function and an id of those in sight; finishes with any of the values in sight."""

    def __init__(self, seed: int):
        self._seed = seed

    def of(self, role: str) -> Callable[[str], str]:
        return record_reply if role == "state_manager" else self._reply

    def _reply(self, prompt: str) -> str:
        view, draw = WorldView(prompt), random.Random(f"random {self._seed} {prompt}")
        told = " ".join([prompt.rpartition("Request: Find")[2], *(one.told for one in view.seen)])
        ids = sorted(set(ENTITY.findall(told)))
        if not ids or not view.functions or draw.random() < FINISHING:
            values = sorted({UNKNOWN, *re.findall(r"[0-9]{5}", told)})
            said = "; ".join(f"{place}: {draw.choice(values)}" for place in range(1, len(view.parts) + 1))
            return Decision("", FINISH.name, {"return_type": GIVE_ANSWER, "final_answer": said}).write()
        one = draw.choice(view.functions)
        return Decision("", one.name, {one.parameter: draw.choice(ids)}).write()


def _mistaken(right: Decision, view: WorldView, draw: random.Random) -> Decision:
    """An error, one of three in equal shares: a look-alike, another argument, any other function or Finish."""
    if right.action == FINISH.name:
        one = draw.choice(view.functions)
        return Decision(right.thought, one.name, {one.parameter: view.parts[0].start})
    own = next(one for one in view.functions if one.name == right.action)
    argument = next(iter(right.arguments.values()))
    kind = draw.randrange(3)
    alike = [one for one in view.functions if (one.of, one.gives) == (own.of, own.gives) and one.kind != ANSWERS]
    others = sorted({*view.facts.values(), *(part.start for part in view.parts)} - {argument})
    if kind == 0 and alike:
        one = draw.choice(alike)
        return Decision(right.thought, one.name, {one.parameter: argument})
    if kind == 1 and others:
        return Decision(right.thought, own.name, {own.parameter: draw.choice(others)})
    choices = [None, *(one for one in view.functions if one.name != own.name)]
    one = draw.choice(choices)
    return finish(view) if one is None else Decision(right.thought, one.name, {one.parameter: argument})


def oracle(prompt: str) -> str:
    """The oracle in any role, as an endpoint: function:performance.toolworld.policies:oracle."""
    return (record_reply if prompt.startswith(SYSTEM + STATE_MANAGER) else _ORACLE.of("policy"))(prompt)


def record_reply(prompt: str) -> str:
    """What the oracle's state manager records: a success, where the value is there that the function is for."""
    called = prompt.rpartition("\nCall: ")[2].split("\n", 1)[0]
    match = _RETURNED.search(prompt)
    read = read_description(match[1]) if match else None
    returned = match[2] if match else ""
    kind, of, gives = read or ("", "", "")
    value, argument = value_in(returned, gives) if gives else None, ENTITY.search(called)
    aim = f"find the {gives} of {argument[0] if argument else 'an id'}"
    if kind == ANSWERS and value and argument and value_in(returned, of) == argument[0]:
        return json.dumps({"status": "success", "aim": aim, "answer": f"{of}: {argument[0]}, {gives}: {value}"})
    error = re.search(r'^\{"error": "(.+?)", "response"', returned)
    reason = error[1] if error else "it says nothing of what was asked for"
    return json.dumps({"status": "failure", "aim": aim, "reason": reason})


_ORACLE = Policies(0, 0.0)
