"""The tree of a policy's decisions: each node is a decision with its result. ReAct has one path, DFSDT searches a tree.

This module counts the positions of commands, because a command names its predecessor on its path by position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lumos_queue.actions.tools.protocols import PROTOCOL, TOLERANT, TOOLBENCH
from lumos_queue.commands import ROOT, Ask, Commands, Do
from lumos_queue.endpoints.tool_calls import count_unmade_calls
from lumos_queue.formulations.base import VERSION
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.prompts.tool_agent import (
    NO_ACTION,
    call_style,
    describe_unmade_calls,
    first_prompt,
    format_observation,
    list_functions,
)
from lumos_queue.prompts.transcript import History, TranscriptStep
from lumos_queue.records import Action, Completion, Execution, FinishReason, Task
from lumos_queue.text_calls.three_lines import Reply, read_reply

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
    children: list[Decision] = field(default_factory=list)

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


class Policy:
    """Asks the role `policy` at a node, carries out its decision, and adds the new node."""

    def __init__(self, task: Task, agent: Agent, history: History, first: int = 0, version: int = VERSION):
        """`first`: position of the policy's first command. `version`: the formulation's, by which replies are read."""
        self._agent, self._history, self._style = agent, history, get_framing(agent.framing)
        functions, self._calls = list_functions(task, agent, version), call_style(agent)
        self._request, self._schemas = self._calls.request(task, functions), self._calls.schemas(functions)
        self._head = first_prompt(self._calls.policy, self._request, agent)
        self._version = version
        self._is_toolbench = agent.settings.get(PROTOCOL, TOLERANT) == TOOLBENCH
        self.next = first  #: position of the next command
        self.calls = 0
        self._unmade = 0  #: calls of the latest reply that will not be made

    def decide(self, node: Decision, extra_text: str = "") -> Commands[tuple[Completion, int]]:
        """Ask the model at a node. Return its reply and the reply's position. Only this prompt has `extra_text`."""
        prompt = self._prompt(node, extra_text)
        completion = yield from Ask("policy", prompt, parent=node.position, functions=self._schemas)
        self._unmade = count_unmade_calls(completion) if self._calls.native else 0
        self.calls += 1
        self.next += 1
        return completion, self.next - 1

    def _prompt(self, node: Decision, extra_text: str) -> str:
        if not extra_text and self._history.kind == "whole":
            return self._head + node.transcript
        steps = [decision.transcript_step() for decision in node.path()]
        if not extra_text:
            return self._head + self._history.write(steps, self._style)
        if not steps:
            return first_prompt(self._calls.policy, f"{self._request}\n\n{extra_text}", self._agent)
        *before, last = steps
        last = replace(last, message="\n\n".join(filter(None, (last.message, extra_text))))
        return self._head + self._history.write([*before, last], self._style)

    def act(self, node: Decision, completion: Completion, position: int) -> Commands[Decision]:
        """Carry out the decision of the reply `completion` at `node`. Return its node, which is a child of `node`."""
        text, is_cut = completion.text, completion.finish_reason == FinishReason.LENGTH
        reply = read_reply(text, self._version, is_cut)
        child = Decision(node, reply, text, position=position)
        # ToolBench sends observations alone: no message after a reply without a call, and no note about further calls.
        child.no_call = "" if self._is_toolbench else self._calls.describe_unread(reply)
        child.unmade = 0 if self._is_toolbench else self._unmade
        if child.reply.action:
            action = Action((), child.reply.action, child.reply.arguments, text)
            protocol = TOOLBENCH if self._is_toolbench else ""
            child.execution = yield from Do(action, parent=position, protocol=protocol)
            child.position = self.next
            self.next += 1
        child.transcript = node.transcript + child.transcript_step().write(self._style)
        node.children.append(child)
        return child


def allows_more(agent: Agent, node: Decision) -> bool:
    """Whether the agent's limits allow a further decision after a node."""
    return not agent.limits.is_deep(node.nodes, node.calls) and agent.limits.allows_step(node.calls + 1)
