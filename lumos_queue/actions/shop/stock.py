"""Open the products of a shop and their search. All episodes of a process share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from threading import Lock

from lumos_queue.actions.shop.products import Product, read_attributes, read_products
from lumos_queue.actions.shop.search import SearchIndex
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.util.launch_folder import from_launch

_ONE_AT_A_TIME = Lock()  #: episodes that start together open the stock once


class Stock:
    """The products of a shop by asin, and the search over them."""

    def __init__(self, rows: Iterable[Product | BadRow], name: str):
        """`name`: the file's name, for messages. Raises SpecError if no row is a product."""
        self.products: dict[str, Product] = {}
        self.bad = 0  #: rows that are not products
        self.left_out = 0  #: options with the name of a button
        first: BadRow | None = None
        for row in rows:
            if isinstance(row, BadRow):
                self.bad += 1
                first = first or row
            else:
                self.products[row.asin] = row
                self.left_out += row.left_out
        if not self.products:
            raise SpecError(f"'{name}' holds no product" + (f"; the first problem: {first}." if first else "."))
        self.index = SearchIndex(list(self.products.values()))


def open_stock(tools: Mapping[str, str]) -> Stock:
    """Return the stock that the tool options name. The first call reads or generates it. Raises SpecError."""
    names = ("catalogue", "attributes", "catalogue_sha256", "attributes_sha256")
    with _ONE_AT_A_TIME:
        return _open(*(tools.get(name, "") for name in names))


@lru_cache(maxsize=2)
def _open(catalogue: str, attributes: str, *_digests: str) -> Stock:
    """Return a stock. The digests only belong to the cache's key, so that changed files give another stock."""
    if not catalogue:
        from lumos_queue.actions.shop.catalogue import products  # only a generated shop needs it

        return Stock(products(), "the generated catalogue")
    attributes_by_asin = read_attributes(from_launch(attributes)) if attributes else {}
    return Stock(read_products(from_launch(catalogue), attributes_by_asin), catalogue)
