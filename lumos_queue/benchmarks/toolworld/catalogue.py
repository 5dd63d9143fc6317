"""The catalogue: tools of nine categories, and the documents of their APIs in ToolBench's form.

A category has four kinds of things and six attributes. A tool returns a thing that belongs to another thing,
`find_depot_of_shipment`, and an attribute of a thing, `find_weight_of_shipment`. A collection has three categories. The
catalogue is the same for every seed; seeds only determine the tasks. All words were chosen for this project; the tools
and things do not exist.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from lumos_queue.actions.tools.world import ANSWERS, FORMER, NOTES, TYPES

TRAINING_TOOLS, HELD_OUT_TOOLS = 4, 2  #: tools of each training category; all tools of a held-out category are held out


@dataclass(frozen=True, slots=True)
class Category:
    """A category: its name, and the kinds of things and attributes that its tools know."""

    name: str
    kinds: tuple[str, ...]
    attributes: tuple[str, ...]


def _category(name: str, kinds: str, attributes: str) -> Category:
    return Category(name, tuple(kinds.split()), tuple(attributes.split()))


#: Collection to its categories. The last collection is in no training task.
COLLECTIONS: Mapping[str, tuple[Category, ...]] = {
    "Trade": (
        _category("Logistics", "shipment depot driver container", "weight mileage tariff volume delay fee"),
        _category("Commerce", "order product supplier warehouse", "price stock discount margin turnover quota"),
        _category("Finance", "account branch loan broker", "balance limit premium surcharge yield deposit"),
    ),
    "Culture": (
        _category("Museums", "exhibit gallery curator donor", "height attendance loancode age shelfmark insurance"),
        _category("Events", "concert venue band promoter", "capacity ticketcount rent guarantee rehearsals setlength"),
        _category("Media", "podcast studio host sponsor", "duration downloads budget frequency ranking bitrate"),
    ),
    "Science": (
        _category("Weather", "station region sensor forecast", "rainfall pressure humidity visibility altitude drift"),
        _category("Space", "mission probe observatory launcher", "payload orbit thrust distance crew bandwidth"),
        _category(
            "Chemistry", "compound laboratory reagent chemist", "density solubility purity acidity charge halflife"
        ),
    ),
}
HELD_OUT_COLLECTION = "Science"
_FIRST = ("Amber", "Brisk", "Cedar", "Delta", "Early", "Fair", "Green", "Hollow", "Inner", "Jade", "Keen", "Lunar")
_SECOND = ("Desk", "Index", "Ledger", "Finder", "Bridge", "Board", "Guide", "Register")
#: Names of APIs: {b} of an {a}. Each tool uses them in its own order.
STYLES = (
    "get_{b}_by_{a}",
    "{a}_{b}_lookup",
    "find_{b}_of_{a}",
    "{a}_to_{b}",
    "read_{a}_{b}",
    "query_{b}_from_{a}",
    "{b}_under_{a}",
    "resolve_{a}_{b}",
)
#: Descriptions of documents by kind of API. {a} is the kind of the argument, {b} the kind of the value.
DESCRIPTIONS: Mapping[str, tuple[str, ...]] = {
    ANSWERS: ("Takes the id of the {a} and returns its {b}.", "Tells the {b} that belongs to the {a} with this id."),
    FORMER: ("Takes the id of the {a} and returns the {b} that it had before.",),
    TYPES: ("Takes the id of the {a} and returns which types of {b} there are.",),
    NOTES: ("Takes the id of the {a} and returns notes on its {b}.",),
}
_NAMES = {
    ANSWERS: "{b}",
    FORMER: "former_{b}",
    TYPES: "{b}_types",
    NOTES: "{b}_notes",
}  #: name of the returned value by kind of API


@dataclass(frozen=True, slots=True)
class Tool:
    """A provider of APIs."""

    name: str
    category: str
    styles: tuple[int, ...]  #: indices of STYLES in the tool's order


@dataclass(frozen=True, slots=True)
class ApiName:
    """An API, by the fields that determine its document."""

    tool: Tool
    kind: str
    of: str
    gives: str
    style: int

    @property
    def name(self) -> str:
        return STYLES[self.style].format(a=self.of, b=_NAMES[self.kind].format(b=self.gives))


@cache
def tools() -> Mapping[str, tuple[Tool, ...]]:
    """Return all tools by category, the training tools first."""
    draw = random.Random("toolworld tools")
    names = [f"{first} {second}" for first in _FIRST for second in _SECOND]
    draw.shuffle(names)
    tools_by_category: dict[str, tuple[Tool, ...]] = {}
    for categories in COLLECTIONS.values():
        for category in categories:
            own_names = [names.pop() for _ in range(TRAINING_TOOLS + HELD_OUT_TOOLS)]
            tools_by_category[category.name] = tuple(Tool(name, category.name, _order(draw)) for name in own_names)
    return tools_by_category


def _order(draw: random.Random) -> tuple[int, ...]:
    order = list(range(len(STYLES)))
    draw.shuffle(order)
    return tuple(order)


@lru_cache(maxsize=100_000)
def document(api: ApiName) -> Mapping[str, Any]:
    """Return an API's entry in an `api_list`. Copy the entry before changing it."""
    texts = DESCRIPTIONS[api.kind]
    gives = _NAMES[api.kind].format(b=api.gives)
    return {
        "category_name": api.tool.category,
        "tool_name": api.tool.name,
        "api_name": api.name,
        "api_description": texts[api.style % len(texts)].format(a=api.of, b=api.gives),
        "required_parameters": [_parameter(api.of, f"{api.of}_id")],
        "optional_parameters": [],
        "method": "GET",
        "template_response": {api.of: "str", gives: "str"},
    }


@cache
def describe_tool(tool: Tool) -> str:
    """Return the description of a tool: the things and the attributes that it knows."""
    category = next(
        category for categories in COLLECTIONS.values() for category in categories if category.name == tool.category
    )
    kinds, attributes = (", ".join(words) for words in (category.kinds, category.attributes))
    return f"Keeps records in {category.name.lower()}, on each {kinds} with {attributes}."


def misspell(entry: Mapping[str, Any], of: str, position: int) -> tuple[dict[str, Any], str]:
    """Return the entry with two letters of its parameter exchanged, which `position` selects, and the right name."""
    right = f"{of}_id"
    positions = [index for index in range(1, len(of) - 1) if right[index] != right[index + 1]]
    index = positions[position % len(positions)]
    wrong = right[:index] + right[index + 1] + right[index] + right[index + 2 :]
    return {**entry, "required_parameters": [_parameter(of, wrong)]}, right


def _parameter(of: str, name: str) -> dict[str, str]:
    return {"name": name, "type": "STRING", "description": f"Id of the {of}.", "default": ""}


def read_description(text: str) -> tuple[str, str, str] | None:
    """Return the kinds of an API, its argument and its value from its description; None for any other text."""
    for kind, pattern in _patterns():
        if match := pattern.search(text):
            return kind, match["a"], match["b"]
    return None


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (kind, re.compile(re.escape(text).replace(r"\{a\}", r"(?P<a>\w+)").replace(r"\{b\}", r"(?P<b>\w+)")))
        for kind, texts in DESCRIPTIONS.items()
        for text in texts
    ]
