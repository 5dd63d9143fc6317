"""Read people's actions on pages in Mind2Web's form `[role]  text -> OP: value`, and write them as sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ACTION = re.compile(
    r"\[(?P<role>[^\[\]]+)\](?P<text>.*?)-> (?P<op>CLICK|TYPE|SELECT|HOVER|ENTER)(?:: (?P<value>.+))?", re.DOTALL
)
#: The original uses a random verb of several; this is the first that names the kind of action.
_WORDS = {"TYPE": "Type {value} in the {element}", "SELECT": "Select {value} in the {element}"}


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """One action of a person."""

    role: str  #: of the element: a tag or an ARIA role
    text: str  #: of the element, often cut off; may be ''
    op: str  #: CLICK, TYPE, SELECT, HOVER or ENTER
    value: str  #: the typed or selected text; '' for other kinds


def read_recorded(text: str) -> RecordedAction | None:
    """Return the action of a text; None for another form, TYPE or SELECT without a value, or a value of other kinds."""
    match = _ACTION.fullmatch(text)
    if match is None or ((match["value"] is None) == (match["op"] in ("TYPE", "SELECT"))):
        return None
    return RecordedAction(match["role"], match["text"].strip(), match["op"], match["value"] or "")


def sentence(text: str) -> str:
    """Return a recorded action as a sentence on one line, in the form of a planner's subgoal (spec/lumos.md 5.3)."""
    text = " ".join(text.split())
    action = read_recorded(text)
    if action is None:
        return text
    element = f"{action.role} {action.text}".strip()
    verb = "Enter" if action.op == "ENTER" else "Click"
    return _WORDS.get(action.op, f"{verb} {{element}}").format(element=element, value=action.value).rstrip(".") + "."
