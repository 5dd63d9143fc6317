"""From a seed to a composed problem: a plot, what it tells, what it asks, the text and the program."""

from __future__ import annotations

import random
from dataclasses import dataclass

from lumos_queue.benchmarks.wordmath.composer.choose import Target, choose_clauses, draw_target, find_targets
from lumos_queue.benchmarks.wordmath.composer.graph import Number
from lumos_queue.benchmarks.wordmath.composer.plots import PLOTS, extend
from lumos_queue.benchmarks.wordmath.composer.render import arrange, write
from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.program import ProblemBuilder
from lumos_queue.benchmarks.wordmath.scene import Redraw

QUESTIONS = 3  #: so many problems in a row share one story, where it has so many questions


@dataclass(frozen=True, slots=True)
class ComposedProblem:
    """A problem and what it was made from."""

    plot: str
    question: str
    program: ProblemBuilder
    answer: Number  #: the asked quantity's value as the story was built, not as the program computes it
    numbers: tuple[Number, ...]  #: what is told, in no order
    relations: frozenset[str]


def compose(seed: str, member: int) -> ComposedProblem:
    """A problem of the story that the seed stands for; each of its `QUESTIONS` members asks something else.

    Where the story has fewer questions, the member is a problem of another story.
    """
    problem = _member(random.Random(seed), member, random.Random(f"{seed}:{member}"))
    own = random.Random(f"{seed}:{member}:own")
    while problem is None:
        problem = _member(own, 0, own)
    return problem


def _member(rng: random.Random, member: int, wording: random.Random) -> ComposedProblem | None:
    """The member of the first story that has any question; None when that story has too few."""
    while True:
        story = Story(rng)
        plot = rng.choices(list(PLOTS), [weight for _, weight in PLOTS.values()])[0]
        try:
            PLOTS[plot][0](story)
            extend(story)
            told, found = choose_clauses(story)
        except Redraw:
            continue
        targets = find_targets(story, told, found)
        if not targets:
            continue
        chosen: list[Target] = []
        while targets and len(chosen) < QUESTIONS:
            chosen.append(draw_target(story, targets))
            targets.remove(chosen[-1])
        if len(chosen) <= member:
            return None
        target = chosen[member].quantity
        program = story.scene.program
        story.graph.write(target, found, program)
        numbers = tuple(story.value(state) for clause in told for state in clause.states)
        if not program.is_sound() or not _is_clear(program, numbers):
            if member:
                return None
            continue
        text = write(story, arrange(story, told, target), target, wording)
        return ComposedProblem(plot, text, program, story.value(target), numbers, frozenset(story.relations))


def _is_clear(program: ProblemBuilder, numbers: tuple[Number, ...]) -> bool:
    """Whether no computed number could be taken for a told one."""
    results = [*program.results, *numbers]
    return len(set(results)) == len(results)
