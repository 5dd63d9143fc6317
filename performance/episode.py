"""An episode as the bare loop and the peers run it: the same prompts as this project sends, byte for byte, and no more.

Nothing of the project is imported, so that nothing of it is measured twice; tests compare the prompts.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from performance.questions import KEEP, STOP

PLAN_HEAD = "Please provide a reasonable subgoal-based plan to solve the given task.\n"
GROUND_HEAD = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. "
    "The grounded actions must be the one in available action list.\n\n"
    "The available action list is 'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', 'Code', "
    "and 'Define'.\n"
    "Calculator(formula): Calculate the input formula; SetEquation(equation): Set up an equation to be solved; "
    "SolveEquation(equation): Solve the previous set equation; "
    "Count(list): Count the number of elements in the given list; "
    "SolveInequality(inequality): Solve the previous set inequality; "
    "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code; "
    "Define(variable/number): Define a variable or a number for latter usage.\n\n"
)
_ADDITION = re.compile(r"(R\d+) = Calculator\((\w+) \+ (\w+)\)")

#: Yields (role, what the user says), is sent the reply, returns the answer.
Turns = Generator[tuple[str, str], str, str]


def turns(text: str) -> Turns:
    """The maths episode about the question `text`. Raises ValueError for an action that cannot be read."""
    values: dict[str, int] = {}
    message = f"{PLAN_HEAD}Task: {text}; Initial Environment Description: None."
    head = f"{GROUND_HEAD}Task: {text} \n"
    number = 1
    while True:
        plan = yield "planner", message
        if STOP in plan:
            return str(values[f"R{number - 1}"])
        reply = yield "grounder", f"{head}Subgoal to be grounded: {plan.removeprefix(KEEP)}"
        match = _ADDITION.fullmatch(reply)
        if match is None:
            raise ValueError(f"no addition: {reply!r}")
        name, *terms = match.groups()
        values[name] = sum(values[term] if term in values else int(term) for term in terms)
        message = f"The executed result for Subgoal {number} is {values[name]}. Should we stop planning?"
        head, number = "", number + 1


def prompts(text: str, steps: list[tuple[str, str, str]]) -> Generator[str, str, str]:
    """The same episode as raw prompts. Each step (role, what the user said, reply) is added to `steps`."""
    talks = {"planner": "", "grounder": ""}
    episode = turns(text)
    role, message = next(episode)
    while True:
        talks[role] += f"<|user|>\n{message}\n<|assistant|>\n"
        reply = yield talks[role]
        talks[role] += f"{reply}</s>\n"
        steps.append((role, message, reply))
        try:
            role, message = episode.send(reply)
        except StopIteration as stop:
            return stop.value


def request(prompt: str) -> dict:
    """The body of POST /generate: what this project sends too."""
    parameters = {"max_new_tokens": 512, "details": True, "stop": ["\n"], "do_sample": False}
    return {"inputs": prompt, "parameters": parameters}
