"""Circular imports: strongly connected components, in which each module reaches every other module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from tests.structure.imports import Import, Kind

RUN = (Kind.MODULE,)  #: imports that run when a module is imported
ALL = (Kind.MODULE, Kind.FUNCTION)
TYPED = (Kind.MODULE, Kind.FUNCTION, Kind.TYPING)


@dataclass(frozen=True)
class Circle:
    members: list[str]
    arrows: list[tuple[str, str, list[str]]]  #: importer, imported, the locations of the imports


def find_circles(imports: list[Import], kinds: Collection[Kind]) -> list[Circle]:
    """Return the circles, the largest first."""
    locations = defaultdict(list)
    targets = defaultdict(set)
    for statement in imports:
        if statement.kind in kinds:
            targets[statement.importer].add(statement.imported)
            locations[statement.importer, statement.imported].append(statement.location)
    reachable = {name: _reach(name, targets) for name in list(targets)}
    circles = {
        frozenset(member for member in all_of_it if name in reachable.get(member, ()))
        for name, all_of_it in reachable.items()
        if name in all_of_it
    }
    return [
        Circle(
            sorted(members), [(*arrow, locations[arrow]) for arrow in sorted(locations) if members.issuperset(arrow)]
        )
        for members in sorted(circles, key=lambda circle: (-len(circle), sorted(circle)))
    ]


def _reach(start: str, targets: dict[str, set[str]]) -> set[str]:
    """Return the modules that a module reaches by at least one import."""
    visited: set[str] = set()
    pending = [start]
    while pending:
        new = targets.get(pending.pop(), set()) - visited
        visited |= new
        pending += new
    return visited
