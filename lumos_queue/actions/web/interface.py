"""The actions of the domain `web_agent` on recorded pages: CLICK, TYPE and SELECT select an element by description.

The pages of a task follow each other, whatever the actions do: `Env` is the first page, and the variable that an action
sets is the next page, even if the action failed. An action selects the candidate of the current page that fits its
description best. No part of a page is run or fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.options import check_option_names
from lumos_queue.actions.ranking.base import Ranker
from lumos_queue.actions.ranking.registry import open_prepared, prepare_ranker
from lumos_queue.actions.session import ActionSession, Value, action
from lumos_queue.actions.web.candidates import parts
from lumos_queue.actions.web.element_ranking import rank_candidates, with_option
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Task
from lumos_queue.settings import Settings

DOMAIN = "web_agent"
OPTIONS = {
    "ranker": "what matches descriptions with elements: 'lexical' (default), or MindAct's model as 'cross-encoder:DIR' "
    "or, with the pair in the order it was trained with, 'swapped-cross-encoder:DIR'",
}

_ARGUMENTS = re.compile(r"(?P<page>Env|R[0-9]{1,6}|Output)\s*,\s*(?:QUERY|Query)\s*:(?P<rest>.*)", re.DOTALL)
_TEXT = re.compile(r",\s*(?:TEXT|Text)\s*:")


class WebActions:
    """The actions of the domain `web_agent`. All episodes of a job share the ranker."""

    domain = DOMAIN
    roles: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {"ranker": "lexical"}

    def __init__(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None):
        """Raises SpecError if the ranker's weights are missing, or have changed since submission."""
        self.ranker: Ranker = open_prepared(tools or {})
        self.fitted = "cross-encoder" in self.ranker.name  #: whether it was trained on MindAct's texts

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, DOMAIN, OPTIONS)
        return prepare_ranker(tools)

    def begin(self, task: Task) -> WebSession:
        return WebSession(task, self.ranker, self.fitted)

    async def close(self) -> None:
        await self.ranker.close()


class WebSession(ActionSession):
    """The session of one task's recorded pages. It has no state: the number of actions determines the current page."""

    def __init__(self, task: Task, ranker: Ranker, is_fitted: bool):
        self._pages = task.inputs.get("steps", ())
        self._previous = task.inputs.get("previous", ())
        self._ranker, self._is_fitted = ranker, is_fitted

    @action("CLICK(Env, Query)")
    async def CLICK(self, text: str, context: StepContext) -> Value:
        """Click the relevant html region in Env according to Query."""
        page, query = _page_and_rest(text)
        return await self._pick("CLICK", page, query, query, "", context)

    @action("TYPE(Env, Query, Text)")
    async def TYPE(self, text: str, context: StepContext) -> Value:
        """Type Text into the relevant html region in Env according to Query."""
        page, query, value = _with_text("TYPE", text)
        return await self._pick("TYPE", page, query, query, value, context)

    @action("SELECT(Env, Query, Text)")
    async def SELECT(self, text: str, context: StepContext) -> Value:
        """Select the value Text of the relevant selection box in Env according to Query."""
        page, query, value = _with_text("SELECT", text)
        return await self._pick("SELECT", page, query, with_option(query, value), value, context)

    async def alias(self, text: str, context: StepContext) -> Value:
        """Raise ActionError, because the alias of a page is no action on the page."""
        raise ActionError("unreadable", f"expected CLICK, TYPE or SELECT, found '{text[:80]}'")

    async def _pick(self, op: str, name: str, description: str, query: str, value: str, context: StepContext) -> Value:
        """Return the value of an action on the element of the current page that fits the query best."""
        if not description:
            raise ActionError("arguments", f"{op} needs a description of the element after 'QUERY:'")
        page = self._current(name, context)
        if not page["candidates"]:
            raise ActionError("no_element", "the page has no element to act on")
        previous = self._previous[: page["step"]]
        order = await rank_candidates(self._ranker, self._is_fitted, query, previous, page["candidates"])
        candidate = page["candidates"][order[0][0]]
        words = " ".join(re.sub(r"[()]| id=0", " ", parts(candidate["text"])[1]).split()[1:])
        return {
            "kind": "element",
            "text": f"[{candidate['tag']}]  {words} -> {op}" + (f": {value}" if value else ""),
            "node": candidate["node"],
            "tag": candidate["tag"],
            "op": op,
            "value": value,
            "step": page["step"],
            "candidates": len(page["candidates"]),
            "ranked": [[page["candidates"][position]["node"], round(score, 6)] for position, score in order],
        }

    def _current(self, name: str, context: StepContext) -> Mapping[str, Any]:
        """Return the current page. Raises ActionError if `name` is another page. An unreadable action k sets Rk."""
        steps = {"Env": 0}
        for number, (earlier_action, _) in enumerate(context.done, start=1):
            steps |= dict.fromkeys(earlier_action.variables or (f"R{number}",), number)
        now = len(context.done)
        if name not in steps:
            names = ", ".join(list(steps)[-3:])
            raise ActionError("unknown_variable", f"no page is called {name}; the last ones are called {names}")
        if steps[name] != now:
            current = next(page_name for page_name in reversed(steps) if steps[page_name] == now)
            raise ActionError("left_page", f"{name} is a page that was left; the page that is shown now is {current}")
        if now >= len(self._pages):
            raise ActionError("no_page", f"the recording ends here: it has {len(self._pages)} pages")
        return self._pages[now]


def _page_and_rest(text: str) -> tuple[str, str]:
    match = _ARGUMENTS.fullmatch(text)
    if match is None:
        raise ActionError("arguments", f"expected 'Env, QUERY: …' or 'R1, QUERY: …', found '{text[:80]}'")
    return match["page"], match["rest"].strip()


def _with_text(op: str, text: str) -> tuple[str, str, str]:
    """Return (page, query, text). The text follows the first `, TEXT:`, the query ends at the last, as originally."""
    page, rest = _page_and_rest(text)
    marks = list(_TEXT.finditer(rest))
    if not marks or not rest[marks[0].end() :].strip():
        raise ActionError("arguments", f"{op} needs a text after ', TEXT:'")
    return page, rest[: marks[-1].start()].strip(), rest[marks[0].end() :].strip()
