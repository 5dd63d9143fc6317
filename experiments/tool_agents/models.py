"""Scripted models, one function of the prompt for each role: they reason well, and err in a share of their decisions.

An error is another function, Finish among them, or another argument; of a state manager, the opposite verdict. It
follows from the prompt: the same prompt gives the same reply.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from experiments.tool_agents.reading import LIMITED, ListedFunction, View, value_in
from lumos_queue.prompts.tool_agent import PLANNER, POLICY, ROUTER, SOLVER, STATE_MANAGER, SYSTEM

MAX_TRIES = 4  #: of a call that a rate limit refuses
ROLES = ("policy", "router", "state_manager", "planner", "solver")
_HEADS = {"policy": POLICY, "router": ROUTER, "state_manager": STATE_MANAGER, "planner": PLANNER, "solver": SOLVER}


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that is wanted."""

    function: ListedFunction
    argument: str


def choose(view: View) -> Wish | None:
    """The next call for the first thing that is not known; None where nothing is left to be tried."""
    for path in view.paths:
        thing, relation = view.follow(path)
        if relation is None:
            continue
        refusals: list[tuple[int, Wish]] = []
        for function in view.functions:
            if function.relation != relation:
                continue
            calls = [call for call in view.seen if (call.function, call.argument) == (function.name, thing)]
            if not calls:
                return Wish(function, thing)
            off = any((call.function, call.argument) == (function.name, thing) for call in view.tried_here)
            if all(LIMITED in call.message for call in calls) and len(calls) < MAX_TRIES and not off:
                refusals.append((len(calls), Wish(function, thing)))
        if refusals:  # better another provider; else once more
            return min(refusals, key=lambda pair: pair[0])[1]
    return None


def answer_of(view: View) -> tuple[str, bool]:
    """What is known of what is asked for, and whether that is all of it."""
    ends = [(path, *view.follow(path)) for path in view.paths]
    facts = [
        f"the {path.write().removeprefix('the ')} is {thing}" for path, thing, relation in ends if relation is None
    ]
    return "; ".join(facts), bool(ends) and len(facts) == len(ends)


class Models:
    """The replies of all roles.

    `noise`: the share of errors of the roles that decide; `manager_noise`: that of the state manager.
    """

    def __init__(self, seed: int, noise: float, manager_noise: float = 0.0):
        self._seed, self._noise, self._manager_noise = seed, noise, manager_noise

    def reply(self, prompt: str) -> str:
        """The reply of the role whose instruction the prompt begins with: as a server has it that hosts them all."""
        role = next((role for role, head in _HEADS.items() if prompt.startswith(SYSTEM + head)), "policy")
        return self.of(role)(prompt)

    def of(self, role: str) -> Callable[[str], str]:
        decide = {"planner": self._plan, "solver": self._solve, "state_manager": self._record}.get(role, self._decide)
        return lambda prompt: decide(prompt, random.Random(f"{self._seed} {role} {prompt}"))

    def _decide(self, prompt: str, draw: random.Random) -> str:
        """Return the reply of a policy or a router."""
        view = View(prompt)
        thought = "Thought: What is still missing can be looked up.\n" if draw.random() < 0.5 else ""
        if not view.paths or not view.functions:
            return "Thought: The request or the functions are not in sight."
        wish, (answer, whole) = choose(view), answer_of(view)
        if draw.random() < self._noise:
            wish = _mistaken(wish, view, draw)
            whole = whole or wish is None  # a mistaken Finish answers with what is known
        elif whole:
            wish = None
        if wish is not None:
            arguments = json.dumps({wish.function.parameter: wish.argument})
            return f"{thought}Action: {wish.function.name}\nAction Input: {arguments}"
        finish_arguments = (
            {"return_type": "give_answer", "final_answer": f"{answer}."}
            if whole
            else {"return_type": "give_up_and_restart"}
        )
        return f"{thought}Action: Finish\nAction Input: {json.dumps(finish_arguments)}"

    def _plan(self, prompt: str, draw: random.Random) -> str:
        view, numbers, lines = View(prompt), dict[tuple[str, str], str](), []
        for path in view.paths:
            thing = path.start
            for relation in path.relations:
                if (relation, thing) not in numbers:
                    wish = Wish(next(function for function in view.functions if function.relation == relation), thing)
                    if draw.random() < self._noise:
                        wish = _mistaken(wish, view, draw) or wish
                    number = numbers[relation, thing] = f"#E{len(numbers) + 1}"
                    arguments = json.dumps({wish.function.parameter: wish.argument})
                    lines.append(f"Plan: find the {relation}\n{number} = {wish.function.name} {arguments}")
                thing = f"{numbers[relation, thing]}.{relation}"
        return "\n".join(lines)

    def _solve(self, prompt: str, draw: random.Random) -> str:
        answer, whole = answer_of(View(prompt))
        return f"{answer}." if whole else f"I could not find everything. {answer}"

    def _record(self, prompt: str, draw: random.Random) -> str:
        """A success, where the returned text says what the function is for."""
        call = prompt.rpartition("\nCall: ")[2].split("\n", 1)[0]
        relation, returned_text = call.partition("_for_")[0], prompt.rpartition("\nReturned: ")[2]
        returned_text = returned_text.partition("\n<|assistant|>")[0]
        fact = value_in(returned_text, relation)
        success = (fact is not None) != (draw.random() < self._manager_noise)
        if success:
            answer = f"{relation}: {fact}" if fact else returned_text[:200].replace('"', "'")
            return json.dumps({"status": "success", "aim": f"find the {relation}", "answer": answer})
        is_limited = LIMITED in returned_text
        reason = f"{LIMITED}: try another function" if is_limited else "it says nothing of what was asked for"
        return json.dumps({"status": "failure", "aim": f"find the {relation}", "reason": reason})


def _mistaken(wish: Wish | None, view: View, draw: random.Random) -> Wish | None:
    """Another call than the one that is wanted; None: Finish."""
    argument = wish.argument if wish else view.paths[0].start
    if wish is not None and draw.random() < 0.5:
        candidates = {*view.facts.values(), *(path.start for path in view.paths)} - {argument}
        wrong = draw.choice(sorted(candidates)) if candidates else argument[:-1]
        return Wish(wish.function, wrong)
    choices = [None, *(function for function in view.functions if wish is None or function != wish.function)]
    function = draw.choice(choices)
    return None if function is None else Wish(function, argument)
