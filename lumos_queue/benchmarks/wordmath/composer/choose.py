"""What a problem tells and what it may ask: clauses that do not follow from one another, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.benchmarks.wordmath.composer.graph import Derivation
from lumos_queue.benchmarks.wordmath.composer.story import Clause, Story

MAX_STEPS = 5
MAX_UNUSED = 3
#: How often a solution has so many steps, and leaves so many numbers unused, compared with what else a story allows.
STEPS = {1: 0.2, 2: 0.6, 3: 0.5, 4: 0.3, 5: 0.2}
UNUSED = {0: 1.0, 1: 0.65, 2: 0.25, 3: 0.08}
TOLD = (2, 2, 3, 3, 3, 3, 4, 4, 5)  #: how many numbers a story tells


@dataclass(frozen=True, slots=True)
class Target:
    """A quantity that can be asked for, the operations its solution takes, and the numbers that play no role."""

    quantity: int
    steps: int
    unused: int


def choose_clauses(story: Story) -> tuple[list[Clause], Derivation]:
    """Clauses none of whose numbers follows from the others, and all that follows from them."""
    wanted = story.rng.choice(TOLD)
    told: list[Clause] = []
    known: set[int] = set()
    found = story.graph.derive(known)
    # A random order in which a clause of twice the weight tends to come first.
    order = sorted(story.clauses, key=lambda clause: story.rng.random() ** (1 / clause.weight), reverse=True)
    for clause in order:
        if len(known) >= wanted:
            break
        if any(state in found for state in clause.states):
            continue
        both = known.union(clause.states)
        then = story.graph.derive(both)
        if any(_follows(story, both, state) for state in both):
            continue
        told.append(clause)
        known, found = both, then
    return told, found


def _follows(story: Story, known: set[int], index: int) -> bool:
    return index in story.graph.derive(known - {index})


def find_targets(story: Story, told: list[Clause], found: Derivation) -> list[Target]:
    """What can be asked when these clauses are told, in a fixed order."""
    known = {state for clause in told for state in clause.states}
    targets = []
    for quantity in sorted(story.asks):
        if quantity in known or quantity not in found:
            continue
        steps = found[quantity][0]
        unused = len(known - story.graph.premises(quantity, found))
        if 0 < steps <= MAX_STEPS and unused <= MAX_UNUSED:
            targets.append(Target(quantity, steps, unused))
    return targets


def draw_target(story: Story, targets: list[Target]) -> Target:
    weights = [STEPS[target.steps] * UNUSED[target.unused] for target in targets]
    return story.rng.choices(targets, weights)[0]
