"""The smallest action interface that calls a tool outside: KnowledgeQuery(text) shows what the wiki says of it."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.actions.session import ActionSession, Value, action
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Task


class LookUpSession(ActionSession):
    @action("KnowledgeQuery(query)")
    async def KnowledgeQuery(self, text: str, place: StepContext) -> Value:
        """Capture the relevant webpages according to the query."""
        lookup = await place.call("wikipedia", query=text)
        if not lookup.ok:
            raise ActionError(lookup.status, lookup.message)
        lines = [f"{page['title']} *** {line}" for page in lookup.values[0]["pages"] for line in page["paragraphs"]]
        return {"kind": "pages", "text": "\n".join(lines)}


class LookUpActions:
    domain = "complex_qa"
    roles: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}

    def __init__(self, tools: Mapping[str, str] | None = None, settings: object = None):
        """It has no options."""

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        return dict(tools)

    def begin(self, task: Task) -> LookUpSession:
        return LookUpSession()

    async def close(self) -> None:
        """Nothing is held."""
