"""Actions as methods: the base class of sessions.

class ExampleSession(ActionSession):
    @action("VQA(Image_Context, Query)")
    async def VQA(self, text: str, context: StepContext) -> Value:
        \"\"\"Given the image context, answer the query.\"\"\"
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution
from lumos_queue.util.sanitize import storable, storable_json

Value = Mapping[str, Any]  #: a JSON object with at least `kind` and `text`; `ends` in it ends the episode

MAX_ARGUMENTS = 20_000  #: characters of an action's arguments
MAX_RESULT = 60_000  #: characters of a value's text


def action(signature: str) -> Callable:
    """Mark a method as the action of the same name. `signature` is its text in prompts; if '', prompts omit it.

    >>> import lumos_queue as lq
    >>> class Words(lq.ActionSession):
    ...     @lq.action("Reverse(text)")
    ...     async def Reverse(self, text, context):
    ...         '''Write a text backwards.'''
    ...         return {"kind": "text", "text": text[::-1]}
    """

    def mark(method: Callable) -> Callable:
        method.signature = signature  # type: ignore[attr-defined]
        return method

    return mark


def public_actions(session: type) -> dict[str, Callable]:
    """Return a map from the names of a session class's actions in prompts to methods, in the order of the class."""
    return {name: method for name, method in _all_actions(session).items() if method.signature}  # type: ignore[attr-defined]


def _all_actions(session: type) -> dict[str, Callable]:
    actions: dict[str, Callable] = {}
    for base in reversed(session.__mro__):
        actions |= {name: method for name, method in vars(base).items() if hasattr(method, "signature")}
    return actions


def describe(session: type) -> str:
    """Return the action list for prompts: the names, and each signature with the first line of the docstring."""
    actions = public_actions(session)
    names = ", ".join(f"'{name}'" for name in actions)
    lines = [
        f"{method.signature}: {(method.__doc__ or '').strip().splitlines()[0].rstrip('.')}"  # type: ignore[attr-defined]
        for method in actions.values()
    ]
    return f"The available action list is {names}.\n{'; '.join(lines)}.\n\n"


class ActionSession:
    """Runs actions as methods: a returned value or a raised ActionError becomes an execution.

    >>> import lumos_queue as lq
    >>> class Words(lq.ActionSession):
    ...     @lq.action("Reverse(text)")
    ...     async def Reverse(self, text, context):
    ...         '''Write a text backwards.'''
    ...         if not text:
    ...             raise lq.ActionError("empty", "there is no text")  # is sent to the model; the episode continues
    ...         return {"kind": "text", "text": text[::-1]}
    """

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. Raises only InfrastructureError and EpisodeError, for failures of models and servers."""
        start = time.perf_counter()
        try:
            values = await self._values(action, context)
        except ActionError as error:
            message = storable(str(error))[0]
            return Execution(error.kind, message=message, seconds=time.perf_counter() - start)
        except RecursionError:
            return Execution("too_large", message="nested too deeply", seconds=time.perf_counter() - start)
        result = ", ".join(value["text"] for value in values)
        return Execution("ok", result, tuple(values), seconds=time.perf_counter() - start)

    async def close(self) -> None:
        """Release the session's resources. A subclass without resources inherits this method."""

    async def alias(self, text: str, context: StepContext) -> Value:
        """Return the value of a variable, as for `R2 = (R1)`. Raises ActionError for any other text."""
        if text in context.variables:
            return dict(context.variables[text])
        raise ActionError("unreadable", f"neither an action nor a variable that is set: '{text[:80]}'")

    async def _values(self, action: Action, context: StepContext) -> list[dict[str, Any]]:
        actions = public_actions(type(self))
        if not action.variables:
            example = next((method.signature for method in actions.values()), "2 + 3")  # type: ignore[attr-defined]
            raise ActionError("unreadable", f"no action could be read; expected for example: R1 = {example}")
        if action.name and action.name not in _all_actions(type(self)):
            raise ActionError(
                "unknown_action", f"no action called '{action.name[:40]}'; there are {', '.join(actions)}"
            )
        if len(action.arguments) > MAX_ARGUMENTS:
            raise ActionError(
                "too_large", f"arguments may have {MAX_ARGUMENTS} characters, these have {len(action.arguments)}"
            )
        method = getattr(self, action.name) if action.name else self.alias
        output = await method(action.arguments.strip(), context)
        values = [output] if isinstance(output, Mapping) else list(output)
        if len(values) != len(action.variables):
            raise ActionError("arity", f"{len(action.variables)} variables for {len(values)} values")
        return [_check_value(value) for value in values]


def _check_value(value: Value) -> dict[str, Any]:
    if len(value["text"]) > MAX_RESULT:
        raise ActionError("too_large", f"a result may have {MAX_RESULT} characters, this has {len(value['text'])}")
    return {name: storable_json(part) for name, part in value.items()}
