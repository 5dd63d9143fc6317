"""Read and write the replies of a model that works alone, in the formulations `cot` and `integrated`.

Reading never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import read_subgoal, write_actions, write_subgoal
from lumos_queue.records import Action, Subgoal

_ANSWER = re.compile(r"\banswer is\b:?", re.IGNORECASE)
_ACTIONS = re.compile(r"(?:^|\s)Actions:(?=\s*(?:R[0-9]{1,6}|Output)(?:,| =))")
_ACTIONS_AT_ALL = re.compile(r"(?:^|\s)Actions:")


def read_integrated(reply: str, number: int) -> tuple[Subgoal | None, str]:
    """Return the subgoal of a reply (None if it has none), and the text of its actions as a grounder writes them."""
    match = _ACTIONS.search(reply) or _ACTIONS_AT_ALL.search(reply)
    before, actions = (reply[: match.start()], reply[match.end() :]) if match else (reply, "")
    return read_subgoal(before, number), actions.strip()


def write_integrated(subgoal: Subgoal, actions: Iterable[Action], calls: bool = True) -> str:
    """Return the reply `Subgoal 1: … Actions: R1 = …; R2 = …`. From subgoal 2 on, KEEP_PLANNING precedes it."""
    return f"{write_subgoal(subgoal)} Actions: {write_actions(actions, calls)}"


def read_cot_answer(reply: str) -> str:
    """Return the text after the last `answer is`, without its full stop; '' if there is none."""
    *_, answer = _ANSWER.split(reply) if _ANSWER.search(reply) else ("",)
    return answer.strip().removesuffix(".").strip()


def write_cot(domain: str, rationale: str, answer: str) -> str:
    """Return the reply that the paper's CoT models learn (spec/lumos.md 3.4), on one line, where replies end."""
    text = " ".join(rationale.strip().splitlines())
    ending = DOMAINS.load(domain).cot_ending.replace("{answer}", answer)
    return f"{text} {ending}".lstrip()
