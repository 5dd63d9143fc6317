"""The form in which a judge is sent a tool agent's run: its ending, its answer and its calls, within limits of length.

Texts of agents, users and functions are sent to a judge as JSON strings, each on one line. So it is always clear who
wrote a text, and no such text can look like a line of the question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lumos_queue.scoring.tool_verdicts import MISSING as MISSING
from lumos_queue.scoring.tool_verdicts import Similarity

MAX_QUERY, MAX_ANSWER, MAX_ARGUMENTS = 4_000, 8_000, 300  #: characters that a judge is shown
MAX_OBSERVATION = 1_024  #: characters of what one call returned, as ToolBench's agents are shown
MAX_OBSERVATIONS = 24_000  #: characters of what all calls of a run returned, divided evenly among them
MAX_STEPS = 40  #: calls of a run; of more, the last
MAX_NAME = 100
STORED = "stored"  #: the input of a task that is a stored episode, with its `answer` and `ending`
ANSWERED, GAVE_UP, UNFINISHED = "answered", "gave_up", "unfinished"
#: What JSON leaves as it is, and some readers take for the end of a line.
_LINE_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A function call of a run, and its observation."""

    name: str
    arguments: str
    status: str
    observation: str


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run for a judge. `ended`: answered or gave_up (by Finish), unfinished, or missing (the run has no result)."""

    ended: str
    answer: str = ""
    steps: tuple[JudgedStep, ...] = ()
    left_out: int = 0  #: calls before these

    @property
    def has_finish(self) -> bool:
        """Whether the run ended by Finish; every other run fails."""
        return self.ended in (ANSWERED, GAVE_UP)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"steps": [asdict(step) for step in self.steps]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> JudgedRun:
        return cls(**{**value, "steps": tuple(JudgedStep(**step) for step in value["steps"])})

    def compare(self, other: JudgedRun) -> Similarity:
        """Return what the two runs have in common, as far as a judge is shown them. Spaces around answers are ignored.

        Runs have everything in common only if their answers are the same to the letter, and their calls with results.
        """
        if self == other:
            return Similarity.ALL
        return Similarity.ANSWER if self.answer.strip() == other.answer.strip() else Similarity.NOTHING

    def describe(self) -> str:
        """Return the run as text: its final answer, and each call on its own line."""
        if self.ended == ANSWERED:
            answer = f"Final answer: {quote(self.answer, MAX_ANSWER)}"
        else:
            answer = "Final answer: none, it gave up." if self.ended == GAVE_UP else "Final answer: none."
        lines = [answer, f"Calls, {len(self.steps) + self.left_out} in all:" if self.steps else "Calls: none."]
        if self.left_out:
            lines.append(f"(the first {self.left_out} are left out)")
        lines += [
            f"- {quote(step.name, MAX_NAME)} with {quote(step.arguments, MAX_ARGUMENTS)} "
            f"({step.status}) returned {quote(step.observation, MAX_OBSERVATION)}"
            for step in self.steps
        ]
        return "\n".join(lines)


def within_bounds(steps: Sequence[JudgedStep]) -> tuple[tuple[JudgedStep, ...], int]:
    """Return the last steps with shortened texts, as they are stored for a judge, and how many steps are left out."""
    last_steps = steps[-MAX_STEPS:]
    limit = min(MAX_OBSERVATION, MAX_OBSERVATIONS // max(1, len(last_steps)))
    short = tuple(
        JudgedStep(
            step.name[:MAX_NAME],
            truncate(step.arguments, MAX_ARGUMENTS),
            step.status,
            truncate(step.observation, limit),
        )
        for step in last_steps
    )
    return short, len(steps) - len(last_steps)


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, which ends in `...` if it was cut off."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def quote(text: str, limit: int) -> str:
    """Return an untrusted text as a JSON string on one line, shortened to `limit` characters."""
    quotation = json.dumps(truncate(text, limit), ensure_ascii=False)
    return _LINE_ENDS.sub(lambda match: f"\\u{ord(match[0]):04x}", quotation)
