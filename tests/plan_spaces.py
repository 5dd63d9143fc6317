"""All plans of small registries: from the pieces of a constraint, and by trying every combination."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations, product
from random import Random

from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import Plan, Signature

_NAMES = ("Ann", "Bob", "Ann Bob", "Cy", "Di")
_CHANNELS = ("x", "y")


def random_constraint(seed: int) -> PlanConstraint:
    """Of 2 to 5 experts with any slots, and a task with one or two inputs; there may be no plan."""
    random = Random(seed)
    kinds = list(Kind)
    inputs = random.choice([1, 2])
    names = _NAMES[: random.randint(2, 5 if inputs == 1 else 4)]
    registry = []
    for name in names:
        slots = random.choices(_CHANNELS, k=2) if random.random() < 0.2 else list(_CHANNELS)
        count = 2 if random.random() < (0.5 if inputs == 2 else 0.1) else 1
        random.shuffle(slots)
        input_slots = tuple(Slot(name, random.choice(kinds)) for name in slots[:count])
        registry.append(Expert(name, input_slots, random.choice(kinds), ""))
    channels = tuple(Slot(name, random.choice(kinds)) for name in _CHANNELS[:inputs])
    max_length = random.randint(inputs, 4 if inputs == 1 or len(names) < 4 else 3)
    return PlanConstraint(Signature(channels, random.choice(kinds)), tuple(registry), random.random() < 0.6, max_length)


def candidates(constraint: PlanConstraint) -> Iterator[Plan]:
    """Return every plan of the right shape without repetitions up to the length limit, feasible or not."""
    names = [expert.name for expert in constraint.registry]
    longest = constraint.max_modules
    segments = [segment for length in range(longest + 1) for segment in permutations(names, length)]
    if len(constraint.signature.inputs) == 1:
        yield from (Plan((), tail) for tail in segments)
        return
    for branches in product(segments, repeat=len(constraint.signature.inputs)):
        room = longest - max(map(len, branches))
        yield from (Plan(branches, tail) for tail in segments if len(tail) <= room)


def is_allowed(plan: Plan, constraint: PlanConstraint) -> bool:
    """By the rules for feasible plans; without a goal, by those of OpenAGI's decoder, written here once more."""
    experts = {expert.name: expert for expert in constraint.registry}
    if constraint.goal_aware:
        return not infeasible_because(plan, constraint.signature, experts)
    branches = [[experts[name] for name in branch] for branch in plan.branches]
    tail = [experts[name] for name in plan.tail]
    steps = [step for segment in (*branches, tail[1:] if branches else tail) for step in segment]
    if not tail or not all(branches) or any(len(step.slots) != 1 for step in steps):
        return False
    if branches:
        kinds = {
            channel.name: branch[-1].output
            for channel, branch in zip(constraint.signature.inputs, branches, strict=True)
        }
        target_kinds = [slot.kind for slot in tail[0].slots]
        has_inputs = [kinds.get(slot.name) for slot in tail[0].slots] == target_kinds
        distinct = len({slot.name for slot in tail[0].slots}) == len(target_kinds) == len(kinds)
        if sorted(target_kinds) != sorted(kinds.values()):
            return False
        if len(set(target_kinds)) < len(target_kinds) and not (has_inputs and distinct):
            return False
    pairs = [pair for segment in (*branches, tail) for pair in pairwise(segment)]
    return all(before.output == after.slots[0].kind for before, after in pairs)


def write_plans(constraint: PlanConstraint) -> list[str]:
    """Return all texts that the constraint allows. Fails at a state without a way to the end."""
    texts, pending = [], [("", constraint.start())]
    while pending:
        text, state = pending.pop()
        pieces = constraint.pieces(state)
        assert pieces or constraint.may_end(state) or not text, f"a dead end after {text!r}"
        if constraint.may_end(state):
            texts.append(text)
        pending += [(text + piece, after) for piece, after in pieces.items()]
    return texts
