"""Questions about a world, each with the calls that answer it and a check of the final answer.

    What is the length of the river of the home of Ada Birch, and what is the mayor of Ombry?

A question has one path or two, which may share their beginning: 2 to 4 different calls.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.tool_agents.world import RELATIONS, Api, World, document
from lumos_queue.records import Task

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
        steps, thing = [], self.start
        for name in self.relations:
            steps.append((name, thing, world.facts[name, thing]))
            thing = steps[-1][2]
        return steps


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
        statements = dict(re.findall(r"(the [^;]*?) is ([^;]*?)(?=;|\.?$)", answer))
        rivals = {
            name: {fact for (relation, _), fact in world.facts.items() if relation == name} for name, _ in self.answers
        }
        for path, (name, right) in zip(self.paths, self.answers, strict=True):
            statement = statements.get(path.write(), "")
            if {fact for fact in rivals[name] if re.search(rf"\b{re.escape(fact)}\b", statement)} != {right}:
                return False
        return True


def make_questions(world: World, seed: int, many: int) -> list[Question]:
    """So many questions of 2 to 4 calls, in equal shares."""
    draw = random.Random(f"questions {seed}")
    return [_question(number, 2 + number % 3, world, draw) for number in range(many)]


def _question(number: int, size: int, world: World, draw: random.Random) -> Question:
    while True:
        paths = tuple(dict.fromkeys(_path(world, draw) for _ in range(draw.choice((1, 1, 2)))))
        walks = [path.walk(world) for path in paths]
        calls = frozenset((name, thing) for walk in walks for name, thing, _ in walk)
        round_trip = any(len({thing for _, thing, _ in walk}) < len(walk) for walk in walks)
        if len(calls) == size and len({walk[-1][:2] for walk in walks}) == len(walks) and not round_trip:
            break
    ends = tuple((walk[-1][0], walk[-1][2]) for walk in walks)
    return Question(number, paths, calls, ends, _apis(sorted({name for name, _ in calls}), draw))


def _path(world: World, draw: random.Random) -> Path:
    kind = draw.choice(("book", "person", "town", "club"))
    start, names = draw.choice(world.things[kind]), []
    for _ in range(draw.randint(1, 4)):
        successors = [relation for relation in RELATIONS.values() if relation.of == kind]
        if not successors:
            break
        relation = draw.choice(successors)
        names.append(relation.name)
        kind = relation.gives
    return Path(start, tuple(names))


def _apis(required_names: Sequence[str], draw: random.Random) -> tuple[Api, ...]:
    """Both providers of what is needed and of two relations that are not, shuffled."""
    extra_names = draw.sample(sorted(RELATIONS.keys() - set(required_names)), 2)
    apis = [(provider, name) for name in (*required_names, *extra_names) for provider in RELATIONS[name].providers]
    draw.shuffle(apis)
    return tuple(apis)
