"""The WebShop actions: Search, FeatureRetrieve, Pick and Click (spec/lumos.md 4.2 and 5.5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.ranking.base import Ranker, top_positions
from lumos_queue.actions.ranking.registry import open_prepared
from lumos_queue.actions.session import ActionSession, Value, action
from lumos_queue.actions.shop.arguments import click_targets, describe_items, read_query, value_of
from lumos_queue.actions.shop.environment import ShopPage, Visit
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.actions.shop.tools import check_files, prepare_tools
from lumos_queue.episode import Diverged, StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution, Task
from lumos_queue.settings import Settings

RESULTS_SHOWN = 2  #: items that Search names, as in the original
BEST_FEATURES = 3  #: options that FeatureRetrieve names, as in the original
NO_OPTIONS = "buy now"  #: the text of FeatureRetrieve for an item without options, as in the original
MAX_TEXT = 2_000  #: characters of a page's clickables in a prompt
MAX_OBSERVATION = 8_000  #: characters of a page's text that are stored
MOVES = ("Search", "Click")  #: the actions that change the page


class ShopActions:
    """The actions of the shop, with the options in `tools.OPTIONS`.

    All episodes share the products, which the first action reads or generates. Each episode is a separate visit.
    """

    domain = "webshop"
    roles: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {"catalogue": "generated", "ranker": "lexical"}

    def __init__(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None):
        """Raises SpecError when a file is missing, or has changed since submission."""
        self._tools = dict(tools or {})
        check_files(self._tools)
        self._ranker: Ranker = open_prepared(self._tools)

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        return prepare_tools(tools)

    def begin(self, task: Task) -> ShopSession:
        return ShopSession(task.question, self._tools, self._ranker)

    async def close(self) -> None:
        await self._ranker.close()


class ShopSession(ActionSession):
    """One visit to the shop. A resumed session first repeats the recorded searches and clicks, but no other action."""

    def __init__(self, instruction: str, tools: Mapping[str, str], ranker: Ranker):
        self._instruction, self._tools, self._ranker = instruction, tools, ranker
        self._visit: Visit | None = None
        self._action_count = 0  #: actions of the episode that this visit contains

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. Raises Diverged if a repeated action gives another page than the recorded page."""
        if self._visit is None:
            self._visit = Visit(await asyncio.to_thread(open_stock, self._tools), self._instruction)
        await self._replay_moves(context)
        execution = await super().execute(action, context)
        self._action_count += 1
        return execution

    async def _replay_moves(self, context: StepContext) -> None:
        if self._action_count == len(context.done):
            return
        variables: dict[str, Mapping[str, Any]] = {}
        for number, (earlier_action, recorded_execution) in enumerate(context.done):
            if number >= self._action_count and earlier_action.name in MOVES:
                execution = await super().execute(
                    earlier_action, StepContext(context.position, context.branch, variables)
                )
                if _comparable(execution) != _comparable(recorded_execution):
                    raise Diverged(
                        f"'{earlier_action.raw[:80]}' gives another page than the one recorded: is the shop the same?"
                    )
            if recorded_execution.ok:
                variables.update(zip(earlier_action.variables, recorded_execution.values, strict=False))
        self._action_count = len(context.done)

    @action("Search(Query)")
    async def Search(self, text: str, context: StepContext) -> Value:
        """Search related items according to the Query."""
        visit = self._open()
        page = await asyncio.to_thread(visit.search, " ".join(text.split()))
        items = [{"asin": product.asin.lower(), "title": product.title} for product in page.products[:RESULTS_SHOWN]]
        text = " ** ".join(f"{item['asin']} - {item['title']}" for item in items)
        return {"kind": "items", "text": text or "no items were found", "items": items, **_page_value(page)}

    @action("FeatureRetrieve(Feature_list, Query)")
    async def FeatureRetrieve(self, text: str, context: StepContext) -> Value:
        """Select the most relevant features from Feature_list according to Query."""
        names, query = read_query(text, "FeatureRetrieve")
        if not names:
            raise ActionError("syntax", "FeatureRetrieve needs the variable of a page, for example: R2")
        page = value_of(names[0], "page", context.variables)
        if page["page"] != "item":
            raise ActionError("wrong_kind", f"{names[0]} holds a page of '{page['page']}', which offers no features")
        features = await self._best(query, page["options"], BEST_FEATURES)
        return {
            "kind": "features",
            "text": ", ".join(features) or NO_OPTIONS,
            "features": features,
            "asin": page["asin"],
        }

    @action("Pick(Item_names, Item_features, Query)")
    async def Pick(self, text: str, context: StepContext) -> Value:
        """Pick the most relevant item from Item_names according to Query, Item_names and Item_features."""
        names, query = read_query(text, "Pick")
        if not names:
            raise ActionError("syntax", "Pick needs the variable of a search, for example: Item_names: R1")
        items = value_of(names[0], "items", context.variables)
        if not items["items"]:
            raise ActionError("empty", f"{names[0]} holds no item")
        texts = describe_items(items, [value_of(name, "features", context.variables) for name in names[1:]])
        best_texts = await self._best(query, [text for _, text in texts], 1)
        best_asin = next((asin for asin, text in texts if best_texts == [text]), items["items"][0]["asin"])
        return {"kind": "item", "text": best_asin, "asin": best_asin}

    @action("Click(Item)")
    async def Click(self, text: str, context: StepContext) -> Value:
        """Click the Item to check more information."""
        visit = self._open()
        targets = click_targets(text, context.variables)
        clickable_targets = [target for target in targets if target in visit.page.moves]
        page = visit.click((clickable_targets or targets or [text])[0])
        product = visit.product
        if page.name == "done" and product is not None:
            purchase = {"asin": product.asin.lower(), "options": dict(visit.chosen), "price": product.price}
            return {"kind": "purchase", "text": "Done", **purchase, "ends": True}
        clickables = ", ".join(page.clickables) or "a search box"
        page_fields = {
            "asin": product.asin.lower() if product else "",
            "options": list(page.options),
            **_page_value(page),
        }
        return {"kind": "page", "text": _cut(clickables, MAX_TEXT), **page_fields, "chosen": dict(visit.chosen)}

    async def _best(self, query: str, texts: list[str], limit: int) -> list[str]:
        """Return the `limit` texts that fit the query best. Texts of equal scores keep their order."""
        if not texts:
            return []
        scores = await self._ranker.scores(query, texts)
        return [texts[position] for position in top_positions(scores, limit)]

    def _open(self) -> Visit:
        assert self._visit is not None
        return self._visit


def _page_value(page: ShopPage) -> dict[str, Any]:
    return {"page": page.name, "clickables": page.clickables, "observation": _cut(page.observation, MAX_OBSERVATION)}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _comparable(execution: Execution) -> str:
    return json.dumps([execution.status, [dict(value) for value in execution.values]], sort_keys=True)
