"""From a seed to a composed problem: a plot, what it tells, what it asks, the text and the program."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from lumos_queue.benchmarks.wordmath.composer.choose import choose_clauses, draw_target, find_targets
from lumos_queue.benchmarks.wordmath.composer.graph import Derivation, Number, QuantityGraph
from lumos_queue.benchmarks.wordmath.composer.plots import PLOTS
from lumos_queue.benchmarks.wordmath.composer.plots.extensions import go_on
from lumos_queue.benchmarks.wordmath.composer.render import arrange, write
from lumos_queue.benchmarks.wordmath.composer.story import Clause, Story
from lumos_queue.benchmarks.wordmath.program import ProblemBuilder
from lumos_queue.benchmarks.wordmath.scene import Redraw

RETOLD = 0.8  #: how often a story with fewer questions is dropped
QUESTIONS = 3  #: so many problems in a row share one story, where it has so many questions


@dataclass(frozen=True, slots=True)
class ComposedProblem:
    """A problem and what it was made from."""

    plot: str
    question: str
    program: ProblemBuilder
    graph: QuantityGraph
    told: tuple[int, ...]  #: the quantities whose numbers are told
    target: int  #: the quantity that is asked for
    relations: frozenset[str]  #: the relations and events of the story

    @property
    def numbers(self) -> list[Number]:
        """The numbers that are told."""
        return [self.graph.value(index) for index in self.told]


def compose(seed: str, member: int) -> ComposedProblem:
    """A problem of the story that the seed stands for; each of its `QUESTIONS` members asks something else.

    Where the story has fewer questions, the member is a problem of another story.
    """
    problems = _tell_story(seed)
    return problems[member] if member < len(problems) else _tell_story(f"{seed}:{member}")[0]


@lru_cache(maxsize=8)  # the members of a story are mostly asked for one after another
def _tell_story(seed: str) -> tuple[ComposedProblem, ...]:
    """The problems of the first story that has any, at most `QUESTIONS`; they tell the same in the same words."""
    rng = random.Random(seed)
    while True:
        story = Story(rng)
        plot = rng.choices(list(PLOTS), [weight for _, weight in PLOTS.values()])[0]
        try:
            PLOTS[plot][0](story)
            go_on(story)
        except Redraw:
            continue
        told, found = choose_clauses(story)
        solved = _solve(story, told, found)
        if not solved or (len(solved) < QUESTIONS and rng.random() < RETOLD):
            continue
        states = tuple(state for clause in told for state in clause.states)
        problems = []
        for target, program in solved:
            story.reseed(f"{seed}:words")
            text = write(story, arrange(story, told, target), target, random.Random(f"{seed}:{target}"))
            relations = frozenset(story.relations)
            problems.append(ComposedProblem(plot, text, program, story.graph, states, target, relations))
        return tuple(problems)


def _solve(story: Story, told: list[Clause], found: Derivation) -> list[tuple[int, ProblemBuilder]]:
    """Up to `QUESTIONS` quantities to ask for, with the programs for them, in a random order."""
    targets = find_targets(story, told, found)
    numbers = [story.value(state) for clause in told for state in clause.states]
    solved: list[tuple[int, ProblemBuilder]] = []
    while targets and len(solved) < QUESTIONS:
        target = draw_target(story, targets)
        targets.remove(target)
        program = ProblemBuilder()
        story.graph.write(target.quantity, found, program)
        if program.is_sound() and _is_clear(program, numbers):
            solved.append((target.quantity, program))
    return solved


def _is_clear(program: ProblemBuilder, numbers: list[Number]) -> bool:
    """Whether no computed number could be taken for a told one."""
    results = [*program.results, *numbers]
    return len(set(results)) == len(results)
