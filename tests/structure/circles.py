"""Circles of imports: strongly connected components, sets of which each member reaches every other."""

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
    arrows: list[tuple[str, str, list[str]]]  #: importer, imported, the places of the imports


def find_circles(imports: list[Import], kinds: Collection[Kind]) -> list[Circle]:
    """The largest first."""
    places = defaultdict(list)
    targets = defaultdict(set)
    for one in imports:
        if one.kind in kinds:
            targets[one.importer].add(one.imported)
            places[one.importer, one.imported].append(one.place)
    reached = {name: _reach(name, targets) for name in list(targets)}
    circles = {
        frozenset(other for other in all_of_it if name in reached.get(other, ()))
        for name, all_of_it in reached.items()
        if name in all_of_it
    }
    return [
        Circle(sorted(members), [(*arrow, places[arrow]) for arrow in sorted(places) if members.issuperset(arrow)])
        for members in sorted(circles, key=lambda one: (-len(one), sorted(one)))
    ]


def _reach(start: str, targets: dict[str, set[str]]) -> set[str]:
    """What can be reached from a module by at least one import."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        new = targets.get(pending.pop(), set()) - seen
        seen |= new
        pending += new
    return seen
