"""The tree of a policy's decisions: each node is a decision with its result. ReAct has one path, DFSDT a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from lumos_queue.commands import ROOT
from lumos_queue.notation import without_roles
from lumos_queue.prompts.tool_agent import NO_ACTION, describe_unmade_calls, format_observation
from lumos_queue.prompts.transcript import TranscriptStep
from lumos_queue.records import Execution
from lumos_queue.text_calls.three_lines import Reply

DIVERSITY = """\
This is not the first try at this point: all earlier ones have failed. These are the calls made from here before, with \
what came of them:
{tried}
Decide on something different from all of them.
"""
GIVE_UP = "give_up"  #: status of a Finish without an answer


@dataclass(eq=False)
class Decision:
    """A decision. In ToolBench's trees it is one to three nodes: a thought, an action, and the action's input."""

    before: Decision | None = None  #: the decision before it; None for the root, which is no decision
    reply: Reply = field(default_factory=lambda: Reply(""))
    text: str = ""  #: of the reply, as the model wrote it
    execution: Execution | None = None  #: None without an action
    position: int = ROOT  #: of its last command
    transcript: str = ""  #: all steps up to this decision, in full
    no_call: str = NO_ACTION  #: the text for a model whose reply names no function; '': no message
    unmade: int = 0  #: further calls of the reply, which were not made
    children: list[Decision] = field(default_factory=lambda: list[Decision]())

    nodes: int = field(default=0, init=False)  #: its depth in ToolBench's nodes
    calls: int = field(default=0, init=False)  #: its depth in model calls

    def __post_init__(self) -> None:
        if self.before is not None:
            own_nodes = bool(self.reply.thought) + 2 * bool(self.reply.action)
            self.nodes = self.before.nodes + max(1, own_nodes)  # an empty reply counts as a node, too
            self.calls = self.before.calls + 1

    @property
    def is_answer(self) -> bool:
        return self.execution is not None and self.execution.ends

    @property
    def gave_up(self) -> bool:
        return self.execution is not None and self.execution.status == GIVE_UP

    @property
    def answer(self) -> str:
        assert self.execution is not None
        return str(self.execution.values[0]["text"])

    def path(self) -> Iterator[Decision]:
        """Yield the decisions on the path from the first decision to this decision."""
        if self.before is not None:
            yield from self.before.path()
            yield self

    def transcript_step(self) -> TranscriptStep:
        """Return this decision as a step of the transcript for prompts: the reply, and the message that answers it."""
        if self.execution is None:
            return TranscriptStep(self.text, self.no_call)
        observation = format_observation(self.execution.result)
        if self.unmade:
            observation = f"{observation}\n\n{describe_unmade_calls(self.unmade)}"
        return TranscriptStep(self.text, observation)


def describe_tries(node: Decision) -> str:
    """Return the text for a model about its earlier decisions at a node; '' if these led to no call."""
    calls = [call for call in map(_first_call, node.children) if call is not None]
    if not calls:
        return ""
    observation = node.execution.result if node.execution is not None else ""
    attempts = [
        {
            "name": call.reply.action,
            "arguments": call.reply.arguments,
            "function_output": call.execution.result if call.execution else "",
        }
        for call in calls
    ]
    attempts_text = json.dumps(attempts, indent=2, ensure_ascii=False)
    return without_roles(
        DIVERSITY.format(tried=attempts_text) + (f"The latest observation is: {observation}\n" if observation else "")
    )


def _first_call(node: Decision) -> Decision | None:
    """Return the first decision with a call, on the path from a node along the first children."""
    while not node.reply.action:
        if not node.children:
            return None
        node = node.children[0]
    return node
