"""Read the arguments of Click, FeatureRetrieve and Pick: variables, and the query after its label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lumos_queue.episode import Variables
from lumos_queue.errors import ActionError

_QUERY = re.compile(r"\b(?:Query|QUERY)\s*:")
_VARIABLE = re.compile(r"\bR[0-9]{1,6}\b")
_VARIABLE_ALONE = re.compile(r"\[?\s*(R[0-9]{1,6})\s*\]?")


def read_query(text: str, name: str) -> tuple[tuple[str, ...], str]:
    """Return the variables and the query of `R2, Query: words`. Raises ActionError without a query."""
    match = _QUERY.search(text)
    before, query = (text[: match.start()], text[match.end() :].strip()) if match else (text, "")
    if not query:
        raise ActionError("syntax", f"{name} needs a query, for example: {_EXAMPLES[name]}")
    return tuple(_VARIABLE.findall(before)), query


_EXAMPLES = {
    "FeatureRetrieve": "FeatureRetrieve(R2, Query: red, large)",
    "Pick": "Pick(Item_names: R1, Item_features: [R3, R6], Query: red shirt, large)",
}


def value_of(name: str, kind: str, variables: Variables) -> Mapping[str, Any]:
    """Return the value of a variable. Raises ActionError when it is not set or of another kind."""
    if name not in variables:
        raise ActionError("unknown_variable", f"{name} is not set; set are: {', '.join(variables) or 'none'}")
    value = variables[name]
    if value.get("kind") != kind:
        raise ActionError("wrong_kind", f"{name} holds '{value.get('kind')}', expected '{kind}'")
    return value


def click_targets(text: str, variables: Variables) -> list[str]:
    """Return the possible targets of a Click, in order of preference: the text, or the content of its variable."""
    variable = _VARIABLE_ALONE.fullmatch(text)
    if variable is None or variable[1] not in variables:
        return [text]
    value = variables[variable[1]]
    if value.get("kind") == "items":
        return [item["asin"] for item in value["items"]]
    return value["features"] if value.get("kind") == "features" else [str(value["text"])]


def describe_items(items: Mapping[str, Any], features: list[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return (asin, description) of each item that has features. Features belong to an item by asin, else by order."""
    by_asin = {value["asin"]: value["text"] for value in features}
    texts = []
    for position, item in enumerate(items["items"]):
        description = by_asin.get(item["asin"])
        if description is None and position < len(features) and not any(v["asin"] in by_asin for v in items["items"]):
            description = features[position]["text"]
        if description is not None:
            texts.append((item["asin"], f"{item['asin']} - {item['title']}. Available features: {description}"))
    return texts
