"""Actions that return the results stated in the annotation, for domains whose real tools are not available."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lumos_queue.actions.base import Stateless
from lumos_queue.actions.options import check_option_names
from lumos_queue.notation import write_action
from lumos_queue.records import Action, AnnotatedSubgoal, Execution, Task


class StatedResults:
    """An interface whose actions return the result in their text: `R1 = QA(…) = 330 metres`; '' if it has none."""

    roles = ()
    defaults: Mapping[str, str] = {}

    def __init__(self, domain: str):
        self.domain = domain

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, "of stated results")
        return {}

    def begin(self, task: Task) -> Stateless:
        return Stateless(self)

    async def execute(self, action: Action, variables: Mapping[str, Mapping[str, Any]]) -> Execution:
        result = action.raw.removeprefix(_call(action))
        result = result.removeprefix(" = ") if result != action.raw else ""
        return take_as_stated(action, result)

    async def close(self) -> None:
        """Do nothing, because there is nothing to close."""


def take_as_stated(action: Action, result: str) -> Execution:
    """Return the execution of an action that gives its stated result."""
    parts = result.split(", ")
    texts = parts if len(parts) == len(action.variables) else [result] * len(action.variables)
    return Execution("ok", result, tuple({"kind": "text", "text": text} for text in texts))


def with_stated_results(step: AnnotatedSubgoal) -> AnnotatedSubgoal:
    """Return the step with the result of each action added to its text `raw`, from which `StatedResults` reads it."""
    pairs = zip(step.actions, step.results, strict=True)
    return replace(
        step, actions=tuple(replace(a, raw=_call(a) + (f" = {result}" if result else "")) for a, result in pairs)
    )


def _call(action: Action) -> str:
    return write_action(action)
