"""The actions of a domain that defines only a class of sessions: without options, files and helper processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumos_queue.actions.base import Session
from lumos_queue.actions.options import check_option_names
from lumos_queue.records import Task
from lumos_queue.settings import Settings


class PlainActions:
    """An ActionInterface that begins each episode with a new session, whose class is called without arguments."""

    defaults: Mapping[str, str] = {}

    def __init__(self, domain: str, session: Callable[[], Session]):
        """`session` is a class of sessions. Its attribute `roles`, if any, names the models that its actions ask."""
        self.domain, self._session = domain, session
        self.roles: tuple[str, ...] = getattr(session, "roles", ())

    def __call__(self, tools: Mapping[str, str], settings: Settings | None = None) -> PlainActions:
        return self

    def prepare(self, tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, self.domain)
        return {}

    def begin(self, task: Task) -> Session:
        return self._session()

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""
