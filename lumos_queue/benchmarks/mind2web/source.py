"""Mind2Web: tasks on web pages with the actions that people took. JSON lists as published; an invented row:

    {"annotation_id": "1a", "website": "acme", "confirmed_task": "Find a red hat", "action_reprs":
     ["[searchbox]  Search -> TYPE: red hat", "[svg]   -> CLICK", "[combobox]  Size -> SELECT: M"], "actions": […]}

By rule, each action becomes a subgoal with one action, without results. As in the data set's own `operation`, HOVER and
ENTER count as CLICK: LUMOS has no other action for them; their subgoals say what was done. Parentheses in a page's
text become `/` where they do not close, as page texts are cut off.

Only the texts of actions are used. A row with more `actions` than texts (`_step_index` in files put together from
samples) is a beginning, and not converted: its end would teach to stop too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.actions.web.recorded import read_recorded
from lumos_queue.benchmarks.source import Source
from lumos_queue.errors import BadRow
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.rationales.steps import Steps, reject_variables
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Task

FIELDS = ("confirmed_task", "action_reprs")
FORMAT = "a Mind2Web file, a JSON list of objects with 'annotation_id', 'confirmed_task' and 'action_reprs'"
_ROLES = {"a": "link", "svg": "icon", "path": "icon", "img": "image"}  #: tags whose names say nothing
_NAMES = {"HOVER": "CLICK", "ENTER": "CLICK"}
_WORDS = {
    "CLICK": "Click {element}", "TYPE": "Type {value} in {element}", "SELECT": "Select {value} in {element}",
    "HOVER": "Point at {element}", "ENTER": "Confirm the input in {element}",
}  # fmt: skip


class Mind2Web(Source):
    name = "mind2web"
    domain = "web_agent"
    prompt = "web"
    licence = "CC-BY-4.0"
    level = "format"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(json_rows(path, FORMAT, FIELDS), self.row_task)

    def row_task(self, row: int, record: Mapping[str, Any]) -> Task:
        """A row without its pages: those are read where they are used (benchmarks/mind2web). Raises BadRow."""
        node = Node(row, "", record)
        actions = node["action_reprs"].texts(written=True)
        taken = node["actions"].items() if "actions" in node else []
        ends = [item["_step_index"].whole() + 1 if "_step_index" in item else 0 for item in taken]
        complete = max([len(taken), *ends]) <= len(actions)
        gold = {"answer": "", "actions": actions, "complete": complete}
        inputs = {"website": node["website"].text()} if "website" in node else {}
        return Task(self.name, "", node["annotation_id"].text(), node["confirmed_task"].text(), inputs, gold)

    def plan(self, task: Task) -> str:
        return "; ".join(_actions(task))

    def gold(self, task: Task) -> Annotation:
        steps, page = Steps(), "Env"
        for text in (" ".join(text.split()) for text in _actions(task)):
            action = read_recorded(text)
            if action is None:
                raise NotConvertible("unreadable_action")
            if ", TEXT:" in text:
                raise NotConvertible("unwritable")
            reject_variables(text)
            name, value = action.op, action.value
            element = _closed(f"the {_ROLES.get(action.role, action.role)} {action.text}".strip())
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


def _closed(text: str) -> str:
    """The text with parentheses that close, or with `/` for all of them."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    return text.replace("(", "/").replace(")", "/") if depth else text


source = Mind2Web()
