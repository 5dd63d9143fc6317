"""A regular expression for the plans of a grammar: fitting types, but any number of experts, and any of them again.

Each segment is an automaton whose states are the kinds; taking out one state after the other leaves the expression
(state elimination: Brzozowski and McCluskey 1963).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import product

from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.grammar import PlanGrammar

_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]()|]")
_START, _END = "start", "end"
#: From state to state: alternatives, each without a `|` outside of a group.
Edges = dict[tuple[str, str], list[str]]


def write_regex(grammar: PlanGrammar, until_branch: bool) -> str:
    """The expression, in syntax that all engines share: `(?:…)`, `|`, `*`, `?` and escaped marks.

    `until_branch`: for the branches that are given and one more, not for whole plans. Raises ValueError where no plan
    is feasible.
    """
    if not grammar.wanted:
        return _some(_sequence(grammar))
    literal = "".join(rf"\({''.join(f'{_escape(name)},' for name in branch)}\)" for branch in grammar.branches)
    free = range(len(grammar.branches), grammar.wanted)
    tails: dict[str, dict[str, None]] = defaultdict(dict)  # what comes before each, in order and once
    for kinds in product(Kind, repeat=len(free)):
        tail = _tail(grammar, (*_outputs(grammar), *kinds))
        branches = [_branch(grammar, number, kind) for number, kind in zip(free, kinds, strict=True)]
        if tail and None not in branches:
            written = [rf"\({one}\)" for one in branches]
            tails["" if until_branch else tail]["".join(written[:1] if until_branch else written)] = None
    return literal + _some([_group([*before]) + tail for tail, before in tails.items()])


def _outputs(grammar: PlanGrammar) -> list[Kind]:
    """What comes out of the branches that are given."""
    experts = {one.name: one for one in grammar.steps}
    return [
        experts[branch[-1]].output if branch else channel.kind
        for branch, channel in zip(grammar.branches, grammar.signature.inputs, strict=False)
    ]


def _sequence(grammar: PlanGrammar) -> list[str]:
    kind = grammar.signature.inputs[0].kind
    first = [one for one in grammar.steps if not grammar.goal_aware or one.slots[0].kind == kind]
    return _ways(grammar, _leading_to(first), None)


def _branch(grammar: PlanGrammar, number: int, output: Kind) -> str | None:
    """A branch out of which this kind comes; None where it cannot."""
    entering = grammar.signature.inputs[number].kind
    first = {entering: [""]} if grammar.goal_aware else _leading_to(grammar.steps)
    found = _ways(grammar, first, output)
    return _group(found) if found else None


def _tail(grammar: PlanGrammar, outputs: tuple[Kind, ...]) -> str:
    found = _ways(grammar, _leading_to(grammar.joins(outputs)), None)
    return _group(found) if found else ""


def _leading_to(experts: Iterable[Expert]) -> dict[Kind, list[str]]:
    """By output: the experts, as one alternative."""
    names: dict[Kind, list[str]] = defaultdict(list)
    for one in experts:
        names[one.output].append(_escape(one.name))
    return {kind: [_group(found) + ","] for kind, found in names.items()}


def _ways(grammar: PlanGrammar, first: dict[Kind, list[str]], output: Kind | None) -> list[str]:
    """From the first expert to this kind; None: to where a plan may end."""
    edges: Edges = {(_START, kind): found for kind, found in first.items()}
    for entering in Kind:
        taking = [one for one in grammar.steps if one.slots[0].kind == entering]
        edges |= {(entering, kind): found for kind, found in _leading_to(taking).items()}
    goal = grammar.signature.output if grammar.goal_aware else None
    ends = [kind for kind in Kind if kind == (output or goal or kind)]
    edges |= {(kind, _END): [""] for kind in ends}
    return _eliminate(edges, [kind for kind in Kind if kind not in ends] + ends)


def _eliminate(edges: Edges, states: Iterable[str]) -> list[str]:
    """The alternatives that lead from the start to the end once these states are taken out, in this order."""
    for state in states:
        into = {one: found for (one, to), found in edges.items() if to == state != one}
        out = {to: found for (one, to), found in edges.items() if one == state != to}
        again = edges.get((state, state))
        loop = f"(?:{'|'.join(again)})*" if again else ""
        edges = {pair: found for pair, found in edges.items() if state not in pair}
        for (one, before), (to, after) in product(into.items(), out.items()):
            edges[one, to] = [*edges.get((one, to), ()), _group(before) + loop + _group(after)]
    return edges.get((_START, _END), [])


def _group(alternatives: list[str]) -> str:
    """The alternatives as a part of a longer expression."""
    written = [one for one in dict.fromkeys(alternatives) if one]
    if len(written) < len(set(alternatives)):  # one of them is empty
        return f"(?:{'|'.join(written)})?" if written else ""
    return written[0] if len(written) == 1 else f"(?:{'|'.join(written)})"


def _some(alternatives: list[str]) -> str:
    if not alternatives:
        raise ValueError("no plan is feasible")
    return _group(alternatives)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], text)
