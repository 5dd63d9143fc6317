"""What the answer of an episode that reached its limit of subgoals is worth: one rule for scores, judge and builds.

LUMOS's evaluation of maths scores the value that stands there; that of question answering counts the item as wrong, as
the answer is only concluded when the planner stops (spec/lumos.md 1.5). Which of the two holds is the agent's setting
`at_limit`; a domain has its own (lumos_queue/domains). The ending is `limit` in both cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WRONG, CONCLUDE = "wrong", "conclude"
CHOICES = (WRONG, CONCLUDE)


def is_judged(ending: str, at_limit: str) -> bool:
    """Whether an episode of this ending has an answer to judge; any other is wrong, and has its own name."""
    return ending == "answered" or (ending == "limit" and at_limit == CONCLUDE)


def judged_answer(ending: str, answer: str | None, at_limit: str) -> str | None:
    """The answer that is judged; None where none is."""
    return answer if is_judged(ending, at_limit) else None


def at_limit_of(spec: Mapping[str, Any]) -> str:
    """The setting of a stored job, from its `spec`. Jobs of the code before there was a choice counted it as wrong."""
    agent = spec.get("infer", spec).get("agent")
    return agent.get("at_limit", WRONG) if isinstance(agent, Mapping) else WRONG
