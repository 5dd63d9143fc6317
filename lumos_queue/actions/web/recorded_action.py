"""What a person did on a recorded page: `[role]  text -> OP: value`, as Mind2Web writes it down, and in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ACTION = re.compile(
    r"\[(?P<role>[^\[\]]+)\](?P<text>.*?)-> (?P<op>CLICK|TYPE|SELECT|HOVER|ENTER)(?:: (?P<value>.+))?", re.DOTALL
)
#: The original draws one of several verbs at random: here is the first of them that says how it is done.
_WORDS = {"TYPE": "Type {value} in the {element}", "SELECT": "Select {value} in the {element}"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One action of a person."""

    role: str  #: of the element: a tag or an ARIA role
    text: str  #: of the element, often cut off; may be ''
    op: str  #: CLICK, TYPE, SELECT, HOVER or ENTER
    value: str  #: what was typed or selected; '' for the others


def read_recorded(text: str) -> Recorded | None:
    """An action as written; None for another form, and where a value is missing or is given where none belongs."""
    match = _ACTION.fullmatch(text)
    if match is None or ((match["value"] is None) == (match["op"] in ("TYPE", "SELECT"))):
        return None
    return Recorded(match["role"], match["text"].strip(), match["op"], match["value"] or "")


def sentence(text: str) -> str:
    """A recorded action in words, on one line, as a planner's subgoal would say it (spec/lumos.md 5.3)."""
    text = " ".join(text.split())
    action = read_recorded(text)
    if action is None:
        return text
    element = f"{action.role} {action.text}".strip()
    verb = "Enter" if action.op == "ENTER" else "Click"
    return _WORDS.get(action.op, f"{verb} {{element}}").format(element=element, value=action.value).rstrip(".") + "."
