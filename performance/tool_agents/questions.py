"""Questions about a world, each with the calls that answer it and a check of the final answer.

    What is the length of the river of the home of Ada Birch, and what is the mayor of Ombry?

A question has one path or two, which may share their beginning: 2 to 4 different calls.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.records import Task
from performance.tool_agents.world import RELATIONS, Api, World, document

MAX_ANSWER = 600  #: characters; a list of all there is would be right by chance


@dataclass(frozen=True, slots=True)
class Path:
    """From a thing by one relation after the other."""

    start: str
    relations: tuple[str, ...]  #: the first one is followed first

    def write(self) -> str:
        return "".join(f"the {name} of " for name in reversed(self.relations)) + self.start

    def walk(self, world: World) -> list[tuple[str, str, str]]:
        """(relation, thing, what is related) of each call."""
        found, thing = [], self.start
        for name in self.relations:
            found.append((name, thing, world.facts[name, thing]))
            thing = found[-1][2]
        return found


@dataclass(frozen=True, slots=True)
class Question:
    """A task, and what is known of its answer."""

    number: int
    paths: tuple[Path, ...]
    calls: frozenset[tuple[str, str]]  #: (relation, thing): the gold call graph, whose edges are equal names
    answers: tuple[tuple[str, str], ...]  #: last relation and answer of each path
    apis: tuple[Api, ...]  #: offered, in order

    @property
    def text(self) -> str:
        return "What is " + ", and what is ".join(path.write() for path in self.paths) + "?"

    def task(self) -> Task:
        return Task("tool-agents", "", str(self.number), self.text, {"functions": [document(api) for api in self.apis]})

    def is_right(self, answer: str | None, world: World) -> bool:
        """Whether an answer names what is asked for, in the place where it says so, and no rival of it."""
        if answer is None or len(answer) > MAX_ANSWER:
            return False
        told = dict(re.findall(r"(the [^;]*?) is ([^;]*?)(?=;|\.?$)", answer))
        rivals = {name: {fact for (other, _), fact in world.facts.items() if other == name} for name, _ in self.answers}
        for path, (name, right) in zip(self.paths, self.answers, strict=True):
            said = told.get(path.write(), "")
            if {one for one in rivals[name] if re.search(rf"\b{re.escape(one)}\b", said)} != {right}:
                return False
        return True


def make_questions(world: World, seed: int, many: int) -> list[Question]:
    """So many questions of 2 to 4 calls, in equal shares."""
    draw = random.Random(f"questions {seed}")
    return [_question(number, 2 + number % 3, world, draw) for number in range(many)]


def _question(number: int, size: int, world: World, draw: random.Random) -> Question:
    while True:
        paths = tuple(dict.fromkeys(_path(world, draw) for _ in range(draw.choice((1, 1, 2)))))
        walked = [path.walk(world) for path in paths]
        calls = frozenset((name, thing) for one in walked for name, thing, _ in one)
        round_trip = any(len({thing for _, thing, _ in one}) < len(one) for one in walked)
        if len(calls) == size and len({one[-1][:2] for one in walked}) == len(walked) and not round_trip:
            break
    ends = tuple((one[-1][0], one[-1][2]) for one in walked)
    return Question(number, paths, calls, ends, _apis(sorted({name for name, _ in calls}), draw))


def _path(world: World, draw: random.Random) -> Path:
    kind = draw.choice(("book", "person", "town", "club"))
    start, names = draw.choice(world.things[kind]), []
    for _ in range(draw.randint(1, 4)):
        following = [one for one in RELATIONS.values() if one.of == kind]
        if not following:
            break
        one = draw.choice(following)
        names.append(one.name)
        kind = one.gives
    return Path(start, tuple(names))


def _apis(needed: Sequence[str], draw: random.Random) -> tuple[Api, ...]:
    """Both providers of what is needed and of two relations that are not, shuffled."""
    others = draw.sample(sorted(RELATIONS.keys() - set(needed)), 2)
    apis = [(provider, name) for name in (*needed, *others) for provider in RELATIONS[name].providers]
    draw.shuffle(apis)
    return tuple(apis)
