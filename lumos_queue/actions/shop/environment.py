"""One visit to the shop: pages, and the moves between them. Texts and clickables are as in WebShop's simulator.

search ──search──▶ results ◀─▶ further results        (10 a page, 50 at most)
                     │  ▲
                     ▼  │ < prev
                    item ──▶ description, features, reviews ──< prev──▶ item
                     │
                     ▼ buy now
                    done
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lumos_queue.actions.shop.controls import BACK, BUY, NEXT, PREVIOUS, SUB_PAGES
from lumos_queue.actions.shop.products import Product
from lumos_queue.actions.shop.stock import Stock
from lumos_queue.errors import ActionError

SEPARATOR = " [SEP] "
FOUND, SHOWN = 50, 10  #: products that a search finds at most, and that a page shows
MAX_QUERY = 2_000  #: characters of a search
MAX_LISTED, MAX_CHOICE = 20, 60  #: choices that an error names, and their characters

Move = Callable[[], "ShopPage"]
_A_SEARCH = "Search(red running shoes)"
_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ShopPage:
    """A page as a visitor sees it."""

    name: str  #: search, results, item, description, features, reviews or done
    observation: str  #: the page's texts, joined by ` [SEP] `
    moves: dict[str, Move]  #: by the text that can be clicked (lower case), in the simulator's order
    products: tuple[Product, ...] = ()  #: on a results page: those that it shows
    options: tuple[str, ...] = ()  #: on an item page: the values that can be chosen

    @property
    def clickables(self) -> list[str]:
        return list(self.moves)


class Visit:
    """One visit: the open page, the results of the latest search, and the chosen options."""

    def __init__(self, stock: Stock, instruction: str):
        self._stock = stock
        self._instruction = " ".join(instruction.split())
        self._results: Sequence[Product] = ()
        self._number = 1  #: of the results page
        self.product: Product | None = None
        self.chosen: dict[str, str] = {}  #: option group to value
        self.page = self._search_page()

    def search(self, query: str) -> ShopPage:
        """Search from any page, as the simulator allows. Raises ActionError."""
        self._check_open()
        if not query:
            raise ActionError("syntax", f"a search needs words, for example: {_A_SEARCH}")
        if len(query) > MAX_QUERY:
            raise ActionError("too_large", f"a search may have {MAX_QUERY} characters, this has {len(query)}")
        self._results = self._stock.index.search(query, FOUND)
        self.page = self._results_page(1)
        return self.page

    def click(self, target: str) -> ShopPage:
        """Click a text of the page. Raises ActionError with the possible texts if the text is not on the page."""
        self._check_open()
        self.page = self.page.moves[self.choice(target)]()
        return self.page

    def choice(self, target: str) -> str:
        """Return the clickable text of the page that `target` means.

        Ignores case, spaces, punctuation, quotes and `color: ` before an option. Raises ActionError for another text.
        """
        moves = self.page.moves
        text = " ".join(target.lower().split())
        forms = (text, text.rstrip("."), text.strip("'\"[]"), text.replace("/", " | "))
        for form in (*forms, text.partition(": ")[2], text.partition(" - ")[0]):
            form = " ".join(form.split())
            if form in moves:
                return form
        letters = _LETTERS.sub("", text)
        matches = [name for name in moves if letters and _LETTERS.sub("", name) == letters]
        if len(matches) == 1:
            return matches[0]
        problem = f"'{text[:MAX_CHOICE]}' is not on this page"
        if not moves:  # the page of the search box
            raise ActionError("no_such_choice", f"{problem}; only Search is possible here, for example: {_A_SEARCH}")
        preview = [name[:MAX_CHOICE] for name in list(moves)[:MAX_LISTED]]
        hidden_count = len(moves) - len(preview)
        choices = ", ".join(preview) + (f", and {hidden_count} more" if hidden_count > 0 else "")
        raise ActionError("no_such_choice", f"{problem}; there are: {choices}")

    def _check_open(self) -> None:
        if self.page.name == "done":
            raise ActionError("ended", "the purchase is made; there is nothing more to do")

    def _texts(self, *texts: str) -> str:
        return SEPARATOR.join(("Instruction:", self._instruction, *texts))

    def _search_page(self) -> ShopPage:
        """Return the first page. It has a button, but nothing can be clicked, because a search needs words."""
        self.product, self.chosen = None, {}
        return ShopPage("search", f"WebShop{SEPARATOR}{self._texts('Search')}", {})

    def _results_page(self, number: int) -> ShopPage:
        self._number, self.product, self.chosen = number, None, {}
        visible_products = tuple(self._results[(number - 1) * SHOWN : number * SHOWN])
        texts = [BACK, f"Page {number} (Total results: {len(self._results)})"]
        moves: dict[str, Move] = {BACK.lower(): self._search_page}
        if number > 1:
            texts.append(PREVIOUS)
            moves[PREVIOUS.lower()] = lambda: self._results_page(number - 1)
        if number * SHOWN < len(self._results):
            texts.append(NEXT)
            moves[NEXT.lower()] = lambda: self._results_page(number + 1)
        for product in visible_products:
            texts += [product.asin, product.title, product.price_tag]
            moves[product.asin.lower()] = lambda product=product: self._item_page(product)
        return ShopPage("results", self._texts(*texts), moves, products=visible_products)

    def _item_page(self, product: Product) -> ShopPage:
        self.product = product
        texts, options = [BACK, PREVIOUS], []
        moves: dict[str, Move] = {
            BACK.lower(): self._search_page,
            PREVIOUS.lower(): lambda: self._results_page(self._number),
            **{name.lower(): lambda name=name: self._sub_page(product, name) for name in SUB_PAGES},
            BUY.lower(): lambda: self._end_page(product),
        }
        for group, values in product.options.items():
            texts += [group, *values]
            for value in values:
                options.append(value)
                moves[value] = lambda group=group, value=value: self._choose(product, group, value)
        texts += [product.title, f"Price: {product.price_tag}", "Rating: N.A.", *SUB_PAGES, BUY]
        return ShopPage("item", self._texts(*texts), moves, options=tuple(options))

    def _choose(self, product: Product, group: str, value: str) -> ShopPage:
        self.chosen[group] = value
        return self._item_page(product)

    def _sub_page(self, product: Product, name: str) -> ShopPage:
        texts = {"Description": (product.description,), "Features": product.bullets}.get(name, ())
        moves: dict[str, Move] = {BACK.lower(): self._search_page, PREVIOUS.lower(): lambda: self._item_page(product)}
        return ShopPage(name.lower(), self._texts(BACK, PREVIOUS, *filter(None, texts)), moves)

    def _end_page(self, product: Product) -> ShopPage:
        return ShopPage("done", SEPARATOR.join(("Thank you for shopping with us!", "Purchased", product.asin)), {})
