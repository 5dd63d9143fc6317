"""Write a regular expression for a grammar's plans. Types match, but experts may repeat, and plans may be longer.

Each segment is an automaton whose states are the kinds. State elimination converts it to an expression
(Brzozowski and McCluskey 1963).
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
#: (from state, to state) → alternatives, each without a `|` outside of a group.
Edges = dict[tuple[str, str], list[str]]


def write_regex(grammar: PlanGrammar, until_branch: bool) -> str:
    """Return the expression in a syntax that all engines share: `(?:…)`, `|`, `*`, `?` and escaped marks.

    With `until_branch`, the expression matches the required branches and one further branch, not whole plans. Raises
    ValueError if no plan is feasible.
    """
    if not grammar.branch_count:
        return _some(_sequence(grammar))
    literal = "".join(rf"\({''.join(f'{_escape(name)},' for name in branch)}\)" for branch in grammar.branches)
    free = range(len(grammar.branches), grammar.branch_count)
    tails: dict[str, dict[str, None]] = defaultdict(dict)  # tail → the texts before it, in order and once
    for kinds in product(Kind, repeat=len(free)):
        tail = _tail(grammar, (*_outputs(grammar), *kinds))
        branches = [_branch(grammar, number, kind) for number, kind in zip(free, kinds, strict=True)]
        if tail and None not in branches:
            groups = [rf"\({branch}\)" for branch in branches]
            tails["" if until_branch else tail]["".join(groups[:1] if until_branch else groups)] = None
    return literal + _some([_group([*before]) + tail for tail, before in tails.items()])


def _outputs(grammar: PlanGrammar) -> list[Kind]:
    """Return the output kinds of the required branches."""
    experts = {expert.name: expert for expert in grammar.steps}
    return [
        experts[branch[-1]].output if branch else channel.kind
        for branch, channel in zip(grammar.branches, grammar.signature.inputs, strict=False)
    ]


def _sequence(grammar: PlanGrammar) -> list[str]:
    kind = grammar.signature.inputs[0].kind
    first = [expert for expert in grammar.steps if not grammar.goal_aware or expert.slots[0].kind == kind]
    return _ways(grammar, _group_by_output(first), None)


def _branch(grammar: PlanGrammar, number: int, output: Kind) -> str | None:
    """Return the expression of a branch with this output; None if there is no such branch."""
    input_kind = grammar.signature.inputs[number].kind
    first = {input_kind: [""]} if grammar.goal_aware else _group_by_output(grammar.steps)
    alternatives = _ways(grammar, first, output)
    return _group(alternatives) if alternatives else None


def _tail(grammar: PlanGrammar, outputs: tuple[Kind, ...]) -> str:
    alternatives = _ways(grammar, _group_by_output(grammar.joins(outputs)), None)
    return _group(alternatives) if alternatives else ""


def _group_by_output(experts: Iterable[Expert]) -> dict[Kind, list[str]]:
    """Return one alternative, of all names, for each kind of output of these experts."""
    names: dict[Kind, list[str]] = defaultdict(list)
    for expert in experts:
        names[expert.output].append(_escape(expert.name))
    return {kind: [_group(alternatives) + ","] for kind, alternatives in names.items()}


def _ways(grammar: PlanGrammar, first: dict[Kind, list[str]], output: Kind | None) -> list[str]:
    """Return the alternatives from `first` to the kind `output`; None: to any kind in which a plan may end."""
    edges: Edges = {(_START, kind): alternatives for kind, alternatives in first.items()}
    for input_kind in Kind:
        experts = [expert for expert in grammar.steps if expert.slots[0].kind == input_kind]
        edges |= {(input_kind, kind): alternatives for kind, alternatives in _group_by_output(experts).items()}
    goal = grammar.signature.output if grammar.goal_aware else None
    ends = [kind for kind in Kind if kind == (output or goal or kind)]
    edges |= {(kind, _END): [""] for kind in ends}
    return _eliminate(edges, [kind for kind in Kind if kind not in ends] + ends)


def _eliminate(edges: Edges, states: Iterable[str]) -> list[str]:
    """Eliminate `states` in order, and return the alternatives of the edge from the start to the end."""
    for state in states:
        into = {source: alternatives for (source, to), alternatives in edges.items() if to == state != source}
        out = {to: alternatives for (source, to), alternatives in edges.items() if source == state != to}
        again = edges.get((state, state))
        loop = f"(?:{'|'.join(again)})*" if again else ""
        edges = {pair: alternatives for pair, alternatives in edges.items() if state not in pair}
        for (source, before), (to, after) in product(into.items(), out.items()):
            edges[source, to] = [*edges.get((source, to), ()), _group(before) + loop + _group(after)]
    return edges.get((_START, _END), [])


def _group(alternatives: list[str]) -> str:
    """Return the alternatives as one expression, in a group where a longer expression needs it."""
    nonempty = [alternative for alternative in dict.fromkeys(alternatives) if alternative]
    if len(nonempty) < len(set(alternatives)):  # one of them is empty
        return f"(?:{'|'.join(nonempty)})?" if nonempty else ""
    return nonempty[0] if len(nonempty) == 1 else f"(?:{'|'.join(nonempty)})"


def _some(alternatives: list[str]) -> str:
    if not alternatives:
        raise ValueError("no plan is feasible")
    return _group(alternatives)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], text)
