"""Faults of APIs, seeded: what a question's APIs answer, through the real session of tool agents.

Of each relation at most one of the two providers is faulty, so that every question can be answered.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.tool_agents.questions import Question
from experiments.tool_agents.world import RELATIONS, World
from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.interface import API, ToolActions
from lumos_queue.episode import StepContext
from lumos_queue.records import Execution

NOT_FOUND, RATE_LIMITED, MISLEADING = "not_found", "rate_limited", "misleading"
KINDS = (NOT_FOUND, RATE_LIMITED, MISLEADING)
RECOVERS = 2  #: equal requests that a rate limit refuses
_NOTHING = (
    "Your request was received and processed successfully. All systems are operational.",
    "Thank you for using this service. Upgrade your plan for more detailed results.",
    "Results for your request are prepared. Please see our documentation.",
)
_FILLER = ("record", "archive", "register", "entry", "volume", "annex", "folio", "ledger", "section", "issue")


@dataclass(frozen=True, slots=True)
class Setting:
    """What the tools do."""

    share: float = 0.0  #: of the relations, one of whose providers is faulty
    down: bool = False  #: every call fails
    strict: bool = False  #: names must be spelt exactly as they are
    filler: int = 0  #: characters of needless text in each answer


class Tools:
    """What the APIs of one question answer."""

    def __init__(self, world: World, question: Question, setting: Setting, seed: int):
        self._world, self._setting, self._seed = world, setting, seed
        self._number = question.number
        draw = random.Random(f"faults {seed} {question.number}")
        self._faults: dict[tuple[str, str], str] = {}
        for name in sorted({name for _, name in question.apis}):
            hit, provider, kind = draw.random(), draw.choice(RELATIONS[name].providers), draw.choice(KINDS)
            if hit < setting.share:
                self._faults[provider, name] = kind

    def answer(self, provider: str, name: str, arguments: Mapping[str, Any], nth: int) -> Answer:
        """The answer to the nth equal request, counted from 0."""
        if self._setting.down:
            return Answer("the service is not available", code=11)
        fault = self._faults.get((provider, name))
        if fault == NOT_FOUND:
            return Answer("this endpoint does not exist", code=6)
        if fault == RATE_LIMITED and nth < RECOVERS:
            return Answer("too many requests, try again", code=9)
        text = str(arguments.get(RELATIONS[name].of, ""))
        draw = random.Random(f"answer {self._seed} {self._number} {provider} {name} {text}")
        if fault == MISLEADING:
            return Answer("", {"status": "ok", "message": draw.choice(_NOTHING), **self._filler(draw)}, 0)
        facts = self._world.tell(name, text, self._setting.strict)
        if facts is None:
            return Answer("", {"status": "ok", "results": [], "total": 0, **self._filler(draw)}, 0)
        return Answer("", facts | self._filler(draw), 0)

    def _filler(self, draw: random.Random) -> dict[str, str]:
        if not self._setting.filler:
            return {}
        words = [draw.choice(_FILLER) for _ in range(self._setting.filler // 5)]
        return {"remarks": " ".join(words)[: self._setting.filler]}

    def actions(self) -> ToolActions:
        """The actions of tool agents, whose calls these tools answer."""

        async def tool(arguments: Mapping[str, Any], nth: int, context: StepContext) -> Execution:
            return self.answer(arguments["tool"], arguments["api"], arguments["arguments"], nth).execution()

        actions = ToolActions()
        actions.local_tools = {API: tool}
        return actions
