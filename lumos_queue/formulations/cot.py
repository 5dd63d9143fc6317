"""Chain of thought: one model writes the way to the answer and the answer, on one line. Nothing is executed."""

from __future__ import annotations

from lumos_queue.commands import Ask
from lumos_queue.prompts.dialogue import question_prompt
from lumos_queue.prompts.single_model import read_cot_answer
from lumos_queue.records import Outcome


def cot(task, agent):
    """One model call."""
    reply = yield Ask("solver", question_prompt(task, agent.framing))
    answer = read_cot_answer(reply.text)
    return Outcome(answer, "answered") if answer else Outcome(None, "no_answer", "the reply names no answer")
