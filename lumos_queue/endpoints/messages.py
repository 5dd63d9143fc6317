"""Read the message of a chat server: its text, its reasoning, and the number of reasoning tokens.

Servers differ: `content` may be a text or a list of parts, some of which may be reasoning, and some servers have
separate fields for reasoning. Parts of an unknown shape are skipped, with a note.
"""

from __future__ import annotations

from lumos_queue.endpoints.http import Malformed
from lumos_queue.endpoints.replies import abbreviate, count, join_reasoning
from lumos_queue.records import Json, JsonObject

#: Beside the text of a message or a choice: of DeepSeek, vLLM, SGLang and llama.cpp; of OpenRouter and newer vLLM.
REASONING_FIELDS = ("reasoning_content", "reasoning")
_TEXTS = frozenset(("text", "output_text", "refusal"))  #: types of parts
_THOUGHTS = frozenset(("thinking", "reasoning", "reasoning_text", "reasoning_content", "thought", "summary_text"))
_FIELDS = ("text", "thinking", "reasoning", "reasoning_content", "thought", "refusal", "content", "summary")
MAX_TYPES = 3  #: types of skipped parts that a note names


def read_content(message: JsonObject, notes: list[str]) -> tuple[str, str]:
    """Return the text of a message (or its refusal), and the reasoning in parts of its `content`.

    Add a line to `notes` about parts of an unknown shape. Raises Malformed if `content` is neither text nor parts.
    """
    content = message.get("content") or message.get("refusal") or ""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise Malformed("no text in 'choices[0].message.content'")
    texts: list[str] = []
    thoughts: list[str] = []
    unknown: dict[str, None] = {}
    for part in content:
        kind = part.get("type", "text") if isinstance(part, dict) else "text"
        text = _read_part(part)
        if text is None or not isinstance(kind, str) or kind not in _TEXTS | _THOUGHTS:
            unknown[abbreviate(kind if isinstance(part, dict) else part)] = None
        elif kind in _THOUGHTS or (isinstance(part, dict) and part.get("thought") is True):
            thoughts.append(text)
        else:
            texts.append(text)
        if len(unknown) > MAX_TYPES:
            unknown.popitem()
    if unknown:
        notes.append(f"parts of the message without a text were left out: {', '.join(unknown)}")
    return "".join(texts), join_reasoning(thoughts)


def read_reasoning(source: JsonObject, notes: list[str]) -> str:
    """Return the reasoning in separate fields of a message or a choice; '' if there is none."""
    fields: dict[str, None] = {}
    for name in REASONING_FIELDS:
        value = source.get(name)
        if not value:
            continue
        text = _read_part(value)
        if text is None:
            notes.append(f"no text in '{name}': {abbreviate(value)}")
        else:
            fields[text] = None  # some servers send it under both names
    return join_reasoning(fields)


def _read_part(part: Json) -> str | None:
    """Return the text of a part, which may itself be a list of parts, or None if it has no text."""
    if isinstance(part, dict):
        part = next((part[name] for name in _FIELDS if isinstance(part.get(name), str | list)), None)
    if isinstance(part, list):  # a thinking part has a list of parts with a text each
        texts = [inner.get("text") if isinstance(inner, dict) else inner for inner in part]
        strings = [text for text in texts if isinstance(text, str)]
        return "".join(strings) if strings or not part else None
    return part if isinstance(part, str) else None


def count_reasoning(usage: JsonObject, notes: list[str]) -> int:
    """Return how many tokens of the reply were reasoning, or 0 if the server does not count them."""
    for name in ("completion_tokens_details", "output_tokens_details"):
        details = usage.get(name)
        if isinstance(details, dict) and details.get("reasoning_tokens") is not None:
            return count(details["reasoning_tokens"], "reasoning_tokens", notes)
    return count(usage.get("reasoning_tokens"), "reasoning_tokens", notes)
