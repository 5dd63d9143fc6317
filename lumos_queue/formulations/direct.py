"""Direct: one model writes the answer alone (the paper's vanilla training). Nothing is executed."""

from __future__ import annotations

from lumos_queue.commands import Ask
from lumos_queue.prompts.dialogue import question_prompt
from lumos_queue.records import Outcome


def direct(task, agent):
    """One model call. The reply is the answer as it stands."""
    reply = yield Ask("solver", question_prompt(task, agent.framing))
    answer = reply.text.strip()
    return Outcome(answer, "answered") if answer else Outcome(None, "no_answer", "the reply is empty")
