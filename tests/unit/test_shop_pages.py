"""The pages are WebShop's: compared with four real pages of its simulator."""

from __future__ import annotations

from pathlib import Path

import lxml.html
import pytest

from lumos_queue.actions.shop.environment import Visit
from lumos_queue.actions.shop.products import read_product
from lumos_queue.actions.shop.stock import Stock
from lumos_queue.errors import ActionError
from lumos_queue.readers.fields import Node

ASIN = "B09P87V3LZ"
HIDDEN = {"style", "script", "head", "title", "meta"}


def page_of(folder: Path, name: str):
    return lxml.html.fromstring((folder / "webshop" / "html" / name).read_text(encoding="utf-8"))


def visible(page) -> list[str]:
    """The texts that a visitor sees, as the simulator collects them."""
    found = page.xpath("//body//text()")
    return [" ".join(text.split()) for text in found if text.getparent().tag not in HIDDEN and text.strip()]


def clickables(page) -> list[str]:
    """Buttons, then links to products, then options."""
    texts = page.xpath("//button[contains(@class,'btn')] | //a[@class='product-link']")
    buttons = [one for one in texts if one.tag == "button"] + [one for one in texts if one.tag == "a"]
    return [one.text.lower() for one in buttons] + page.xpath("//input[@type='radio']/@value")


def seen(observation: str) -> list[str]:
    return [" ".join(text.split()) for text in observation.split(" [SEP] ")]


def instruction(page) -> str:
    return visible(page)[1]


@pytest.fixture
def shop(shared_data: Path) -> Visit:
    """A shop of the products that the real pages show, found again and again to fill five pages."""
    results, item = (
        page_of(shared_data, "mock_parse_results_ws.html"),
        page_of(shared_data, "mock_parse_item_page_ws.html"),
    )
    texts = visible(results)[5:]  # after the heading: asin, title and price of each product
    rows = [
        {"asin": asin, "name": name, "pricing": None if price == "$100.0" else price}
        for asin, name, price in zip(texts[::3], texts[1::3], texts[2::3], strict=True)
    ]
    options: dict[str, list[dict[str, str]]] = {}
    for one in item.xpath("//input[@type='radio']"):
        options.setdefault(one.get("name"), []).append({"value": one.get("value")})
    features = page_of(shared_data, "mock_parse_item_page_ws_feat.html").xpath("//p[@class='product-info']/text()")
    (description,) = page_of(shared_data, "mock_parse_item_page_ws_desc.html").xpath(
        "//p[@class='product-info']/text()"
    )
    for row in rows:
        if row["asin"] == ASIN:
            row |= {"customization_options": options, "small_description": features, "full_description": description}
    products = [read_product(Node(number, "", row), {}) for number, row in enumerate(rows, start=1)]
    stock = Stock(products, "real pages")
    stock.index.search = lambda query, most: products * 5  # type: ignore[method-assign]  # Lucene's order, 50 results
    return Visit(stock, instruction(results))


def test_the_results_page_is_the_real_one(shop, shared_data):
    real = page_of(shared_data, "mock_parse_results_ws.html")
    page = shop.search("red basketball shoes")
    assert page.clickables == clickables(real)
    assert seen(page.observation) == visible(real)


def test_the_item_page_is_the_real_one(shop, shared_data):
    real = page_of(shared_data, "mock_parse_item_page_ws.html")
    shop.search("red basketball shoes")
    page = shop.click(ASIN.lower())
    assert page.clickables == clickables(real)
    assert page.clickables[:6] == ["back to search", "< prev", "description", "features", "reviews", "buy now"]
    assert list(page.options) == page.clickables[6:]
    assert seen(page.observation) == visible(real)


@pytest.mark.parametrize(("name", "file"), [("description", "desc"), ("features", "feat")])
def test_the_pages_behind_an_item_are_the_real_ones(shop, shared_data, name, file):
    real = page_of(shared_data, f"mock_parse_item_page_ws_{file}.html")
    shop.search("red basketball shoes")
    shop.click(ASIN)
    page = shop.click(name)
    assert page.name == name
    assert page.clickables == clickables(real)
    assert seen(page.observation) == visible(real)
    assert shop.click("< prev").name == "item"


def test_one_turns_pages_and_comes_back(shop):
    assert shop.page.observation.startswith("WebShop [SEP] Instruction: [SEP] ")
    first = shop.search("shoes")
    second = shop.click("Next >")
    assert second.clickables[:3] == ["back to search", "< prev", "next >"]
    assert "Page 2 (Total results: 50)" in second.observation
    assert shop.click("< prev").observation == first.observation
    for _ in range(4):
        last = shop.click("next >")
    assert "next >" not in last.clickables
    assert shop.click("back to search").name == "search"


def test_options_hold_until_one_goes_back(shop):
    shop.search("shoes")
    shop.click(ASIN)
    shop.click("red")
    shop.click("8.5")
    shop.click("black")
    assert shop.chosen == {"color": "black", "size": "8.5"}
    shop.click("description")
    shop.click("< prev")
    assert shop.chosen == {"color": "black", "size": "8.5"}
    shop.click("< prev")
    assert shop.chosen == {}
    assert shop.product is None


@pytest.mark.parametrize("written", ["< prev", "<prev", "< Prev", "prev", "'< prev'", "< prev.", "  <   PREV "])
def test_the_way_back_may_be_written_loosely(shop, written):
    shop.search("shoes")
    shop.click(ASIN)
    assert shop.click(written).name == "results"


@pytest.mark.parametrize(
    ("written", "meant"), [("color: red", "red"), ("Red", "red"), ("[red]", "red"), ("8.5.", "8.5")]
)
def test_options_may_be_written_loosely(shop, written, meant):
    shop.search("shoes")
    shop.click(ASIN)
    assert shop.choice(written) == meant


def test_what_is_not_there_is_answered_with_what_is(shop):
    shop.search("shoes")
    with pytest.raises(
        ActionError, match=r"'buy now' is not on this page; there are: back to search, next >, b0"
    ) as error:
        shop.click("buy now")
    assert error.value.kind == "no_such_choice"
    with pytest.raises(ActionError) as error:
        shop.click("x" * 20_000)
    assert len(str(error.value)) < 2_000
    assert shop.page.name == "results"


def test_where_only_a_search_is_possible_that_is_said(shop):
    told = r"^'b1' is not on this page; only Search is possible here, for example: Search\(red running shoes\)$"
    with pytest.raises(ActionError, match=told) as error:
        shop.click("b1")
    assert error.value.kind == "no_such_choice"
    shop.search("shoes")
    shop.click("back to search")
    with pytest.raises(ActionError, match="only Search is possible here"):
        shop.click("buy now")
    assert shop.search("shoes").name == "results"


def test_nothing_can_be_done_after_the_purchase(shop):
    shop.search("shoes")
    shop.click(ASIN)
    assert shop.click("buy now").name == "done"
    for act in (lambda: shop.click("back to search"), lambda: shop.search("shoes")):
        with pytest.raises(ActionError, match="the purchase is made"):
            act()
