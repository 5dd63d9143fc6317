"""Read the call of Finish, which ends an episode with or without an answer. Its arguments are often invalid JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.tools.arguments import MAX_ARGUMENTS, read_object
from lumos_queue.errors import ActionError
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

GIVE_ANSWER, GIVE_UP = "give_answer", "give_up_and_restart"
_TYPE = re.compile(r"""["']return_type["']\s*:\s*["'](\w+)["']""")
_ANSWER = re.compile(r"""["'](?:final_answer|Answer)["']\s*:\s*(["'])""")
_END = re.compile(r"""["'](?:\s*,\s*["']return_type["']|[}\s]*+\Z)""")


def read_finish(text: str) -> str | None:
    """Return the answer in the arguments of Finish; None if the agent gives up.

    Also reads `{"Answer": …}` and `{"final_answer": …}` without `return_type`, and both fields in a text that is not
    JSON. Raises ActionError of kind 'invalid_arguments'.
    """
    try:
        fields: Mapping[str, Any] = read_object(text)
    except ActionError:
        fields = _find_fields(text[: MAX_ARGUMENTS + 1]) if len(text) <= MAX_ARGUMENTS else {}
        if not fields:
            raise
    answer = fields.get("final_answer", fields.get("Answer"))
    kind = fields.get("return_type", GIVE_ANSWER if answer is not None else None)
    return _decide(kind, answer, answer is not None)


def read_toolbench_finish(text: str) -> str | None:
    """Return the answer in the arguments of Finish as ToolBench reads them; None if the agent gives up.

    JSON needs both fields in exactly their spelling, and the value of `final_answer` may be null, which becomes 'null'.
    In a text that is not JSON, only the exact texts `"return_type": "give_answer"`, `"return_type":
    "give_up_and_restart"` and `"final_answer": "` count. Raises ActionError of kind 'invalid_arguments'.
    """
    try:
        fields = read_json(text, strict=False)
    except ValueError:
        fields = _find_exact_fields(text)
    fields = fields if isinstance(fields, dict) else {}
    return _decide(fields.get("return_type"), fields.get("final_answer"), "final_answer" in fields)


def _decide(kind: Any, answer: Any, has_answer: bool) -> str | None:
    """Return the answer as text, None for giving up. Raises ActionError for another kind or a missing answer."""
    if kind == GIVE_UP:
        return None
    if kind != GIVE_ANSWER:
        choices = f"'{GIVE_ANSWER}' or '{GIVE_UP}'"
        raise ActionError("invalid_arguments", f"Finish needs the argument 'return_type', which must be {choices}")
    if not has_answer:
        raise ActionError("invalid_arguments", f"Finish with '{GIVE_ANSWER}' needs the argument 'final_answer'")
    return storable(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))[0]


def _find_fields(text: str) -> dict[str, Any]:
    """Return the two fields of a text that is not JSON, for example because the answer contains quotation marks."""
    fields: dict[str, Any] = {}
    if kind := _TYPE.search(text):
        fields["return_type"] = kind[1]
    if start := _ANSWER.search(text):
        fields["final_answer"] = _read_to_end(text[start.end() :])
    return fields


def _find_exact_fields(text: str) -> dict[str, Any]:
    """Return the two fields of a text that is not JSON, if they are in it exactly as ToolBench searches for them."""
    kinds = [kind for kind in (GIVE_ANSWER, GIVE_UP) if f'"return_type": "{kind}"' in text]
    fields: dict[str, Any] = {"return_type": kinds[0]} if kinds else {}
    _, start, rest = text.partition('"final_answer": "')
    return fields | ({"final_answer": _read_to_end(rest)} if start else {})


def _read_to_end(rest: str) -> str:
    """Return the answer at the beginning of the text after its opening quotation mark."""
    end = _END.search(rest)
    return _unescape(rest[: end.start()] if end else rest.rstrip("} \n"))


def _unescape(text: str) -> str:
    """Return the text with JSON's commonest escapes replaced. A backslash before another character stays."""
    escapes = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
    return re.sub(r"\\([nt\"'\\/])", lambda match: escapes[match[1]], text)
