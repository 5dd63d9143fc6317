"""The positions of a pattern and the links between them: all paths of Python's matcher.

A position is a part of the pattern that reads one character. Python's own parser reads the pattern, and its matcher
decides whether a position reads a character. A repetition with a small bound has at most two copies of its item; any
other is a cycle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from re import _compiler, _constants, _parser  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

#: A repetition with a higher bound counts as unbounded: `.{0,2000}` may read 2,000 characters at each start.
SMALL_BOUND = 100
#: Characters of all classes that patterns distinguish. Those that a pattern names are added.
SAMPLE = [*map(chr, range(128)), *"\x85\xa0\u2003\u2028éÉßſK٣²½–—’“°×−中\U0001f600"]
ORIGIN = -1  #: the beginning of the text
SEEKING = -2  #: a search reads a character before its match begins
ONE_CHARACTER = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
REPETITIONS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}

#: Two neighbouring characters. None is the beginning or the end of the text.
Pair = tuple[str | None, str | None]
#: The pairs that a boundary of the pattern allows between them; None allows all.
Allowed = frozenset[Pair] | None


#: Is among the allowed pairs of a boundary if the pairs alone decide. A long lookahead, for example, reads more.
EXACT: Pair = (None, "exact")


def intersect_pairs(left: Allowed, right: Allowed) -> Allowed:
    if left is None or right is None:
        return right if left is None else left
    return left & right


@dataclass
class Piece:
    """A part of a pattern: its first and last positions, and the conditions under which it reads nothing."""

    first: list[tuple[Allowed, int]] = field(default_factory=list)
    last: list[tuple[int, Allowed]] = field(default_factory=list)
    empty: list[Allowed] = field(default_factory=list)


class Automaton:
    """The links of a pattern as `search` (searched) or `match` uses it, or as `fullmatch` does (whole).

    A link leads from a position, over the pairs of characters that it allows, to the next position. Two equal links
    are two ways that the matcher tries.
    """

    def __init__(self, pattern: str, flags: int = 0, is_search: bool = True, whole: bool = False):
        self._tree = tree = _parser.parse(pattern, flags)
        self._state = tree.state
        self._readers = {
            id(node): _compiler.compile(_parser.SubPattern(self._state, [wrapped_node]), flags).match
            for node, wrapped_node in _find_readers(tree, 0, 0)
        }
        self._is_word = re.compile(r"\w", tree.state.flags & re.ASCII).match
        self.alphabet = self._choose_alphabet(tree)
        self.characters = sorted(self.alphabet)
        self._pairs = frozenset((a, b) for a in [*self.alphabet, None] for b in [*self.alphabet, None])
        self._classes: list[frozenset[str]] = []
        self._groups: dict[int | None, Any] = {}
        self._ways: dict[tuple[int, str | None, str], Counter[int]] = {}
        self.links: dict[int, Counter[tuple[Allowed, int]]] = {}
        piece = self._read_sequence(tree)
        self.links[ORIGIN] = Counter(piece.first)
        if is_search:
            self.links[ORIGIN][None, SEEKING] += 1
            self.links[SEEKING] = self.links[ORIGIN].copy()
        self.certain = self._find_certain(piece, whole)

    def read(self, position: int) -> frozenset[str]:
        """Return the characters that a position reads."""
        return self.alphabet if position == SEEKING else self._classes[position]

    def follow(self, position: int, last: str | None, character: str) -> Counter[int]:
        """Count the ways from a position that read the character `last` to each position that reads the next."""
        key = position, last, character
        if key not in self._ways:
            self._ways[key] = self._follow(*key)
        return self._ways[key]

    def _follow(self, position: int, last: str | None, character: str) -> Counter[int]:
        ways: Counter[int] = Counter()
        for (allowed_pairs, target), count in self.links[position].items():
            if character in self.read(target) and (allowed_pairs is None or (last, character) in allowed_pairs):
                ways[target] += count
        return ways

    def _choose_alphabet(self, tree: Any) -> frozenset[str]:
        """Return one character of each set that no part of the pattern divides."""
        codes = {code for node, _ in _find_readers(tree, 0, 0) for code in _list_codes(node)}
        near = {chr(code + step) for code in codes for step in (-1, 0, 1) if 0 <= code + step < 0x110000}
        case_variants = {text for c in near for text in (c.lower(), c.upper(), c.swapcase()) if len(text) == 1}
        tests = [*self._readers.values(), self._is_word, re.compile("\n").match]
        sets: dict[tuple[bool, ...], str] = {}
        for character in [*" a1_.x", *SAMPLE, *sorted(near | case_variants)]:
            sets.setdefault(tuple(test(character) is not None for test in tests), character)
        return frozenset(sets.values())

    def _find_certain(self, piece: Piece, whole: bool) -> set[int]:
        """Return the positions from which the rest of the pattern matches any text."""
        at_end = frozenset(pair for pair in self._pairs if pair[1] is None) | {EXACT}
        ends: dict[int, list[Allowed]] = {}
        for position, allowed_pairs in piece.last:
            ends.setdefault(position, []).append(intersect_pairs(allowed_pairs, at_end) if whole else allowed_pairs)
        certain = set(ends)
        while doubtful := {p for p in certain if not self._matches_always(p, ends[p], certain)}:
            certain -= doubtful
        return certain

    def _matches_always(self, position: int, ends: list[Allowed], certain: set[int]) -> bool:
        """Whether the pattern ends after a position, or continues at a certain one, before any character."""
        links = [(a, self.read(p)) for a, p in self.links[position] if p in certain and (a is None or EXACT in a)]
        stops = [allowed_pairs for allowed_pairs in ends if allowed_pairs is None or EXACT in allowed_pairs]
        return all(
            any(allowed_pairs is None or (last, next_character) in allowed_pairs for allowed_pairs in stops)
            or any(
                (a is None or (last, next_character) in a) and next_character in characters for a, characters in links
            )
            for last in self.read(position)
            for next_character in [*self.alphabet, None]
        )

    def _read_sequence(self, nodes: Iterable[Any]) -> Piece:
        return self._join([self._read_node(node) for node in nodes])

    def _join(self, pieces: list[Piece]) -> Piece:
        whole = Piece(empty=[None])
        for piece in pieces:
            for position, ending in whole.last:
                self._link(position, ending, piece.first)
            whole.first += [
                (intersect_pairs(empty, allowed_pairs), p) for empty in whole.empty for allowed_pairs, p in piece.first
            ]
            whole.last = piece.last + [
                (p, intersect_pairs(ending, empty)) for p, ending in whole.last for empty in piece.empty
            ]
            whole.empty = _keep_two_of_each(
                intersect_pairs(left, right) for left in whole.empty for right in piece.empty
            )
        return whole

    def _link(self, position: int, ending: Allowed, beginnings: list[tuple[Allowed, int]]) -> None:
        self.links[position].update(
            [(intersect_pairs(ending, allowed_pairs), target) for allowed_pairs, target in beginnings]
        )

    def _read_node(self, node: Any) -> Piece:
        name, argument = str(node[0]), node[1]
        if name in ONE_CHARACTER:
            return self._add_position(frozenset(c for c in self.alphabet if self._readers[id(node)](c)))
        if name in REPETITIONS:
            return self._read_repetition(*argument, name == "POSSESSIVE_REPEAT")
        if name == "SUBPATTERN":
            self._groups[argument[0]] = argument[3]
            return self._read_sequence(argument[3])
        if name == "ATOMIC_GROUP":
            return self._read_atomic(argument)
        if name == "BRANCH":
            return self._read_branches(argument[1])
        if name == "GROUPREF_EXISTS":
            return self._read_branches([argument[1], argument[2] or []])
        if name == "GROUPREF" and not _has_cycle(self._groups[argument]):
            return self._read_sequence(self._groups[argument])
        if name == "GROUPREF":  # any text
            piece = self._add_position(self.alphabet)
            self._close_cycle(piece)
            return Piece(piece.first, piece.last, [None])
        if name in ("ASSERT", "ASSERT_NOT"):
            return self._read_lookaround(argument[0] > 0, argument[1], name == "ASSERT")
        if name == "AT":
            return Piece(empty=[self._read_boundary(str(argument))])
        if name == "FAILURE":
            return Piece()
        raise ValueError(f"the part {name} of a pattern is unknown: add it to {__name__}")

    def _add_position(self, characters: frozenset[str]) -> Piece:
        position = len(self._classes)
        self._classes.append(characters)
        self.links[position] = Counter()
        return Piece(first=[(None, position)], last=[(position, None)])

    def _read_branches(self, branches: Iterable[Any]) -> Piece:
        pieces = [self._read_sequence(branch) for branch in branches]
        return Piece(
            first=[item for piece in pieces for item in piece.first],
            last=[item for piece in pieces for item in piece.last],
            empty=[item for piece in pieces for item in piece.empty],
        )

    def _read_atomic(self, nodes: Any) -> Piece:
        if len(nodes) == 1 and str(nodes[0][0]) in ("MAX_REPEAT", "POSSESSIVE_REPEAT"):
            return self._read_repetition(*nodes[0][1], True)
        return self._read_sequence(nodes)

    def _read_repetition(self, least: int, max_count: int, item: Any, possessive: bool = False) -> Piece:
        copies = min(least, 4) or 1
        if 1 < max_count <= SMALL_BOUND and _has_cycle(item):
            copies = 2
        pieces = [self._read_sequence(item) for _ in range(copies)]
        if max_count > SMALL_BOUND:
            self._close_cycle(pieces[-1])
        elif copies > least:
            pieces[-1].empty = [None]
        whole = self._join(pieces)
        if least == 0:
            whole.empty = [None]
        if possessive and max_count > SMALL_BOUND and len(item) == 1 and str(item[0][0]) in ONE_CHARACTER:
            self._take_all(whole, pieces[-1].first[0][1])
        return whole

    def _close_cycle(self, piece: Piece) -> None:
        for position, ending in piece.last:
            self._link(position, ending, piece.first)

    def _take_all(self, piece: Piece, position: int) -> None:
        """Let a possessive repetition end only before a character that it does not read."""
        unread_pairs = frozenset(pair for pair in self._pairs if pair[1] not in self.read(position)) | {EXACT}
        piece.last = [(last, intersect_pairs(ending, unread_pairs)) for last, ending in piece.last]
        piece.empty = [intersect_pairs(empty, unread_pairs) for empty in piece.empty]

    def _read_lookaround(self, ahead: bool, nodes: Any, positive: bool) -> Piece:
        """Restrict the characters around a boundary, and add the unbounded part of a lookahead."""
        body = self._read_sequence(nodes)
        if ahead:
            edge = list(body.first)
            alone = {position for position, ending in body.last if ending is None}
        else:
            edge = [(ending, position) for position, ending in body.last]
            alone = {position for allowed_pairs, position in body.first if allowed_pairs is None}
        exact = {EXACT} if all(position in alone for _, position in edge) else set()
        if not positive:  # only what a single character decides
            edge = [(allowed_pairs, position) for allowed_pairs, position in edge if position in alone]
        near = 1 if ahead else 0
        matches = {
            pair
            for allowed_pairs, position in edge
            for pair in (self._pairs if allowed_pairs is None else allowed_pairs)
            if pair[near] in self.read(position)
        }
        matches.update(pair for empty in body.empty for pair in (self._pairs if empty is None else empty))
        boundary_pairs = frozenset(matches if positive else self._pairs - matches) | exact
        return Piece(first=body.first if ahead and _has_cycle(nodes) else [], empty=[boundary_pairs])

    def _read_boundary(self, name: str) -> Allowed:
        flags = self._state.flags
        lines = bool(flags & re.MULTILINE)
        pairs = frozenset(pair for pair in self._pairs if self._is_boundary(name, *pair, lines))
        return pairs if name == "AT_END" and not lines else pairs | {EXACT}  # `$`: the line break must be the last

    def _is_boundary(self, name: str, last: str | None, next_character: str | None, lines: bool) -> bool:
        if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
            differ = bool(last and self._is_word(last)) != bool(next_character and self._is_word(next_character))
            return differ == (name == "AT_BOUNDARY")
        if name == "AT_BEGINNING":
            return last is None or (lines and last == "\n")
        if name == "AT_END":
            return next_character in (None, "\n")
        return (last if name == "AT_BEGINNING_STRING" else next_character) is None


def _find_readers(nodes: Any, add: int, remove: int) -> Iterator[tuple[Any, Any]]:
    """Yield each node that reads one character, and the same node with its local flags."""
    for node in nodes:
        name, argument = str(node[0]), node[1]
        if name in ONE_CHARACTER:
            alone = _parser.SubPattern(nodes.state, [node])
            yield node, (_constants.SUBPATTERN, (None, add, remove, alone)) if add or remove else node
        elif name == "SUBPATTERN":
            yield from _find_readers(argument[3], (add | argument[1]) & ~argument[2], remove | argument[2])
        else:
            for inner in _list_inner(name, argument):
                yield from _find_readers(inner, add, remove)


def _list_inner(name: str, argument: Any) -> list[Any]:
    if name in REPETITIONS:
        return [argument[2]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    if name == "BRANCH":
        return argument[1]
    if name == "SUBPATTERN":
        return [argument[3]]
    return [inner for inner in argument[1:] if inner] if name == "GROUPREF_EXISTS" else []


def _list_codes(node: Any) -> list[int]:
    items = node[1] if str(node[0]) == "IN" else [node]
    literals = [code for name, code in items if str(name) in ("LITERAL", "NOT_LITERAL")]
    return literals + [code for name, ends in items if str(name) == "RANGE" for code in ends]


def _has_cycle(nodes: Any) -> bool:
    return any(
        (str(name) in REPETITIONS and argument[1] > SMALL_BOUND)
        or str(name) == "GROUPREF"
        or any(_has_cycle(inner) for inner in _list_inner(str(name), argument))
        for name, argument in nodes
    )


def _keep_two_of_each(items: Iterable[Allowed]) -> list[Allowed]:
    return [item for item, count in Counter(items).items() for _ in range(min(count, 2))]
