"""Documents of invented APIs, and episodes that call them through the real executor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.commands import Do
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import EpisodeRun, run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Completion, Execution, Outcome, Task


def parameter(name: str, kind: str = "STRING", default: Any = "", description: str = "") -> dict[str, Any]:
    return {"name": name, "type": kind, "description": description, "default": default}


def entry(api: str, required: Sequence[dict] = (), optional: Sequence[dict] = (), **fields: Any) -> dict[str, Any]:
    """An entry of an `api_list`."""
    return {
        "category_name": "Parcels, Mail",
        "tool_name": "Swift Post",
        "api_name": api,
        "api_description": f"Says something of {api}.",
        "required_parameters": list(required),
        "optional_parameters": list(optional),
        "method": "GET",
        **fields,
    }


LATEST = entry(
    "Latest",
    [parameter("parcelId")],
    [parameter("limit", "NUMBER"), parameter("full", "BOOLEAN")],
    template_response={
        "parcelId": "str",
        "weight": "float",
        "stops": [{"town": "str", "day": "int", "_list_length": 9}],
    },
)
OFFICES = entry("Offices", [], [parameter("town", default="Ombry")])
TASK = Task("toolbench", "d", "1", "Where is parcel P1?", {"functions": [LATEST, OFFICES]})
LATEST_NAME, OFFICES_NAME = "latest_for_swift_post", "offices_for_swift_post"


def record(api: str = "Latest", arguments: Any = None, response: Any = "there", **fields: Any) -> dict[str, Any]:
    """A recorded answer."""
    names = {"category": "Parcels, Mail", "tool": "Swift Post", "api": api}
    return {
        **names,
        "arguments": {"parcelid": "P1"} if arguments is None else arguments,
        "response": response,
        **fields,
    }


def call(name: str, arguments: Any = None, variables: tuple[str, ...] = ()) -> Action:
    """An action of an agent; arguments that are no text are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return Action(variables, name, text, f"{name} {text}"[:80])


class Simulator:
    """A scripted model in the role `simulator`: says its replies one after the other, and keeps the prompts."""

    url = "scripted:"
    admission = None

    def __init__(self, *replies: str):
        self.replies, self.prompts = list(replies), []

    async def generate(self, call):
        self.prompts.append(call.prompt)
        return Completion(self.replies.pop(0), "stop")


def play(
    actions: Sequence[Action | Sequence[Action]],
    task: Task = TASK,
    tools: Mapping[str, str] | None = None,
    simulator: Simulator | None = None,
    journal: MemoryJournal | None = None,
    caller: Any = None,
) -> tuple[list[Execution], MemoryJournal, EpisodeRun]:
    """Return the executions of an episode's actions, one after the other; actions of a list run together."""
    executions: list[Execution] = []
    journal = journal or MemoryJournal()

    def formulation(task: Task, agent: Agent):
        for step in actions:
            outcomes = yield (Do(step) if isinstance(step, Action) else [Do(action) for action in step])
            executions.extend(outcomes if isinstance(outcomes, list) else [outcomes])
        return Outcome(None, "no_answer")

    async def go() -> EpisodeRun:
        interface = ToolActions(tools or {})
        executor = Executor({"simulator": simulator} if simulator else {}, interface, Sampling(), 0, caller)  # type: ignore[dict-item]
        async with executor.for_episode(task, 0) as perform:
            return await run_episode(formulation, task, Agent({}, "tools"), journal, perform)

    run = asyncio.run(go())
    return executions, journal, run
