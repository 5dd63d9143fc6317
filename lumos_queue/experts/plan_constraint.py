"""Constrain a planner's reply to plans for a task, piece by piece.

A name is a piece, and all the marks up to the next name or the end are another piece: `(Fill Mask,)()Question
Answering,` is `(`, `Fill Mask`, `,)()`, `Question Answering`, `,`. Tokenizers read neighbouring marks as one token, and
no token has both marks and letters, so tokens and pieces end together.
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
from lumos_queue.experts.grammar import PlanGrammar, PlanPrefix
from lumos_queue.experts.plan_json import read_plan_constraint, write_plan_constraint
from lumos_queue.experts.plan_regex import write_regex
from lumos_queue.experts.plans import MAX_MODULES, Signature

NAME, MARK, NOTHING = "name", "mark", "nothing"


class PlanState(NamedTuple):
    """The state of a reply between two pieces."""

    written: PlanPrefix
    expects: str  #: NAME, MARK (the marks between names) or NOTHING


@dataclass(frozen=True, slots=True)
class PlanConstraint:
    """Allows only plans for tasks of one signature as replies, in their wire form (plans.py).

    This implements commands.Constraint. PlanGrammar explains `goal_aware`.
    """

    signature: Signature
    registry: tuple[Expert, ...] = tuple(EXPERTS[name] for name in PLANNABLE)
    goal_aware: bool = True
    max_modules: int = MAX_MODULES
    branches: tuple[tuple[str, ...], ...] = ()  #: every reply begins with exactly these branches
    until_branch: bool = False  #: whether a reply ends with the `)` of the branch after these, not with the whole plan
    _grammar: PlanGrammar = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        grammar = _make_grammar(self.signature, self.registry, self.goal_aware, self.max_modules, self.branches)
        object.__setattr__(self, "_grammar", grammar)

    @classmethod
    def from_json(cls, value: object) -> PlanConstraint:
        """Return the constraint that `as_json` wrote. Raises SpecError for any other value."""
        return cls(**read_plan_constraint(value))

    def as_json(self) -> dict[str, Any]:
        """Return the constraint as JSON. It contains the experts, because another process may know other experts."""
        return write_plan_constraint(
            self.signature, self.registry, self.goal_aware, self.max_modules, self.branches, self.until_branch
        )

    @property
    def digest(self) -> str:
        return digest("plan constraint", json.dumps(self.as_json(), sort_keys=True))

    def check(self) -> None:
        """Raises SpecError if no reply is allowed, or if a name contains marks."""
        problem = self._problem()
        if problem:
            inputs = " and ".join(f"{slot.name} ({slot.kind})" for slot in self.signature.inputs) or "no inputs"
            raise SpecError(f"No plan can be asked for that makes {self.signature.output} of {inputs}: {problem}.")

    def start(self) -> PlanState:
        return PlanState(self._grammar.start(), MARK if self._grammar.branch_count else NAME)

    def pieces(self, state: Hashable, /) -> Mapping[str, PlanState]:
        """Return the pieces that may come next, each with the state after it. Each piece can be completed to a reply.

        Raises TypeError for an object that is not a PlanState.
        """
        return _find_pieces(self._grammar, self.until_branch, _check_state(state))

    def may_end(self, state: Hashable, /) -> bool:
        plan_state = _check_state(state)
        if plan_state.expects == NAME and not self.until_branch:
            return self._grammar.may_end(plan_state.written)
        return plan_state.expects == NOTHING

    def accepts(self, text: str, /) -> bool:
        """Return whether a text is an allowed reply. Unlike `regex`, this also checks repetition and `max_modules`."""
        queue = [(0, self.start())]
        while queue:
            position, state = queue.pop()
            if position == len(text) and self.may_end(state):
                return True
            queue += [
                (position + len(piece), after)
                for piece, after in self.pieces(state).items()
                if text.startswith(piece, position)
            ]
        return False

    def regex(self) -> str:
        """Return a regular expression for the replies. It also matches longer plans and repeated experts.

        Types match in all plans that it matches. Raises the errors of `check`.
        """
        self.check()
        return write_regex(self._grammar, self.until_branch)

    def _problem(self) -> str:
        names = [expert.name for expert in self.registry]
        strange = [
            name for name in names if not name.isprintable() or name != " ".join(name.split()) or {*"(),"} & {*name}
        ]
        if not self.signature.inputs:
            return "expected one input or more"
        if not names:
            return "there are no experts to choose from; name at least one"
        if strange or "" in names or len({*names}) < len(names):
            name = (strange or [name for name in names if not name or names.count(name) > 1])[0]
            return f"{name!r} cannot be an expert's name; expected words without '(', ')' and ',', each name once"
        free = self._grammar.branch_count - len(self.branches)
        if free < 0 or (self.until_branch and not free):
            branch_count = len(self.branches) + self.until_branch
            return f"{branch_count} branches are asked for, and such plans have {self._grammar.branch_count}"
        state = self.start()
        while not self.may_end(state):  # only the required branches can lead to a dead end
            state = next(iter(self.pieces(state).values()), None)
            if state is None:
                beginning = f", beginning with {list(map(list, self.branches))}," if self.branches else ""
                limit = f"at most {self.max_modules} one after another"
                return f"none is feasible{beginning} with these experts, {limit}: {', '.join(names)}"
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
    """Return the result of PlanConstraint.pieces. Callers must not change the mapping, because it is cached."""
    prefix = state.written
    if state.expects == NAME and not (until_branch and grammar.in_tail(prefix)):
        return {name: PlanState(after, MARK) for name, after in grammar.names(prefix).items()}
    if state.expects != MARK:
        return {}
    if not prefix.used:  # nothing is written yet
        return _open_branch(grammar, until_branch, "", prefix)
    pieces = {}
    if grammar.in_tail(prefix) or grammar.names(prefix):
        pieces[","] = PlanState(prefix, NAME)
    if after := grammar.close(prefix):
        pieces |= _continue_plan(grammar, until_branch, ",)", after)
    return pieces


def _open_branch(grammar: PlanGrammar, until_branch: bool, marks: str, prefix: PlanPrefix) -> dict[str, PlanState]:
    """Return the pieces that open a branch after `marks`. They end before a name, or close the empty branch."""
    pieces = {}
    if grammar.names(prefix):
        pieces[f"{marks}("] = PlanState(prefix, NAME)
    if after := grammar.close(prefix):
        pieces |= _continue_plan(grammar, until_branch, f"{marks}()", after)
    return pieces


def _continue_plan(grammar: PlanGrammar, until_branch: bool, marks: str, prefix: PlanPrefix) -> dict[str, PlanState]:
    """Return the pieces that begin with `marks`, whose last mark closes a branch."""
    if until_branch and len(prefix.outputs) > len(grammar.branches):
        return {marks: PlanState(prefix, NOTHING)}
    if grammar.in_tail(prefix):
        return {marks: PlanState(prefix, NAME)}
    return _open_branch(grammar, until_branch, marks, prefix)
