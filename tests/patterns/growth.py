"""Decide without a clock whether the time of a pattern grows faster than the text.

The matcher tries every way through a pattern. Their number grows with the text when one repeated text leads from a
cycle back into it and also from there into a second cycle: the ways divide at each repetition
("polynomial ambiguity": Weber and Seidl, On the degree of ambiguity of finite automata, 1991). A search is a first
cycle itself, as it may begin at every character.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tests.patterns.automaton import ORIGIN, SEEKING, Automaton

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True)
class Growth:
    """A slow text: the beginning, and the repeated part. An end that does not match follows."""

    beginning: str
    repeated: str

    def __str__(self) -> str:
        return f"{self.beginning!r} + {self.repeated!r} * n"


def find_growth(pattern: str, flags: int = 0, is_search: bool = True, whole: bool = False) -> Growth | None:
    """Return a text on which the pattern takes more than linear time, or None.

    `is_search`: the match may begin at every character. `whole`: it must end with the text (`fullmatch`).
    """
    automaton = Automaton(pattern, flags, is_search, whole)
    cycles = _find_cycles(automaton, automaton.links)
    uncertain = _find_cycles(automaton, automaton.links.keys() - automaton.certain - {SEEKING})
    for second in uncertain:
        if repetition := _part_within(automaton, second, uncertain):
            return Growth(_lead_to(automaton, second, repetition[-1]), repetition)
        for first in cycles:
            if first != second and (repetition := _part(automaton, first, second, cycles, uncertain)):
                return Growth(_lead_to(automaton, first, repetition[-1]), repetition)
    return None


def _find_cycles(automaton: Automaton, among: Collection[int]) -> dict[int, int]:
    """Return the number of the cycle of each position in a cycle, over these positions alone."""
    positions = sorted(among)
    index = {position: i for i, position in enumerate(positions)}
    pairs = [(index[p], index[target]) for p in positions for _, target in automaton.links[p] if target in index]
    if not pairs:
        return {}
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.array(pairs).T
    graph = csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(positions), len(positions)))
    _, numbers = connected_components(graph, connection="strong")
    sizes = np.bincount(numbers)
    self_loops = {index for index, target in pairs if index == target}
    return {p: int(numbers[i]) for p, i in index.items() if sizes[numbers[i]] > 1 or i in self_loops}


def _part(
    automaton: Automaton, first: int, second: int, cycles: dict[int, int], uncertain: dict[int, int]
) -> str | None:
    """Return a text that leads from `first` to itself and to `second`, and from `second` to itself."""

    def step(state: tuple[int, int, int, str]) -> Iterator[tuple[str, tuple[int, int, int, str]]]:
        first_position, middle_position, second_position, last = state
        for character in automaton.characters:
            for a in automaton.follow(first_position, last, character):
                if cycles.get(a) != cycles[first]:
                    continue
                for c in automaton.follow(second_position, last, character):
                    if uncertain.get(c) == uncertain[second]:
                        for b in automaton.follow(middle_position, last, character):
                            yield character, (a, b, c, character)

    for last in sorted(automaton.read(first) & automaton.read(second)):
        path = _find_path(step, (first, first, second, last), (first, second, second, last))
        if path:
            return path
    return None


def _part_within(automaton: Automaton, position: int, cycles: dict[int, int]) -> str | None:
    """Return a text that leads from a position to itself by two equal links."""

    def step(state: tuple[int, bool, str]) -> Iterator[tuple[str, tuple[int, bool, str]]]:
        current, has_parted, last = state
        for character in automaton.characters:
            for target, ways in automaton.follow(current, last, character).items():
                if cycles.get(target) == cycles[position]:
                    yield character, (target, has_parted or ways > 1, character)

    for last in sorted(automaton.read(position)):
        if path := _find_path(step, (position, False, last), (position, True, last)):
            return path
    return None


def _lead_to(automaton: Automaton, position: int, last: str) -> str:
    def step(state: tuple[int, str | None]) -> Iterator[tuple[str, tuple[int, str | None]]]:
        for character in automaton.characters:
            for target in automaton.follow(state[0], state[1], character):
                yield character, (target, character)

    start: tuple[int, str | None] = (ORIGIN, None)
    return _find_path(step, start, (position, last)) or ""


def _find_path(step: Callable[[State], Iterator[tuple[str, State]]], start: State, goal: State) -> str | None:
    """Return the shortest text, of one character or more, that leads from a state to another."""
    before: dict[State, tuple[State, str]] = {}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for character, target in step(state):
            if target in before:
                continue
            before[target] = state, character
            if target == goal:
                return _spell(before, start, goal)
            queue.append(target)
    return None


def _spell(before: dict[State, tuple[State, str]], start: State, goal: State) -> str:
    state, character = before[goal]
    text = character
    while state != start:
        state, character = before[state]
        text = character + text
    return text
