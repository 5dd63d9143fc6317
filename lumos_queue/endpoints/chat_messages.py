"""Convert framed text to messages of a chat: the roles of its turns become the roles of the messages."""

from __future__ import annotations

import re

_TURN = re.compile(r"^<\|(system|user|assistant)\|>\n", re.MULTILINE)
_END = "</s>"


def chat_messages(prompt: str) -> list[dict[str, str]]:
    """Return the turns of framed text as messages, without the reply's header. Text without roles is the user's."""
    pieces = _TURN.split(prompt)
    before, turns = pieces[0].strip(), list(zip(pieces[1::2], pieces[2::2], strict=True))
    if before or not turns:
        turns.insert(0, ("user", before))
    if turns[-1] == ("assistant", ""):
        turns.pop()
    return [{"role": role, "content": text.strip().removesuffix(_END).rstrip()} for role, text in turns]
