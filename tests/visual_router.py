"""Scripted models for sum2act_visual: they know its four requests, read what calls returned, and look at no picture.

For tests: each reply is a function of the prompt alone, so that the same router serves every formulation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from lumos_queue.benchmarks.openagi.data.animals import COLOURS
from lumos_queue.benchmarks.openagi.rules.pictures import find_named_things
from lumos_queue.benchmarks.sum2act_visual.cases import DRAW, EDIT, PAINT, RESTYLE, VQA
from tests.tool_scripts import call, finish

Call = tuple[str, dict[str, Any]]
_IMAGE = re.compile(r"image:[0-9a-f]{12}")
_QUESTION = "What colour is the cat?"


def decide(request: str, observation: str) -> Call | None:
    """Return the next call; None when nothing is missing. `observation`: the outputs of the calls so far."""
    inputs = _IMAGE.findall(request)
    outputs = [image for image in _IMAGE.findall(observation) if image not in inputs]
    if request.startswith("Along the outlines"):
        return None if outputs else (PAINT, {"image": inputs[0], "text": request.partition("a picture of ")[2]})
    if request.startswith("What colour"):
        answer = next((word for word in re.findall("[a-z]+", observation) if word in COLOURS), "")
        if not answer:
            return VQA, {"image": inputs[0], "question": _QUESTION}
        return None if outputs else (EDIT, {"image": inputs[1], "instruction": f"make the dog {answer}"})
    if request.startswith("Take a picture"):
        if not outputs:
            return "take_picture", {}
        return (
            None if len(set(outputs)) > 1 else (RESTYLE, {"image": outputs[0], "text": request.partition("to me ")[2]})
        )
    title = request.removeprefix("Find the recipe of ").partition(", and")[0]
    recipe = re.search(rf'"title": "{title}", "text": "([^"]*)"', observation.replace('\\"', '"'))
    if not recipe:
        return "search", {"query": title}
    names = [name for name, _ in find_named_things(recipe[1].lower())]
    return None if outputs else (DRAW, {"text": " and ".join(f"a {name}" for name in dict.fromkeys(names))})


Decide = Callable[[str, str], Call | None]


def make_router(choose: Decide = decide) -> Callable[[str], str | None]:
    """Router, state manager, policy, planner and solver in one, by what the prompt asks."""

    def reply(prompt: str) -> str | None:
        if "Request: " not in prompt:  # a client's control
            return None
        request, _, observation = prompt.rpartition("Request: ")[2].partition("\n")
        if "You record what" in prompt:
            return record(prompt)
        if "You plan how" in prompt:
            return write_plan(request)
        if "and from what each of its calls returned" in prompt:
            return f"Here it is: {_IMAGE.findall(observation)[-1]}"
        next_call = choose(request, observation)
        if next_call is None:
            return finish(f"Here it is: {_IMAGE.findall(observation)[-1]}", "nothing is missing")
        return call(next_call[0], "this is next", **next_call[1])

    return reply


def record(prompt: str) -> str:
    """A state manager that copies the outputs."""
    try:
        answer = json.loads(prompt.partition("Returned: ")[2].partition("\n<|")[0].strip().splitlines()[0])
    except ValueError:
        return '{"status": "failure", "reason": "it cannot be read"}'
    if answer["error"]:
        return json.dumps({"status": "failure", "reason": answer["error"]})
    return json.dumps({"status": "success", "answer": json.dumps(answer["response"])})


def write_plan(request: str) -> str:
    """Write all calls at once, with references to the outputs of earlier calls."""
    images = _IMAGE.findall(request)
    if request.startswith("Along the outlines"):
        plan = [decide(request, "")]
    elif request.startswith("What colour"):
        edit = EDIT, {"image": images[1], "instruction": "make the dog #E1"}
        plan = [(VQA, {"image": images[0], "question": _QUESTION}), edit]
    elif request.startswith("Take a picture"):
        plan = [("take_picture", {}), (RESTYLE, {"image": "#E1", "text": request.partition("to me ")[2]})]
    else:
        plan = [decide(request, ""), (DRAW, {"text": "#E1[0].text"})]
    lines = [f"Plan: next\n#E{n} = {call[0]} {json.dumps(call[1])}" for n, call in enumerate(plan, start=1) if call]
    return "\n".join(lines)


# --- routers that go wrong


def guess_colour(request: str, observation: str) -> Call | None:
    """Recolours the dog without asking: pink, which is right of the first task."""
    if request.startswith("What colour"):
        edit = EDIT, {"image": _IMAGE.findall(request)[1], "instruction": "make the dog pink"}
        return None if _IMAGE.findall(observation) else edit
    return decide(request, observation)


def recolour_cat(request: str, observation: str) -> Call | None:
    """Asks, and then changes the other picture."""
    call = decide(request, observation)
    if call and call[0] == EDIT:
        return EDIT, call[1] | {"image": _IMAGE.findall(request)[0]}
    return call
