"""Convert Mind2Web's rows: each recorded action becomes a subgoal with one action, without results.

HOVER and ENTER become CLICK, as in the data set's own `operation`, because LUMOS has no other action for them; the
subgoals name the original operation. Texts of a page are truncated: if the parentheses of a text are not balanced, all
of them become `/`. Examples of the texts of actions:

    ["[searchbox]  Search -> TYPE: red hat", "[svg]   -> CLICK", "[combobox]  Size -> SELECT: M"]

Only these texts are used. A row with more `actions` than texts (by `_step_index` in files of samples) is incomplete and
not converted, because its annotation would teach a model to stop too early.
"""

from __future__ import annotations

from lumos_queue.actions.web.recorded_action import read_recorded
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.rationales.steps import Steps, reject_variables
from lumos_queue.records import Annotation, Task

_ROLES = {"a": "link", "svg": "icon", "path": "icon", "img": "image"}  #: tags whose names do not describe the element
_NAMES = {"HOVER": "CLICK", "ENTER": "CLICK"}
_WORDS = {
    "CLICK": "Click {element}",
    "TYPE": "Type {value} in {element}",
    "SELECT": "Select {value} in {element}",
    "HOVER": "Point at {element}",
    "ENTER": "Confirm the input in {element}",
}


def describe(task: Task) -> str:
    """Return the rationale: the texts of the actions. Raises NotConvertible."""
    return "; ".join(_actions(task))


def annotate(task: Task) -> Annotation:
    """Return the gold solution by rule. Raises NotConvertible."""
    steps, page = Steps(), "Env"
    for text in (" ".join(text.split()) for text in _actions(task)):
        action = read_recorded(text)
        if action is None:
            raise NotConvertible("unreadable_action")
        if ", TEXT:" in text:
            raise NotConvertible("unwritable")
        reject_variables(text)
        name, value = action.op, action.value
        element = _balance_parentheses(f"the {_ROLES.get(action.role, action.role)} {action.text}".strip())
        words = _WORDS[name].format(element=element, value=value)
        arguments = f"{page}, QUERY: {words}" + (f", TEXT: {value}" if value else "")
        page = steps.add(f"{words.rstrip('.')}.", [(_NAMES.get(name, name), arguments, "")])
    return steps.finish("", results=False)


def _actions(task: Task) -> list[str]:
    if not task.gold["complete"]:
        raise NotConvertible("incomplete")
    if not task.gold["actions"]:
        raise NotConvertible("no_rationale")
    return task.gold["actions"]


def _balance_parentheses(text: str) -> str:
    """Return the text, with `/` for all parentheses if they are not balanced."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    return text.replace("(", "/").replace(")", "/") if depth else text
