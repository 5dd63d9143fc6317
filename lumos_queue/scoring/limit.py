"""Decide how the answer of an episode that reached its limit of subgoals counts, for scores, judge and builds alike.

LUMOS's evaluation of maths scores the last value that was computed. Its evaluation of question answering counts the
item as wrong, because the answer is concluded only when the planner stops (spec/lumos.md 1.5). The agent's setting
`at_limit` selects between the two; each domain has a default (lumos_queue/domains). The ending is `limit` in both
cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from lumos_queue.records import Ending


class AtLimit(StrEnum):
    """How an episode that reached its limit counts. The values are stored with the agent."""

    WRONG = "wrong"  #: nothing: it has no answer
    CONCLUDE = "conclude"  #: what the formulation concludes from the steps done is its answer


def is_judged(ending: str, at_limit: str) -> bool:
    """Whether an episode with this ending has an answer to judge. An episode without such an answer counts as wrong."""
    return ending == Ending.ANSWERED or (ending == Ending.LIMIT and at_limit == AtLimit.CONCLUDE)


def select_judged_answer(ending: str, answer: str | None, at_limit: str) -> str | None:
    """Return the answer that is judged, or None if the episode has no answer to judge."""
    return answer if is_judged(ending, at_limit) else None


def at_limit_of(spec: Mapping[str, Any]) -> str:
    """Return the setting `at_limit` of a stored job from its `spec`; WRONG for an old job without the setting."""
    agent = spec.get("infer", spec).get("agent")
    return agent.get("at_limit", AtLimit.WRONG) if isinstance(agent, Mapping) else AtLimit.WRONG
