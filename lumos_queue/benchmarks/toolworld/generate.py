"""Generate a task from a seed and a number: its parts, the offered APIs, their faults, and its gold calls.

Questions, faults and traps have separate random streams. So other dials change the questions of a seed's tasks only if
they change the number of parts or links.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from lumos_queue.actions.tools.answers import envelope
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.actions.tools.world import ANSWERS, FAULTS, LASTING, LOOKALIKES, MAX_FILLER, MISSPELT
from lumos_queue.benchmarks.toolworld.catalogue import (
    COLLECTIONS,
    HELD_OUT_COLLECTION,
    TRAINING_TOOLS,
    ApiName,
    Category,
    Tool,
    describe_tool,
    document,
    misspell,
    tools,
)
from lumos_queue.benchmarks.toolworld.dials import SIZES, TRAIN, Dials
from lumos_queue.errors import SpecError
from lumos_queue.prompts.function_list import FunctionList
from lumos_queue.prompts.tool_agent import format_observation, open_functions, request
from lumos_queue.records import Task
from lumos_queue.text_calls.three_lines import Reply, write_reply

NAME = "toolworld"
FORMAT = (
    'Answer with the number of each part and its value, as in "1: VALUE; 2: unknown", where unknown stands for what '
    "cannot be found."
)
SHAPES = ("I1", "I2", "I3")  #: of ToolBench's subsets: APIs of one tool, of one category, of one collection
Offered = tuple[ApiName, dict[str, Any]]  #: an API, and its facts in the task's world


@dataclass(slots=True)
class _NewLink:
    """A link of a part, a call that the part needs, during generation."""

    of: str
    gives: str
    argument: str
    value: str
    former: str
    target: tuple[str, str]
    offered: list[Offered] = field(default_factory=list)

    def answer_apis(self) -> list[Offered]:
        return [offer for offer in self.offered if offer[0].kind == ANSWERS]

    def as_json(self) -> dict[str, Any]:
        return {
            "of": self.of,
            "gives": self.gives,
            "argument": self.argument,
            "value": self.value,
            "former": self.former,
            "other": list(self.target),
            "apis": [facts for _, facts in self.offered],
        }


def make_tasks(split: str, dials: Dials) -> Iterator[Task]:
    """Yield the tasks of a split, always the same. Raises SpecError at the first task that exceeds the context."""
    for number in range(SIZES[split]):
        yield make_task(split, dials, number)


def make_task(split: str, dials: Dials, number: int) -> Task:
    """Return the task with that number, counted from 0."""
    shape = SHAPES[number % len(SHAPES)] if split == TRAIN else split[:2]
    draw = random.Random(f"toolworld {dials.seed} {number}")
    scope = _Scope(split, shape, draw)
    parts = _draw_parts(scope, dials, draw)
    for link in (link for part in parts for link in part):
        _offer(link, scope, dials, draw)
    broken_links = _add_faults(parts, dials, random.Random(f"toolworld faults {dials.seed} {number}"))
    _set_traps(parts, dials, random.Random(f"toolworld traps {dials.seed} {number}"))
    phrases = [_phrase(part) for part in parts]
    question = (
        f"Find {'; '.join(f'({position}) {phrase}' for position, phrase in enumerate(phrases, start=1))}. {FORMAT}"
    )
    offers = [offer for part in parts for link in part for offer in link.offered]
    draw.shuffle(offers)
    world: dict[str, Any] = {
        "seed": f"{dials.seed} {number}",
        "filler": 0,
        "parts": [[link.as_json() for link in part] for part in parts],
    }
    gold = {
        "parts": [_gold(*arguments) for arguments in zip(phrases, parts, broken_links, strict=True)],
        "relevant": _relevant(parts),
    }
    inputs = {"functions": [_entry(*offer, dials) for offer in offers], "world": world}
    task = Task(NAME, "", f"{split}-{dials.seed}-{number + 1}", question, inputs, gold)
    if dials.context:
        world["filler"] = _filler(task, dials)
    return task


class _Scope:
    """The kinds, attributes and tools that a task may use."""

    def __init__(self, split: str, shape: str, draw: random.Random):
        is_held_out = split.endswith("-cat")
        collections = [
            categories for name, categories in COLLECTIONS.items() if (name == HELD_OUT_COLLECTION) == is_held_out
        ]
        collection = draw.choice(collections)
        category = draw.choice(collection)
        self.categories: Sequence[Category] = collection if shape == "I3" else (category,)
        first, last = (TRAINING_TOOLS, None) if split.endswith("-tool") else (0, TRAINING_TOOLS)
        by_category = {member.name: tools()[member.name][first:last] for member in self.categories}
        if shape == "I1":
            by_category = {category.name: (draw.choice(by_category[category.name]),)}
        self._tools = by_category
        self.kinds = [kind for member in self.categories for kind in member.kinds]
        self._of = {kind: member for member in self.categories for kind in member.kinds}

    def attributes(self, kind: str) -> tuple[str, ...]:
        return self._of[kind].attributes

    def order(self, kind: str, draw: random.Random) -> list[Tool]:
        """Return the tools in the order of use for a kind: one of its category, all of other categories, the rest."""
        own_tools = [*self._tools[self._of[kind].name]]
        draw.shuffle(own_tools)
        other_tools = [
            tool
            for name, category_tools in self._tools.items()
            if name != self._of[kind].name
            for tool in category_tools
        ]
        draw.shuffle(other_tools)
        return [own_tools[0], *other_tools, *own_tools[1:]]


def _draw_parts(scope: _Scope, dials: Dials, draw: random.Random) -> list[list[_NewLink]]:
    """Sample a chain of links for each part. No two links of a task have the same pair of kinds."""
    lowest = 10 ** (dials.digits - 1)
    numbers = iter(draw.sample(range(lowest, 10 * lowest), 64))  # all differ, so that a number identifies its thing
    used_steps: set[tuple[str, str]] = set()
    parts = []
    for _ in range(draw.randint(*dials.parts)):
        size = draw.randint(*dials.links)
        while True:
            kinds = draw.sample(scope.kinds, size)
            steps = [*pairwise(kinds), (kinds[-1], draw.choice(scope.attributes(kinds[-1])))]
            if not used_steps & set(steps):
                break
        used_steps |= set(steps)
        part: list[_NewLink] = []
        argument = _name(kinds[0], next(numbers), scope)
        for of, gives in steps:
            value, former, other_value = (_name(gives, next(numbers), scope) for _ in range(3))
            part.append(_NewLink(of, gives, argument, value, former, (_name(of, next(numbers), scope), other_value)))
            argument = value
        parts.append(part)
    return parts


def _name(kind: str, number: int, scope: _Scope) -> str:
    """Return the value with this number: for a kind of thing an id, `SH-48213`; for an attribute only the number."""
    return f"{kind[:2].upper()}-{number}" if kind in scope.kinds else str(number)


def _offer(link: _NewLink, scope: _Scope, dials: Dials, draw: random.Random) -> None:
    """Choose the APIs that answer the link, and its look-alikes. Each has another style of name."""
    order, styles = scope.order(link.of, draw), set[int]()
    for index, kind in enumerate((*[ANSWERS] * dials.apis, *LOOKALIKES[: dials.lookalikes])):
        tool = order[index % len(order)]
        style = next(
            number for number in tool.styles if number not in styles
        )  # there are more styles than APIs of a link
        styles.add(style)
        api = ApiName(tool, kind, link.of, link.gives, style)
        link.offered.append((api, {"tool": tool.name, "api": api.name, "kind": kind}))


def _add_faults(parts: Sequence[Sequence[_NewLink]], dials: Dials, draw: random.Random) -> list[int | None]:
    """Add faults to APIs. Return for each part the index of the link that no API answers, or None."""
    broken_links: list[int | None] = []
    for part in parts:
        for link in part:
            hit, index, fault = draw.random(), draw.randrange(dials.apis), draw.choice(FAULTS)
            if hit < dials.faults:
                link.answer_apis()[index][1]["fault"] = fault
        unsolvable, index = draw.random() < dials.unsolvable, draw.randrange(len(part))
        for _, facts in part[index].answer_apis():
            lasting_fault = draw.choice(LASTING)
            if unsolvable:
                facts["fault"] = lasting_fault
        broken_links.append(index if unsolvable else None)
    return broken_links


def _set_traps(parts: Sequence[Sequence[_NewLink]], dials: Dials, draw: random.Random) -> None:
    for api, facts in (offer for part in parts for link in part for offer in link.offered):
        if api.kind != ANSWERS and draw.random() < dials.traps:
            facts["locks"] = True


def _entry(api: ApiName, facts: dict[str, Any], dials: Dials) -> dict[str, Any]:
    """Return the API's document. If its fault is a misspelt parameter, add the right name to `facts`."""
    entry: dict[str, Any] = dict(document(api))
    if facts.get("fault") == MISSPELT:
        entry, facts["parameter"] = misspell(entry, api.of, api.style)
    return entry | {"tool_description": describe_tool(api.tool)} if dials.descriptions else entry


def _phrase(part: Sequence[_NewLink]) -> str:
    names = "".join(f"the {link.gives} of " for link in reversed(part))
    return f"{names}the {part[0].of} {part[0].argument}"


def _gold(phrase: str, part: Sequence[_NewLink], broken_link: int | None) -> dict[str, Any]:
    """Return the gold of a part: its answer, or None without an answer, and the calls that lead to it, in order."""
    calls = [
        {
            "apis": [[api.tool.name, api.name] for api, _ in link.answer_apis()],
            "argument": link.argument,
            "value": link.value,
        }
        for link in part[:broken_link]
    ]
    return {"asked": phrase, "answer": part[-1].value if broken_link is None else None, "calls": calls}


def _relevant(parts: Sequence[Sequence[_NewLink]]) -> list[list[str]]:
    return [[api.tool.name, api.name] for part in parts for link in part for api, _ in link.answer_apis()]


def _filler(task: Task, dials: Dials) -> int:
    """Return the number of extra characters of each API's answer that make the gold transcript `ratio` contexts long.

    The transcript is the request with its functions, the gold calls, and their answers. Raises SpecError if the request
    exceeds the context.
    """
    prompt = request(task, FunctionList(open_functions(task), dials.descriptions))
    if len(prompt) > dials.context:
        raise SpecError(
            f"--option context={dials.context} is too small for the request of task {task.row}, which has "
            f"{len(prompt):,} characters with its tools: expected a larger context, or fewer parts, links and APIs."
        )
    names = {(function.tool, function.api): function.name for function in functions_of_task(task).values()}
    links = {link["argument"]: link for part in task.inputs["world"]["parts"] for link in part}
    calls = [call for part in task.gold["parts"] for call in part["calls"]]
    size = len(prompt)
    for call in calls:
        link = links[call["argument"]]
        arguments = json.dumps({f"{link['of']}_id": link["argument"]})
        reply = write_reply(Reply("", names[tuple(call["apis"][0])], arguments))
        body = envelope("", {link["of"]: link["argument"], link["gives"]: link["value"], "remarks": ""})
        size += len(reply) + len(format_observation(body))
    missing_characters = int(dials.ratio * dials.context) - size
    return min(MAX_FILLER, max(0, missing_characters // max(1, len(calls))))
