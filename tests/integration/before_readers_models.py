"""Scripted models that reply as instruct and reasoning models do. A reply depends on the prompt alone.

Every task has a number, which decides how the replies to its prompts are dressed up: with a reasoning block in front,
with blank lines, with mark-up, over several lines. The stored expectations of `test_before_readers.py` depend on each
character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache

from lumos_queue.benchmarks.openagi.splits import tasks_of
from tests.scripted_models import STOP
from tests.tool_apis import LATEST_NAME, OFFICES_NAME
from tests.tool_judges import label
from tests.tool_scripts import call, finish, give_up

Dress = Callable[[str], str]
#: Words in front of the number of a task, in prompts of every benchmark.
_NUMBER = re.compile(r"(?:Crate|parcel P|parcelid\": \"P|mill|Ann|Buy) ?(\d+)")
_LABEL = re.compile(r"(Thought|Action Input|Action|Plan|Label|Step \d+|Subgoal \d+):")
OBJECTIVE = "Objective: Given "  #: in front of the request of an openagi task
_TURN = "<|assistant|>\n"


def think(text: str) -> str:
    draft = call(LATEST_NAME, "A draft.")
    return f"<think>\nFirst a draft.\n{draft}\n#E1 = {LATEST_NAME} {{}}\nLabel: Unsure\n</think>\n\n{text}"


def think_on_the_line(text: str) -> str:
    return f"<think>The answer is 1. Subgoal 1: Guess. Actions: R1 = Calculator(1 + 1)</think>{text}"


def add_end_token(text: str) -> str:
    return f"{text}<|im_end|>\n<|im_start|>user\nThank you."


def make_bold(text: str) -> str:
    return re.sub(r"\b(\d+)$", r"**\1**", _LABEL.sub(r"**\1:**", text))


def replace_labels(text: str) -> str:
    text = text.replace("Action Input:", "Action_Input:").replace("The answer is", "Answer:")
    return re.sub(r"^(\d+)$", r"So it is \\boxed{\1}", text)


def add_lines(text: str) -> str:
    return f"Here is what I would do next:\n\n{text}\n\nI hope that this helps."


def add_blank_lines(text: str) -> str:
    return f"\n\n{text}"


def add_fence(text: str) -> str:
    objects = re.sub(r"(\{.*\})", r"```json\n\1\n```", text)
    return objects if objects != text else f"```\n{text}\n```"


DRESSES: tuple[Dress, ...] = (
    str,
    add_fence,
    think,
    add_end_token,
    make_bold,
    think_on_the_line,
    replace_labels,
    add_lines,
    add_blank_lines,
)


def find_number(prompt: str) -> int | None:
    """Return the number of the task of a prompt, or None if the prompt has no number."""
    if OBJECTIVE in prompt:
        return next((index for index, name in enumerate(_plans()) if f"Objective: {name}" in prompt), None)
    numbers = _NUMBER.findall(prompt)
    return int(numbers[-1]) if numbers else None


class Model:
    """All roles of a job.

    `shift`: the index of the dress of the first task. `at_once`: whether a planner writes whole plans, and a solver
    only the answer.
    """

    def __init__(self, shift: int = 0, at_once: bool = False):
        self._shift, self._at_once = shift, at_once

    def __call__(self, prompt: str) -> str:
        number = find_number(prompt)
        if number is None:
            return self._plain(prompt, 0)
        plain = self._plain(prompt, number)
        if plain.startswith("No, I will keep planning. Subgoal 2:") and number in (2, 6):
            return f"{STOP} {plain}" if number == 2 else "No, I will keep planning. Subgoal 2:"
        dress = DRESSES[(number + self._shift) % len(DRESSES)]
        # An episode of these formulations ends at an empty reply, so its first reply is not empty.
        is_first_plan = plain.startswith("Subgoal 1:") and "Please convert" not in prompt
        return plain if dress is add_blank_lines and is_first_plan else dress(plain)

    def _plain(self, prompt: str, number: int) -> str:
        if "Please describe this image" in prompt:
            return "<think>Which animal is it?</think>**An animal** sits on a mat.<|im_end|>\nIt is grey."
        if "Please convert natural language plans" in prompt:
            return _annotation(number)
        if "Please judge whether" in prompt:
            return "CORRECT"
        if "Please answer the" in prompt:
            return f"Answer: Ann {number}" if "Who built" in prompt else f"Answer: Town {number}"
        if OBJECTIVE in prompt:
            return [*_plans().values()][number]
        if "Could the request be solved" in prompt or "as far as these two texts tell?" in prompt:
            return label("Solved" if number % 2 else "Unsure")
        if "in view of what the calls returned?" in prompt:
            return label("Unsolved")
        if "parcel P" in prompt:
            return _parcels(prompt, number)
        return self._lumos(prompt, number)

    def _lumos(self, prompt: str, number: int) -> str:
        """Planner, grounder and solver of LUMOS."""
        grounds = "Please ground" in prompt
        talk = prompt.rpartition("Please ground the given" if grounds else "Please provide a reasonable")[2]
        turn = talk.removesuffix(_TURN).count(_TURN) + 1
        subgoals, actions = _steps(prompt, number)
        if grounds:
            return "; ".join(actions) if "Subgoals to be grounded" in talk else actions[min(turn, len(actions)) - 1]
        if "Please provide a reasonable" not in prompt:
            product = 4 * (number + 3)
            return f"{product - 2}" if self._at_once else f"There are {product}, less 2. The answer is {product - 2}"
        if self._at_once:
            return "; ".join(f"Subgoal {index}: {subgoal}" for index, subgoal in enumerate(subgoals, start=1))
        if turn > len(subgoals):
            return STOP
        does = f" Actions: {actions[turn - 1]}" if "The available action list" in talk else ""
        keeps = "No, I will keep planning. " if turn > 1 else ""
        return f"{keeps}Subgoal {turn}: {subgoals[turn - 1]}{does}"


def _steps(prompt: str, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Subgoals and their actions."""
    if "red hats" in prompt:
        return ("Click the link Hats.", "Type red into the search box Colour.", "Select the size M."), (
            "R1 = CLICK(Env, QUERY: Click the link Hats)",
            "R2 = TYPE(R1, QUERY: Type red into the search box Colour, TEXT: red)",
            "R3 = SELECT(R2, QUERY: Select the size, TEXT: M)",
        )
    if "mill" in prompt:
        return ("Find the builder.", "Find the builder's birthplace."), (
            f"R1 = QA([], Question: Who built mill {number}?)",
            "R2 = QA([R1], Question: Where was R1 born?)",
        )
    return ("Multiply the boxes by the pens.", "Take the lost pens away."), (
        f"R1 = Calculator({number + 3} * 4)",
        "R2 = Calculator(R1 - 2)",
    )


def _annotation(number: int) -> str:
    product = 4 * (number + 3)
    return (
        f"Subgoal 1: Multiply the boxes by the pens.\nAction 1-1: R1 = Calculator({number + 3} * 4) = {product}\n\n"
        f"Subgoal 2: Take the lost pens away.\nAction 2-1: R2 = Calculator(R1 - 2) = {product - 2}"
    )


def _parcels(prompt: str, number: int) -> str:
    """All roles of tool agents."""
    lookup, offices = {"parcelid": f"P{number}"}, {"town": "Ombry"}
    answer = f"P{number} is in Ombry."
    if "#E1 = function_name" in prompt:
        return (
            f"Plan: look the parcel up\n#E1 = {LATEST_NAME} {json.dumps(lookup)}\n"
            f'Plan: find the offices\n#E2 = {OFFICES_NAME} {{"town": "#E1.town"}}'
        )
    if "You plan how" in prompt:
        return "1. Look the parcel up\n2. Tell where it is"
    if "from what each of its calls returned" in prompt:
        return answer
    if "You record what a call contributed" in prompt:
        return json.dumps({"status": "success", "aim": "look it up", "answer": "Ombry"})
    if "You are shown what has been found so far" in prompt:
        return call(LATEST_NAME, "It is unknown.", **lookup) if "Results:\nnone" in prompt else finish(answer, "Found.")
    talk = prompt.rpartition("Now do line")[2]
    if "This is not the first try" in talk:
        return finish(answer, "Otherwise, then.")
    match talk.count("Observation: "):
        case 0:
            return call(LATEST_NAME, "It is unknown.", **lookup)
        case 1:
            return call(OFFICES_NAME, "The office is unknown.", **offices)
    return give_up("It is lost.") if number % 3 == 0 else finish(answer, "All is known.")


@cache
def _plans() -> dict[str, str]:
    """Return the description of each labelled task of openagi, with its plan as a planner writes it."""
    plans = {}
    for spec in tasks_of("labelled"):
        names = [*spec.plan.tail] if spec.plan.branches else [*spec.plan.names]
        for channel, branch in reversed(list(zip(spec.channels, spec.plan.branches, strict=False))):
            names[:0] = [f"{name} on the {channel.slot.name}" for name in branch]
        plans[spec.description] = "".join(f"Step {index}: {name},\n" for index, name in enumerate(names, start=1))
    return plans
