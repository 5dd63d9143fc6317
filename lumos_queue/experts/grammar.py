"""Which expert may come next in a plan: what is written so far, the task's signature and the registry decide.

Every way that is offered leads to a plan. What can still be reached is exact: a shortest way from one kind to another
needs no kind twice, so it never needs an expert twice, and a search over kinds with the unused experts finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf
from typing import NamedTuple

from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.feasibility import assign_slots
from lumos_queue.experts.plans import Signature


class Written(NamedTuple):
    """What of a plan is written, as far as it decides what may follow."""

    outputs: tuple[Kind, ...] = ()  #: of the branches that are closed
    longest: int = 0  #: experts of the longest of these
    used: frozenset[str] = frozenset()  #: names in the branch, or in the tail, that is being written
    kind: Kind | None = None  #: what comes out so far; None where a first model may take any, or the join is next


class PlanGrammar:
    """The plans for one signature.

    `goal_aware`: exactly those that `infeasible_because` finds no fault with, of at most `max_modules` experts one
    after another. Otherwise as OpenAGI's decoder: the first model of a branch, or of a sequence, may take any kind, no
    branch is empty, and the plan may end after any name of the tail; all else is as above.
    `branches`: what the first branches have to be.
    """

    def __init__(
        self,
        signature: Signature,
        registry: Sequence[Expert],
        goal_aware: bool,
        max_modules: int,
        branches: tuple[tuple[str, ...], ...] = (),
    ):
        self.signature, self.goal_aware, self.max_modules, self.branches = signature, goal_aware, max_modules, branches
        self.wanted = len(signature.inputs) if len(signature.inputs) > 1 else 0  #: branches of a plan
        self.steps = [one for one in registry if len(one.slots) == 1]  #: the experts that are no joins
        self._joins = [one for one in registry if len(one.slots) == self.wanted > 1]
        self._fresh = [self._distances(self._entering(number), frozenset()) for number in range(self.wanted)]
        self._tails: dict[tuple[Kind, ...], float] = {}

    def start(self) -> Written:
        return Written(kind=self._entering(0))

    def names(self, written: Written) -> dict[str, Written]:
        """The experts that may come next, each with what is written then."""
        forced, index = self._forced(written), len(written.used)
        found: dict[str, Written] = {}
        for one in self._fitting(written):
            if forced is None or forced[index : index + 1] == (one.name,):
                after = written._replace(used=written.used | {one.name}, kind=one.output)
                if self._leads_to_a_plan(after):
                    found[one.name] = after
        return found

    def close(self, written: Written) -> Written | None:
        """What is written once the branch is closed; None where it may not be."""
        forced = self._forced(written)
        if self.in_tail(written) or written.kind is None:
            return None
        if forced is not None and len(forced) != len(written.used):
            return None
        outputs = (*written.outputs, written.kind)
        kind = self._entering(len(outputs))
        after = Written(outputs, max(written.longest, len(written.used)), frozenset(), kind)
        return after if self._leads_to_a_plan(after) else None

    def may_end(self, written: Written) -> bool:
        """Whether what is written is a whole plan."""
        done = self.in_tail(written) and bool(written.used)
        return done and (not self.goal_aware or written.kind == self.signature.output)

    def in_tail(self, written: Written) -> bool:
        """Whether no branch is left to write: the plan is a sequence, or all its branches are closed."""
        return len(written.outputs) == self.wanted

    def joins(self, outputs: Sequence[Kind]) -> list[Expert]:
        """The experts that take what comes out of the branches."""
        slots = [Slot(one.name, kind) for one, kind in zip(self.signature.inputs, outputs, strict=True)]
        return [one for one in self._joins if assign_slots(one, slots) is not None]

    def _entering(self, number: int) -> Kind | None:
        """What goes into the first model of that branch, or of the sequence; None for any."""
        within = number < max(self.wanted, 1)
        return self.signature.inputs[number].kind if self.goal_aware and within else None

    def _forced(self, written: Written) -> tuple[str, ...] | None:
        number = len(written.outputs)
        return self.branches[number] if number < len(self.branches) else None

    def _fitting(self, written: Written) -> list[Expert]:
        if self.wanted and self.in_tail(written) and not written.used:
            return self.joins(written.outputs)
        kind, used = written.kind, written.used
        return [one for one in self.steps if kind in (None, one.slots[0].kind) and one.name not in used]

    def _leads_to_a_plan(self, written: Written) -> bool:
        count = len(written.used)
        if self.in_tail(written):
            if not written.used:
                return bool(self.names(written))
            return written.longest + count + self._to_goal(written.kind, written.used) <= self.max_modules
        if not self._joins:
            return False
        here = {kind: count + more for kind, more in self._distances(written.kind, written.used).items()}
        for chosen in product(here.items(), *(one.items() for one in self._fresh[len(written.outputs) + 1 :])):
            longest = max(written.longest, *(length for _, length in chosen))
            if longest + self._tail((*written.outputs, *(kind for kind, _ in chosen))) <= self.max_modules:
                return True
        return False

    def _tail(self, outputs: tuple[Kind, ...]) -> float:
        """The fewest experts of a tail that takes these; inf where there is none."""
        if outputs not in self._tails:
            lengths = (1 + self._to_goal(one.output, frozenset()) for one in self.joins(outputs))
            self._tails[outputs] = min(lengths, default=inf)
        return self._tails[outputs]

    def _to_goal(self, kind: Kind | None, used: frozenset[str]) -> float:
        return self._distances(kind, used).get(self.signature.output, inf) if self.goal_aware else 0

    def _distances(self, kind: Kind | None, used: frozenset[str]) -> dict[Kind, int]:
        """The kinds that unused experts can make of this one, each with the fewest experts that it takes."""
        unused = [one for one in self.steps if one.name not in used]
        if kind is None:
            return {one.output: 1 for one in unused}
        found, reached = {kind: 0}, [kind]
        for one in reached:
            for expert in unused:
                if expert.slots[0].kind == one and expert.output not in found:
                    found[expert.output] = found[one] + 1
                    reached.append(expert.output)
        return found
