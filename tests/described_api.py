"""An API with descriptions of its tool and its arguments, and the prompts that agents are sent about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lumos_queue.commands import Ask, Do, write_answer
from lumos_queue.records import Task
from tests.tool_apis import entry, parameter
from tests.tool_scripts import Scripted, call, finish, run

FUNDS = "funds_for_market_desk"
API = entry(
    "Funds",
    [parameter("symbolId", description="Symbol of the fund,\n as its exchange writes it")],
    [
        parameter("kind", default="etf", description="One of the following values : etf|fund"),
        parameter("limit", "NUMBER", "10"),
    ],
    category_name="Finance",
    tool_name="Market Desk",
    tool_description="Prices and holdings\nof funds, a day late. ",
)
PLAIN = entry("Offices", [], [parameter("town", default="Ombry")])
TASK = Task("toolbench", "d", "1", "Which fund is QX7?", {"functions": [API, PLAIN]}, {"relevant": []})
CALL = call(FUNDS, "look it up", symbolid="QX7")
RECORD = json.dumps({"status": "success", "aim": "name of the fund", "answer": "Ombry Growth"})
REPLIES = {
    "policy": [CALL, finish("Ombry Growth")],
    "planner": [f'Plan: look it up\n#E1 = {FUNDS} {{"symbolid": "QX7"}}'],
    "solver": ["Ombry Growth"],
    "router": [CALL, finish("Ombry Growth")],
    "state_manager": [RECORD],
}
#: Name to formulation and settings.
AGENTS: dict[str, tuple[str, dict[str, str]]] = {
    "react": ("react", {}),
    "react, native": ("react", {"calls": "native"}),
    "dfsdt": ("dfsdt", {}),
    "rewoo": ("rewoo", {}),
    "sum2act": ("sum2act", {}),
    "sum2act, native": ("sum2act", {"calls": "native"}),
    "sum2act, rewrite": ("sum2act", {"update": "rewrite", "decompose": "yes"}),
    "open-ended": ("open-ended", {}),
}


def list_asks(name: str, version: int, task: Task = TASK, **settings: str) -> Sequence[Ask]:
    """Return the model calls of an episode of that agent."""
    formulation, own_settings = AGENTS[name]
    replies = {**REPLIES, **({"planner": ["1. Look the fund up"]} if formulation == "open-ended" else {})}
    script = Scripted(replies, {FUNDS: _answer}, [write_answer(True, "", "ann")])
    run(formulation, script, task=task, version=version, **own_settings, **settings)
    assert any(isinstance(command, Do) for command in script.commands)
    return [command for command in script.commands if isinstance(command, Ask)]


def write_asks(version: int, **settings: str) -> str:
    """Return the prompts of all agents as text, and the schemas that are sent beside them."""
    parts = []
    for name in AGENTS:
        for number, ask in enumerate(list_asks(name, version, **settings), start=1):
            parts.append(f"##### {name}, {ask.role}, call {number}\n{write_ask(ask)}\n")
    return "".join(parts)


def write_ask(ask: Ask) -> str:
    """Return all that a model is sent: the prompt, and the schemas beside it."""
    schemas = (f"\n[{schema.name}: {schema.description}]\n[{schema.parameters}]" for schema in ask.functions)
    return f"{ask.prompt}{''.join(schemas)}"


def _answer(**arguments: Any) -> str:
    return f"{arguments['symbolid']} is Ombry Growth"
