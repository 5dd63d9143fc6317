"""Selects the clauses of a problem, none of which follows from the others, and the quantity that it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.benchmarks.wordmath.composer.graph import Derivation
from lumos_queue.benchmarks.wordmath.composer.story import Clause, Story

MAX_STEPS = 5
MAX_UNUSED = 3
#: Weights of solutions by their number of steps, and by the number of stated numbers that they do not use.
STEPS = {1: 0.2, 2: 0.6, 3: 0.5, 4: 0.3, 5: 0.2}
UNUSED = {0: 1.0, 1: 0.65, 2: 0.25, 3: 0.08}
TOLD = (2, 2, 3, 3, 3, 3, 4, 4, 5)  #: sizes from which the number of stated numbers is sampled


@dataclass(frozen=True, slots=True)
class Target:
    """A quantity that a problem can ask for, the steps of its solution, and the number of unused numbers."""

    quantity: int
    steps: int
    unused: int


def choose_clauses(story: Story) -> tuple[list[Clause], Derivation]:
    """Return a selection of a story's clauses, and the derivation of everything that follows from these clauses.

    No number of a selected clause follows from the numbers of the other clauses.
    """
    target_count = story.rng.choice(TOLD)
    clauses: list[Clause] = []
    stated_quantities: set[int] = set()
    derivation = story.graph.derive(stated_quantities)
    # The order is random; clauses of a larger weight tend to come first.
    order = sorted(story.clauses, key=lambda clause: story.rng.random() ** (1 / clause.weight), reverse=True)
    for clause in order:
        if len(stated_quantities) >= target_count:
            break
        if any(state in derivation for state in clause.states):
            continue
        both = stated_quantities.union(clause.states)
        then = story.graph.derive(both)
        if any(_follows(story, both, state) for state in both):
            continue
        clauses.append(clause)
        stated_quantities, derivation = both, then
    return clauses, derivation


def _follows(story: Story, quantities: set[int], index: int) -> bool:
    return index in story.graph.derive(quantities - {index})


def find_targets(story: Story, clauses: list[Clause], derivation: Derivation) -> list[Target]:
    """Return the quantities that a problem with these clauses can ask for, in a fixed order."""
    stated_quantities = {state for clause in clauses for state in clause.states}
    targets = []
    for quantity in sorted(story.asks):
        if quantity in stated_quantities or quantity not in derivation:
            continue
        steps = derivation[quantity][0]
        unused_count = len(stated_quantities - story.graph.premises(quantity, derivation))
        if 0 < steps <= MAX_STEPS and unused_count <= MAX_UNUSED:
            targets.append(Target(quantity, steps, unused_count))
    return targets


def sample_target(story: Story, targets: list[Target]) -> Target:
    weights = [STEPS[target.steps] * UNUSED[target.unused] for target in targets]
    return story.rng.choices(targets, weights)[0]
