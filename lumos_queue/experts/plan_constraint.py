"""Which texts are plans for a task, piece by piece: what a planner's reply may be.

A name is one piece, and all the marks up to the next name or the end are another: `(Fill Mask,)()Question Answering,`
is `(`, `Fill Mask`, `,)()`, `Question Answering`, `,`. Tokenizers read neighbouring marks as one token and never one
across a letter, so tokens and pieces end together.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.base import Expert
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.experts.grammar import PlanGrammar, Written
from lumos_queue.experts.plan_json import read_plan_constraint, write_plan_constraint
from lumos_queue.experts.plan_regex import write_regex
from lumos_queue.experts.plans import MAX_MODULES, Signature

NAME, MARK, NOTHING = "name", "mark", "nothing"


class PlanState(NamedTuple):
    """A place between two pieces."""

    written: Written
    expects: str  #: NAME, MARK (what is between names) or NOTHING


@dataclass(frozen=True, slots=True)
class PlanConstraint:
    """The plans for tasks of one signature, in their wire form (plans.py); commands.Constraint says what for.

    `goal_aware`: as PlanGrammar.
    """

    signature: Signature
    registry: tuple[Expert, ...] = tuple(EXPERTS[name] for name in PLANNABLE)
    goal_aware: bool = True
    max_modules: int = MAX_MODULES
    branches: tuple[tuple[str, ...], ...] = ()  #: written already: every reply begins with exactly these
    until_branch: bool = False  #: the reply ends with the `)` of the branch after those, not with the whole plan
    _grammar: PlanGrammar = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        made = _make_grammar(self.signature, self.registry, self.goal_aware, self.max_modules, self.branches)
        object.__setattr__(self, "_grammar", made)

    @classmethod
    def from_json(cls, value: object) -> PlanConstraint:
        """Of `as_json`. Raises SpecError for anything else."""
        return cls(**read_plan_constraint(value))

    def as_json(self) -> dict[str, Any]:
        """Whole experts, as far as they decide which plans are allowed: another process may know others."""
        return write_plan_constraint(
            self.signature, self.registry, self.goal_aware, self.max_modules, self.branches, self.until_branch
        )

    @property
    def digest(self) -> str:
        return digest("plan constraint", json.dumps(self.as_json(), sort_keys=True))

    def check(self) -> None:
        """Raises SpecError where no reply is allowed, or names cannot be told from marks."""
        problem = self._problem()
        if problem:
            inputs = " and ".join(f"{one.name} ({one.kind})" for one in self.signature.inputs) or "no inputs"
            raise SpecError(f"No plan can be asked for that makes {self.signature.output} of {inputs}: {problem}.")

    def start(self) -> PlanState:
        return PlanState(self._grammar.start(), MARK if self._grammar.wanted else NAME)

    def pieces(self, state: Hashable, /) -> Mapping[str, PlanState]:
        """Each of them leads on to an end. Raises TypeError for what is not a state."""
        return _find_pieces(self._grammar, self.until_branch, _check_state(state))

    def may_end(self, state: Hashable, /) -> bool:
        found = _check_state(state)
        if found.expects == NAME and not self.until_branch:
            return self._grammar.may_end(found.written)
        return found.expects == NOTHING

    def accepts(self, text: str, /) -> bool:
        """Exact: no repetition, and no more experts than may be."""
        waiting = [(0, self.start())]
        while waiting:
            at, state = waiting.pop()
            if at == len(text) and self.may_end(state):
                return True
            waiting += [(at + len(one), after) for one, after in self.pieces(state).items() if text.startswith(one, at)]
        return False

    def regex(self) -> str:
        """Types fit as in the plans, but experts may be repeated, and there may be more than `max_modules` of them.

        Raises SpecError as `check`.
        """
        self.check()
        return write_regex(self._grammar, self.until_branch)

    def _problem(self) -> str:
        names = [one.name for one in self.registry]
        strange = [one for one in names if not one.isprintable() or one != " ".join(one.split()) or {*"(),"} & {*one}]
        if not self.signature.inputs:
            return "expected one input or more"
        if not names:
            return "there are no experts to choose from; name at least one"
        if strange or "" in names or len({*names}) < len(names):
            found = (strange or [one for one in names if not one or names.count(one) > 1])[0]
            return f"{found!r} cannot be an expert's name; expected words without '(', ')' and ',', each name once"
        free = self._grammar.wanted - len(self.branches)
        if free < 0 or (self.until_branch and not free):
            asked = len(self.branches) + self.until_branch
            return f"{asked} branches are asked for, and such plans have {self._grammar.wanted}"
        state = self.start()
        while not self.may_end(state):  # no way that is offered is a dead end, but for the branches that are given
            state = next(iter(self.pieces(state).values()), None)
            if state is None:
                begun = f", beginning with {list(map(list, self.branches))}," if self.branches else ""
                most = f"at most {self.max_modules} one after another"
                return f"none is feasible{begun} with these experts, {most}: {', '.join(names)}"
        return ""


@lru_cache(1024)
def _make_grammar(*settings: Any) -> PlanGrammar:
    return PlanGrammar(*settings)


def _check_state(state: Hashable) -> PlanState:
    if not isinstance(state, PlanState):
        raise TypeError(f"not a state of this constraint: {state!r}")
    return state


@lru_cache(1 << 14)
def _find_pieces(grammar: PlanGrammar, until_branch: bool, state: PlanState) -> Mapping[str, PlanState]:
    """What PlanConstraint.pieces gives; not to be changed."""
    written = state.written
    if state.expects == NAME and not (until_branch and grammar.in_tail(written)):
        return {name: PlanState(after, MARK) for name, after in grammar.names(written).items()}
    if state.expects != MARK:
        return {}
    if not written.used:  # nothing is written yet
        return _open_branch(grammar, until_branch, "", written)
    found = {}
    if grammar.in_tail(written) or grammar.names(written):
        found[","] = PlanState(written, NAME)
    if closed := grammar.close(written):
        found |= _go_on(grammar, until_branch, ",)", closed)
    return found


def _open_branch(grammar: PlanGrammar, until_branch: bool, marks: str, written: Written) -> dict[str, PlanState]:
    """The pieces that open a branch after these marks, and then stop before a name, close it, or go on."""
    found = {}
    if grammar.names(written):
        found[f"{marks}("] = PlanState(written, NAME)
    if closed := grammar.close(written):
        found |= _go_on(grammar, until_branch, f"{marks}()", closed)
    return found


def _go_on(grammar: PlanGrammar, until_branch: bool, marks: str, closed: Written) -> dict[str, PlanState]:
    """The pieces that begin with these marks, the last of which closes a branch."""
    if until_branch and len(closed.outputs) > len(grammar.branches):
        return {marks: PlanState(closed, NOTHING)}
    if grammar.in_tail(closed):
        return {marks: PlanState(closed, NAME)}
    return _open_branch(grammar, until_branch, marks, closed)
