"""Composes a problem from a seed: it selects a plot, clauses and a question, and writes text and program."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from lumos_queue.benchmarks.wordmath.composer.choose import choose_clauses, find_targets, sample_target
from lumos_queue.benchmarks.wordmath.composer.graph import Derivation, Number, QuantityGraph
from lumos_queue.benchmarks.wordmath.composer.plots import PLOTS
from lumos_queue.benchmarks.wordmath.composer.plots.extensions import extend_story
from lumos_queue.benchmarks.wordmath.composer.render import arrange, write
from lumos_queue.benchmarks.wordmath.composer.story import Clause, Story
from lumos_queue.benchmarks.wordmath.program import ProblemBuilder
from lumos_queue.benchmarks.wordmath.scene import Redraw

RETOLD = 0.8  #: probability that a story with fewer questions is dropped
QUESTIONS = 3  #: number of problems in a row that share a story, if it has enough questions


@dataclass(frozen=True, slots=True)
class ComposedProblem:
    """A problem, with the plot, quantities and relations that it is made from."""

    plot: str
    question: str
    program: ProblemBuilder
    graph: QuantityGraph
    stated_quantities: tuple[int, ...]  #: the quantities whose numbers the text states
    target: int  #: the quantity that is asked for
    relations: frozenset[str]  #: the relations and events of the story

    @property
    def numbers(self) -> list[Number]:
        """The numbers that the text states."""
        return [self.graph.value(index) for index in self.stated_quantities]


def compose(seed: str, member: int) -> ComposedProblem:
    """Return a problem of the story that the seed determines. `member`: the index of its question in the story, from 0.

    If the story has too few questions, the problem is from another story.
    """
    problems = _tell_story(seed)
    return problems[member] if member < len(problems) else _tell_story(f"{seed}:{member}")[0]


@lru_cache(maxsize=8)  # callers mostly read the members of a story one after another
def _tell_story(seed: str) -> tuple[ComposedProblem, ...]:
    """Return up to `QUESTIONS` problems of the first story with a problem. They share clauses and words."""
    rng = random.Random(seed)
    while True:
        story = Story(rng)
        plot = rng.choices(list(PLOTS), [weight for _, weight in PLOTS.values()])[0]
        try:
            PLOTS[plot][0](story)
            extend_story(story)
        except Redraw:
            continue
        clauses, derivation = choose_clauses(story)
        solutions = _solve(story, clauses, derivation)
        if not solutions or (len(solutions) < QUESTIONS and rng.random() < RETOLD):
            continue
        states = tuple(state for clause in clauses for state in clause.states)
        problems = []
        for target, program in solutions:
            story.reseed(f"{seed}:words")
            text = write(story, arrange(story, clauses, target), target, random.Random(f"{seed}:{target}"))
            relations = frozenset(story.relations)
            problems.append(ComposedProblem(plot, text, program, story.graph, states, target, relations))
        return tuple(problems)


def _solve(story: Story, clauses: list[Clause], derivation: Derivation) -> list[tuple[int, ProblemBuilder]]:
    """Return up to `QUESTIONS` quantities to ask for, with their programs, in a random order."""
    targets = find_targets(story, clauses, derivation)
    numbers = [story.value(state) for clause in clauses for state in clause.states]
    solutions: list[tuple[int, ProblemBuilder]] = []
    while targets and len(solutions) < QUESTIONS:
        target = sample_target(story, targets)
        targets.remove(target)
        program = ProblemBuilder()
        story.graph.write(target.quantity, derivation, program)
        if program.is_sound() and _is_clear(program, numbers):
            solutions.append((target.quantity, program))
    return solutions


def _is_clear(program: ProblemBuilder, numbers: list[Number]) -> bool:
    """Return whether all computed and stated numbers are different."""
    results = [*program.results, *numbers]
    return len(set(results)) == len(results)
