"""A small generated world: books, people, towns, rivers and clubs, and two providers of each of ten relations.

Everything follows from a seed. An API has one argument and answers what is related to it; the documents are written as
ToolBench writes them. The world is invented: no model can know it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

_FIRST = ("Ada", "Bela", "Cora", "Dirk", "Edda", "Finn", "Gerda", "Hugo", "Ilse", "Jona")
_LAST = ("Amsel", "Birch", "Croft", "Dunn", "Ebner", "Falk", "Graf", "Holt")
_BEGIN = ("Om", "Tar", "Vel", "Kes", "Nor", "Lu", "Bri", "Sol")
_TOWN, _RIVER = ("bry", "wick", "stead", "ford", "ham"), ("na", "ra", "lisse", "mer", "va")
_COLOUR = ("Amber", "Silver", "Quiet", "Hollow", "Distant", "Seventh", "Broken", "Painted")
_THING = ("Road", "Harbour", "Orchard", "Letters", "Winter")
_CLUB = ("Rovers", "Wanderers", "Athletic", "Union", "Harriers")


@dataclass(frozen=True, slots=True)
class Relation:
    """What an API tells: `name` is the API's and the field of its answer, `of` the argument's and its kind."""

    name: str
    of: str
    gives: str  #: a kind, or 'number'
    category: str
    providers: tuple[str, str]  #: the tools that tell it


_BOOKS, _PEOPLE = ("Books", ("Leaf Index", "Page Finder")), ("People", ("Who Is It", "Face Directory"))
_PLACES, _SPORTS = ("Places", ("Map Room", "Land Register")), ("Sports", ("Score Board", "Field Notes"))
RELATIONS = {
    name: Relation(name, of, gives, *where)
    for name, of, gives, where in (
        ("author", "book", "person", _BOOKS),
        ("home", "person", "town", _PEOPLE),
        ("age", "person", "number", _PEOPLE),
        ("club", "person", "club", _PEOPLE),
        ("mayor", "town", "person", _PLACES),
        ("river", "town", "river", _PLACES),
        ("population", "town", "number", _PLACES),
        ("length", "river", "number", _PLACES),
        ("founder", "club", "person", _SPORTS),
        ("capacity", "club", "number", _SPORTS),
    )
}
Api = tuple[str, str]  #: a provider and the name of a relation


class World:
    """The things of a seed and how they are related."""

    def __init__(self, seed: int):
        draw = self._draw = random.Random(f"world {seed}")
        self.things: Mapping[str, tuple[str, ...]] = {
            "book": self._names(_COLOUR, _THING, 24, " "),
            "person": self._names(_FIRST, _LAST, 40, " "),
            "town": self._names(_BEGIN, _TOWN, 20, ""),
            "river": self._names(_BEGIN, _RIVER, 16, ""),
            "club": self._names(_BEGIN, _CLUB, 12, " "),
        }
        numbers = iter(draw.sample(range(101, 9999), 400))  # no two are equal: a number tells what it is of
        self.facts: dict[tuple[str, str], str] = {}  #: (relation, thing) to what is related
        for relation in RELATIONS.values():
            for thing in self.things[relation.of]:
                choices = self.things.get(relation.gives)
                self.facts[relation.name, thing] = draw.choice(choices) if choices else str(next(numbers))

    def _names(self, first: tuple[str, ...], last: tuple[str, ...], many: int, between: str) -> tuple[str, ...]:
        return tuple(f"{a}{between}{b}" for a, b in self._draw.sample([*product(first, last)], many))

    @cached_property
    def _by_small_letters(self) -> Mapping[str, Mapping[str, str]]:
        return {kind: {name.lower(): name for name in names} for kind, names in self.things.items()}

    def named_in(self, text: str, kind: str, strict: bool) -> str | None:
        """The thing of that kind that an argument names: exactly, or else the only one whose name is in the text."""
        names = self._by_small_letters[kind]
        if strict:
            return text if text in self.things[kind] else None
        small = text.strip().lower()
        matches = [small] if small in names else [name for name in names if name in small]
        return names[matches[0]] if len(matches) == 1 else None

    def tell(self, relation: str, text: str, strict: bool = False) -> dict[str, Any] | None:
        """What an API answers of that argument; None where it knows no such thing."""
        definition = RELATIONS[relation]
        if (thing := self.named_in(text, definition.of, strict)) is None:
            return None
        return {definition.of: thing, relation: self.facts[relation, thing]}


def document(api: Api) -> dict[str, Any]:
    """An API's entry in an `api_list`."""
    provider, name = api
    relation = RELATIONS[name]
    return {
        "category_name": relation.category,
        "tool_name": provider,
        "api_name": name,
        "api_description": f"Tells the {name} of a {relation.of}.",
        "required_parameters": [{"name": relation.of, "type": "STRING", "description": f"Name of the {relation.of}."}],
        "optional_parameters": [],
        "method": "GET",
        "template_response": {relation.of: "str", name: "str"},
    }
