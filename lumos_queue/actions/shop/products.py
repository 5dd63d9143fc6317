"""Read the products of WebShop's files (items_shuffle*.json), and their attributes (items_ins*.json).

This invented row has all fields that are read:

    {"asin": "B10423", "name": "Velmora Waterproof Laptop Bag", "category": "fashion", "query": "laptop bags",
     "product_category": "Luggage › Laptop Bags", "small_description": ["Padded inside"], "full_description": "A bag.",
     "pricing": "$24.49 to $39.99", "customization_options": {"color": [{"value": "blue", "image": null}]}}

Reading cleans all texts: one line, of bounded length, without the separators of pages and prompts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.actions.shop.controls import CONTROLS
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.fields import Node, RowNode
from lumos_queue.readers.json_records import MAX_DOCUMENT_BYTES
from lumos_queue.readers.opened_file import open_data
from lumos_queue.readers.records import read_records
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json
from lumos_queue.util.wording import format_bytes

FORMAT = "WebShop's product file (items_shuffle*.json): rows with 'asin' and 'name'"
ATTRIBUTES = "WebShop's attribute file (items_ins*.json): a JSON object, asin to {'attributes': [...]}"

MAX_TITLE, MAX_BULLET, MAX_DESCRIPTION, MAX_OPTION = 500, 2_000, 10_000, 120  #: characters; the rest is cut
MAX_BULLETS, MAX_GROUPS, MAX_OPTIONS = 50, 20, 300  #: of one product
MAX_ASIN = 10  #: as in the original, which skips longer ones
NO_PRICE = 100.0  #: dollars: the original's price of a product without a price

#: Texts that a product must not contain: the separators of pages and items, and the markers of a conversation.
_MARKS = re.compile(r"\[SEP\]|\*\*|<\|(?:user|assistant|system)\|>|</?s>|<pad>", re.IGNORECASE)
_AMOUNT = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Product:
    """One product; every text is cleaned."""

    asin: str  #: in capitals
    title: str
    category: str
    query: str  #: the search that lists the product in the shop; lower case
    product_category: str  #: `Home › Furniture › Sofas`
    bullets: tuple[str, ...]
    description: str
    prices: tuple[float, ...]  #: dollars: one, or the ends of a range
    options: Mapping[str, tuple[str, ...]]  #: group in lower case to its values
    attributes: tuple[str, ...] = ()
    left_out: int = 0  #: options with the name of a button, such as `buy now`

    @property
    def price_tag(self) -> str:
        return " to ".join(f"${price}" for price in self.prices)

    @property
    def price(self) -> float:
        """The price in dollars; of a range, a random price as in the original, which depends on the product alone."""
        if len(self.prices) == 1:
            return self.prices[0]
        return random.Random(f"price {self.asin}").uniform(*self.prices)


def clean(text: str, limit: int) -> str:
    """Return the text on one line with single spaces, at most `limit` characters, and no separators of pages."""
    line = " ".join(storable(text[: 4 * limit])[0].split())[:limit].strip()
    return _MARKS.sub(lambda match: " ".join(match[0]), line)


def read_products(
    path: Path | None, attributes: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[Product | BadRow]:
    """Yield each product in file order, or a BadRow with the reason. Raises SpecError when the file cannot be read."""
    known_asins: set[str] = set()
    for item in read_records(path, FORMAT, ("asin", "name")):
        if isinstance(item, BadRow):
            yield item
            continue
        try:
            product = read_product(RowNode(item[0], "", item[1]), attributes or {})
            if product.asin in known_asins:
                raise BadRow(item[0], "asin", f"'{product.asin}' appears twice")
        except BadRow as bad:
            yield bad
        else:
            known_asins.add(product.asin)
            yield product


def read_product(row: Node, attributes: Mapping[str, tuple[str, ...]]) -> Product:
    """Read one row as a product. Raises BadRow."""
    asin = row["asin"].text().upper()
    if asin == "NAN" or len(asin) > MAX_ASIN or not asin.isalnum():
        raise row["asin"].bad(f"expected at most {MAX_ASIN} letters and digits")
    title = clean(row["name"].text(), MAX_TITLE)
    if not title:
        raise row["name"].bad("empty")
    options, excluded_count = _options(row)
    return Product(
        asin=asin,
        title=title,
        category=_optional(row, "category", MAX_TITLE),
        query=_optional(row, "query", MAX_TITLE).lower(),
        product_category=_optional(row, "product_category", MAX_TITLE),
        bullets=_bullets(row),
        description=_optional(row, "full_description", MAX_DESCRIPTION),
        prices=_prices(row),
        options=options,
        attributes=attributes.get(asin, ()),
        left_out=excluded_count,
    )


def _optional(row: Node, name: str, limit: int) -> str:
    """Return the cleaned text of a field, which may be missing or null. Raises BadRow for another value."""
    if name not in row:
        return ""
    if not isinstance(row[name].value, str):
        raise row[name].bad("expected text")
    return clean(row[name].value, limit)


def _bullets(row: Node) -> tuple[str, ...]:
    """Return the texts of `small_description`, which is a list or one text."""
    name = "small_description"
    if name not in row or not isinstance(row[name].value, list):
        text = _optional(row, name, MAX_BULLET)
        return (text,) if text else ()
    texts = (clean(item.value, MAX_BULLET) for item in row[name].items()[:MAX_BULLETS] if isinstance(item.value, str))
    return tuple(text for text in texts if text)


def _prices(row: Node) -> tuple[float, ...]:
    text = _optional(row, "pricing", MAX_TITLE)
    if not text:
        return (NO_PRICE,)
    amounts = [float(amount.replace(",", "")) for amount in _AMOUNT.findall(text)[:2]]
    if not amounts or max(amounts) > 1e9:
        raise row["pricing"].bad(f"expected dollars, found '{text[:40]}'")
    return tuple(sorted(amounts))


def _options(row: Node) -> tuple[dict[str, tuple[str, ...]], int]:
    """Return the options of `customization_options`, and the number of skipped options, which have a button's name.

    A group may be null, and the whole field may be null or ''.
    """
    name = "customization_options"
    if name not in row or not row[name].value:
        return {}, 0
    options: dict[str, tuple[str, ...]] = {}
    option_budget, excluded_count = MAX_OPTIONS, 0
    groups = row[name]
    for group in list(groups.fields())[:MAX_GROUPS]:
        if group not in groups:
            continue
        contents = groups[group]
        values = dict.fromkeys(option_text(content["value"].text()) for content in contents.items()[:option_budget])
        options[clean(group, MAX_OPTION).lower()] = group_options = tuple(
            value for value in values if value and value not in CONTROLS
        )
        excluded_count += len(values.keys() & CONTROLS)
        option_budget -= len(group_options)
    return options, excluded_count


def option_text(value: str) -> str:
    """Return an option's text as it appears in clicks: in lower case, with ` | ` for `/`, as in the original."""
    return clean(value.strip().replace("/", " | "), MAX_OPTION).lower()


def read_attributes(path: Path) -> dict[str, tuple[str, ...]]:
    """Return a map from asin to attributes. Skips entries of another form. Raises SpecError for an unreadable file."""
    return {
        asin.upper(): tuple(clean(text, MAX_OPTION).lower() for text in entry["attributes"] if isinstance(text, str))
        for asin, entry in json_object(path, ATTRIBUTES).items()
        if isinstance(entry, Mapping) and isinstance(entry.get("attributes"), list)
    }


def json_object(path: Path, description: str) -> Mapping[str, object]:
    """Return the object of a JSON file. `description`: the expected content, for messages. Raises SpecError."""
    with open_data(path, description) as file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise SpecError(f"'{path}' is larger than {format_bytes(MAX_DOCUMENT_BYTES)}. Expected {description}.")
    try:
        document = read_json(data)
    except ValueError as error:
        raise SpecError(f"'{path}' is not {description}: {error}.") from error
    if not isinstance(document, dict):
        raise SpecError(f"'{path}' is not {description}: its outermost value is not an object.")
    return document
