"""Ask a model in the role `simulator` to answer as an API. The prompt has the API's document and recorded calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.records import Record
from lumos_queue.episode import StepContext
from lumos_queue.records import Role
from lumos_queue.util.untrusted_json import read_json

MAX_EXAMPLES = 5
MAX_EXAMPLE_CHARACTERS = 2_048  #: of all examples together
MAX_SHAPE = 2_000  #: characters of the shape of the answers
_FENCE = "```"

_INSTRUCTION = (
    "Act as the server of the API described below and answer one request to it.\n"
    "Stay with its description and with the examples of its answers, where there are any: the same fields, values that "
    "fit the request. Where a request makes no sense for this API, say so in the field error.\n"
    'Reply with one JSON object and nothing else: {"error": "", "response": …}.\n'
)


def simulator_prompt(function: Function, arguments: Mapping[str, Any], examples: Sequence[Record]) -> str:
    """Return the simulator's prompt, with as many examples as fit into MAX_EXAMPLE_CHARACTERS."""
    parts = [_INSTRUCTION, f"Tool: {function.tool} ({function.category})", f"API: {function.api}"]
    parts.append(f"Description: {function.description}")
    parts += [
        f"Argument {parameter.describe()}; {parameter.description}".rstrip("; ") for parameter in function.parameters
    ]
    if function.template:
        parts.append(f"Shape of its answers: {json.dumps(function.template, ensure_ascii=False)[:MAX_SHAPE]}")
    parts += _write_examples(examples[:MAX_EXAMPLES])
    parts.append(f"Request: {json.dumps(dict(arguments), ensure_ascii=False)}\nAnswer:")
    return "\n".join(parts)


async def simulate(
    function: Function, arguments: Mapping[str, Any], examples: Sequence[Record], context: StepContext
) -> Answer:
    """Return the model's answer to a request, or an error of the tool if the model's reply is not JSON."""
    reply = (await context.ask(Role.SIMULATOR, simulator_prompt(function, arguments, examples))).text
    try:
        document = read_json(_remove_fence(reply), strict=False)
    except ValueError as error:
        return Answer(f"the simulator's reply is not JSON: {error}", "", None, "simulated", status="tool_error")
    if isinstance(document, dict) and "response" in document:
        error = document.get("error") or ""
        return Answer(error if isinstance(error, str) else json.dumps(error), document["response"], None, "simulated")
    return Answer("", document, None, "simulated")


def _remove_fence(reply: str) -> str:
    """Return a reply without spaces and a Markdown fence around it."""
    text = reply.strip()
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    return text[len(_FENCE) : -len(_FENCE)].removeprefix("json").strip()


def _write_examples(examples: Sequence[Record]) -> list[str]:
    texts, character_budget = [], MAX_EXAMPLE_CHARACTERS
    for record in examples:
        answer = {"error": record.answer.error, "response": record.answer.response}
        request = json.dumps(dict(record.arguments), ensure_ascii=False)
        text = f"Example request: {request}\nExample answer: {json.dumps(answer, ensure_ascii=False)}"
        if len(text) <= character_budget:
            texts.append(text)
            character_budget -= len(text)
    return texts
