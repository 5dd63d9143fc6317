"""Read the call of Finish, which ends an episode with or without an answer. Its arguments are often invalid JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.tools.arguments import MAX_ARGUMENTS, read_object
from lumos_queue.errors import ActionError
from lumos_queue.util.sanitize import storable

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
    if kind == GIVE_UP:
        return None
    if kind != GIVE_ANSWER:
        choices = f"'{GIVE_ANSWER}' or '{GIVE_UP}'"
        raise ActionError("invalid_arguments", f"Finish needs the argument 'return_type', which must be {choices}")
    if answer is None:
        raise ActionError("invalid_arguments", f"Finish with '{GIVE_ANSWER}' needs the argument 'final_answer'")
    return storable(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))[0]


def _find_fields(text: str) -> dict[str, Any]:
    """Return the two fields of a text that is not JSON, for example because the answer contains quotation marks."""
    fields: dict[str, Any] = {}
    if kind := _TYPE.search(text):
        fields["return_type"] = kind[1]
    if start := _ANSWER.search(text):
        rest = text[start.end() :]
        end = _END.search(rest)
        fields["final_answer"] = _unescape(rest[: end.start()] if end else rest.rstrip("} \n"))
    return fields


def _unescape(text: str) -> str:
    """Return the text with JSON's commonest escapes replaced. A backslash before another character stays."""
    escapes = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
    return re.sub(r"\\([nt\"'\\/])", lambda match: escapes[match[1]], text)
