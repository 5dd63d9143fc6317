"""Generate the catalogue of a shop, in the form of WebShop's files. Its words were written for this project.

Each kind of product has several product lines, and each line has one maker. The products of a line are nearly the same:
they differ in one attribute, in colours and sizes, or in the price, so that the choice between them matters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from lumos_queue.actions.shop.kinds import KINDS, Kind
from lumos_queue.actions.shop.lexicon import BRANDS, GROUP_NAMES, OPTIONS
from lumos_queue.actions.shop.products import Product, read_product
from lumos_queue.readers.fields import Node

LINES = 18  #: of each kind
SIBLINGS = 4  #: products of a line


@lru_cache(maxsize=2)
def rows(seed: int = 0) -> tuple[dict[str, Any], ...]:
    """Return the rows of the product file in shuffled order. They depend on the seed alone."""
    rng = random.Random(f"shop {seed}")
    numbers = iter(rng.sample(range(10_000, 100_000), len(KINDS) * LINES * SIBLINGS))
    product_rows = [row for kind in KINDS for line in range(LINES) for row in _line(kind, BRANDS[line], rng, numbers)]
    rng.shuffle(product_rows)
    return tuple(product_rows)


def attributes(seed: int = 0) -> dict[str, dict[str, list[str]]]:
    """Return the content of the catalogue's attribute file: asin to attributes."""
    return {row["asin"]: {"attributes": list(row["attributes"])} for row in rows(seed)}


def products(seed: int = 0) -> Iterator[Product]:
    """Return the products of the generated catalogue, in the form of products that are read from a file."""
    attributes_by_asin = {asin: tuple(entry["attributes"]) for asin, entry in attributes(seed).items()}
    return (read_product(Node(number, "", row), attributes_by_asin) for number, row in enumerate(rows(seed), start=1))


def _line(kind: Kind, brand: str, rng: random.Random, numbers: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a product line: two with the same two attributes, and two that differ in one of them."""
    first, second, *further_names = rng.sample(kind.attributes, len(kind.attributes))
    for names in ((first, second), (first, second), (first, further_names[0]), (further_names[-1], second)):
        low, high = kind.dollars
        price = rng.randint(low, high) - 0.01
        title = " ".join((brand, *(name.title() for name in names), kind.name.title()))
        yield {
            "asin": f"B{next(numbers)}",
            "name": title,
            "category": kind.category,
            "query": kind.name,
            "product_category": kind.path,
            "small_description": [f"{name} {kind.name}" for name in names],
            "full_description": f"{kind.name} by {brand.lower()}",
            "pricing": f"${price:.2f}",
            "customization_options": {GROUP_NAMES[group]: _draw_options(group, rng) for group in kind.groups},
            "images": ["none"],
            "attributes": names,
        }


def _draw_options(group: str, rng: random.Random) -> list[dict[str, Any]]:
    """Return about half of a group's values, in the group's order."""
    values = list(OPTIONS[group])
    sample = set(rng.sample(values, max(2, (len(values) + 1) // 2 - (len(values) > 6))))
    return [{"value": value, "image": None} for value in values if value in sample]
