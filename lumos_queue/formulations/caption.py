"""Caption: one model describes the task's image. The answer is the description, for `lumos data captions`.

LUMOS appends a detailed description by LLaVA-1.5-7B to each task, in training and test (spec/lumos.md 1.11). LUMOS's
prompt for these descriptions is not published, so this project has its own.
"""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands
from lumos_queue.formulations.base import Formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Ending, Outcome, Role, Task

PROMPT = (
    "Please describe this image in detail, in one paragraph: what is to be seen, how many of each, their colours, what "
    "they are doing, where they are in relation to each other, the surroundings, and any text that can be read.\n"
)


def caption(task: Task, agent: Agent) -> Commands[Outcome]:
    """Make one model call. The answer is the model's description as a single line."""
    image = task.inputs.get("image")
    if not image:
        return Outcome(None, Ending.NO_ANSWER, "the task has no image: read its benchmark with --option images=DIR")
    reply = yield from Ask(Role.CAPTIONER, PROMPT, (image,))
    text = " ".join(reply.text.split())
    if not text:
        return Outcome(None, Ending.NO_ANSWER, "the reply is empty")
    return Outcome(text, Ending.ANSWERED)


FORMULATION = Formulation("caption", caption, (Role.CAPTIONER,), executes=False)
