"""The treatment of an answer of an episode that reached its limit of subgoals: one rule for scores, judge and builds.

LUMOS's evaluation of maths scores the last value computed; that of question answering counts the item as wrong, as the
answer is only concluded when the planner stops (spec/lumos.md 1.5). Which of the two holds is the agent's setting
`at_limit`; each domain has a default (lumos_queue/domains). The ending is `limit` in both cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class AtLimit(StrEnum):
    """The treatment of an episode that reached its limit; stored with the agent."""

    WRONG = "wrong"  #: nothing: it has no answer
    CONCLUDE = "conclude"  #: what the formulation concludes from the steps done is its answer


def is_judged(ending: str, at_limit: str) -> bool:
    """Whether an episode with this ending has an answer to judge. Otherwise it is wrong, by the name of its ending."""
    return ending == "answered" or (ending == "limit" and at_limit == AtLimit.CONCLUDE)


def select_judged_answer(ending: str, answer: str | None, at_limit: str) -> str | None:
    """The answer that is judged; None where none is."""
    return answer if is_judged(ending, at_limit) else None


def at_limit_of(spec: Mapping[str, Any]) -> str:
    """Return the setting of a stored job from its `spec`. Old jobs without the setting count the answer as wrong."""
    agent = spec.get("infer", spec).get("agent")
    return agent.get("at_limit", AtLimit.WRONG) if isinstance(agent, Mapping) else AtLimit.WRONG
