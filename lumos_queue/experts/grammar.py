"""Find the experts that may come next in a plan, from its prefix, the task's signature and the registry.

Every choice can be completed to a plan. The check is exact: a shortest way between two kinds passes no kind twice, so
it uses no expert twice, and a search over kinds with the unused experts finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf
from typing import NamedTuple

from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.feasibility import assign_slots
from lumos_queue.experts.plans import Signature


class PlanPrefix(NamedTuple):
    """The facts about a plan's prefix that determine which experts may follow."""

    outputs: tuple[Kind, ...] = ()  #: of the closed branches
    longest: int = 0  #: number of experts of the longest closed branch
    used: frozenset[str] = frozenset()  #: names in the open branch, or in the tail
    kind: Kind | None = None  #: of the output so far; None: the first model may take any kind, or the join is next


class PlanGrammar:
    """The allowed plans for tasks of one signature.

    With `goal_aware`, the feasible plans (`infeasible_because`) with at most `max_modules` experts one after another
    are allowed. Otherwise three rules are as in OpenAGI's decoder: the first model of a branch or sequence may take any
    kind, no branch is empty, and a plan may end after any name of the tail. Every plan begins with `branches`.
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
        self.branch_count = len(signature.inputs) if len(signature.inputs) > 1 else 0  #: number of branches of a plan
        self.steps = [expert for expert in registry if len(expert.slots) == 1]  #: the experts that are no joins
        self._joins = [expert for expert in registry if len(expert.slots) == self.branch_count > 1]
        self._fresh = [self._distances(self._input_kind(number), frozenset()) for number in range(self.branch_count)]
        self._tails: dict[tuple[Kind, ...], float] = {}

    def start(self) -> PlanPrefix:
        return PlanPrefix(kind=self._input_kind(0))

    def names(self, prefix: PlanPrefix) -> dict[str, PlanPrefix]:
        """Return the experts that may come next, each with the prefix after it."""
        required_branch, index = self._find_required_branch(prefix), len(prefix.used)
        continuations: dict[str, PlanPrefix] = {}
        for expert in self._list_candidates(prefix):
            if required_branch is None or required_branch[index : index + 1] == (expert.name,):
                after = prefix._replace(used=prefix.used | {expert.name}, kind=expert.output)
                if self._leads_to_a_plan(after):
                    continuations[expert.name] = after
        return continuations

    def close(self, prefix: PlanPrefix) -> PlanPrefix | None:
        """Return the prefix after the open branch is closed; None if it cannot be closed."""
        required_branch = self._find_required_branch(prefix)
        if self.in_tail(prefix) or prefix.kind is None:
            return None
        if required_branch is not None and len(required_branch) != len(prefix.used):
            return None
        outputs = (*prefix.outputs, prefix.kind)
        kind = self._input_kind(len(outputs))
        after = PlanPrefix(outputs, max(prefix.longest, len(prefix.used)), frozenset(), kind)
        return after if self._leads_to_a_plan(after) else None

    def may_end(self, prefix: PlanPrefix) -> bool:
        """Return whether the prefix is a complete plan."""
        is_complete = self.in_tail(prefix) and bool(prefix.used)
        return is_complete and (not self.goal_aware or prefix.kind == self.signature.output)

    def in_tail(self, prefix: PlanPrefix) -> bool:
        """Return whether the prefix needs no further branch: all branches are closed, or the plan is a sequence."""
        return len(prefix.outputs) == self.branch_count

    def joins(self, outputs: Sequence[Kind]) -> list[Expert]:
        """Return the experts that can join branches with these kinds of outputs."""
        slots = [Slot(channel.name, kind) for channel, kind in zip(self.signature.inputs, outputs, strict=True)]
        return [join for join in self._joins if assign_slots(join, slots) is not None]

    def _input_kind(self, number: int) -> Kind | None:
        """Return the kind that the first model of branch `number`, or of the sequence, must take; None: any kind."""
        within = number < max(self.branch_count, 1)
        return self.signature.inputs[number].kind if self.goal_aware and within else None

    def _find_required_branch(self, prefix: PlanPrefix) -> tuple[str, ...] | None:
        number = len(prefix.outputs)
        return self.branches[number] if number < len(self.branches) else None

    def _list_candidates(self, prefix: PlanPrefix) -> list[Expert]:
        if self.branch_count and self.in_tail(prefix) and not prefix.used:
            return self.joins(prefix.outputs)
        kind, used_names = prefix.kind, prefix.used
        return [
            expert for expert in self.steps if kind in (None, expert.slots[0].kind) and expert.name not in used_names
        ]

    def _leads_to_a_plan(self, prefix: PlanPrefix) -> bool:
        count = len(prefix.used)
        if self.in_tail(prefix):
            if not prefix.used:
                return bool(self.names(prefix))
            return prefix.longest + count + self._to_goal(prefix.kind, prefix.used) <= self.max_modules
        if not self._joins:
            return False
        branch_lengths = {
            kind: count + distance for kind, distance in self._distances(prefix.kind, prefix.used).items()
        }
        for choices in product(
            branch_lengths.items(), *(lengths.items() for lengths in self._fresh[len(prefix.outputs) + 1 :])
        ):
            longest = max(prefix.longest, *(length for _, length in choices))
            if longest + self._tail((*prefix.outputs, *(kind for kind, _ in choices))) <= self.max_modules:
                return True
        return False

    def _tail(self, outputs: tuple[Kind, ...]) -> float:
        """Return the smallest number of experts in a tail that joins these outputs; inf if there is no such tail."""
        if outputs not in self._tails:
            lengths = (1 + self._to_goal(join.output, frozenset()) for join in self.joins(outputs))
            self._tails[outputs] = min(lengths, default=inf)
        return self._tails[outputs]

    def _to_goal(self, kind: Kind | None, used_names: frozenset[str]) -> float:
        return self._distances(kind, used_names).get(self.signature.output, inf) if self.goal_aware else 0

    def _distances(self, kind: Kind | None, used_names: frozenset[str]) -> dict[Kind, int]:
        """Return the kinds that unused experts can make from `kind`, each with the smallest number of experts."""
        unused_experts = [expert for expert in self.steps if expert.name not in used_names]
        if kind is None:
            return {expert.output: 1 for expert in unused_experts}
        distances, queue = {kind: 0}, [kind]
        for source in queue:
            for expert in unused_experts:
                if expert.slots[0].kind == source and expert.output not in distances:
                    distances[expert.output] = distances[source] + 1
                    queue.append(expert.output)
        return distances
