"""A policy adds decisions to their tree: it asks a model at a node, and carries out the reply.

This module counts the positions of commands, because a command names its predecessor on its path by position.
"""

from __future__ import annotations

from dataclasses import replace

from lumos_queue.actions.tools.protocols import PROTOCOL, TOLERANT, TOOLBENCH
from lumos_queue.commands import Ask, Commands, Do
from lumos_queue.endpoints.tool_calls import count_unmade_calls
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.decision import Decision
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.prompts.tool_agent import call_style, first_prompt, list_functions
from lumos_queue.prompts.transcript import History
from lumos_queue.records import Action, Completion, FinishReason, Role, Task
from lumos_queue.text_calls.three_lines import read_reply


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
        completion = yield from Ask(Role.POLICY, prompt, parent=node.position, functions=self._schemas)
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
