"""Read a row of the released training files, with all its quirks (spec/lumos.md 3.1, 3.2).

The module, the formulation and the task of a row are read from its text alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lumos_queue.compat.lines import JsonLine, text_field
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import BadRow
from lumos_queue.notation import KEEP_PLANNING, read_plan, says_stop
from lumos_queue.prompts.dialogue import PLAN_HEAD

_PLAN_END = "; Initial Environment Description: None."
_ONE, _ALL = " \nSubgoal to be grounded: ", " \nSubgoals to be grounded: "
_EARLIER = " The grounding could be based on the following results:"
#: Before an empty result the space is missing too.
_RESULT_MESSAGE = re.compile(
    r"The executed result for Subgoal [0-9]+ is(?: (.*))?\. Should we stop planning\?", re.DOTALL
)
_DONE_MESSAGE = re.compile(r"We have already .*Should we stop planning\?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReleasedRow:
    """The parts of one conversation. Texts are stripped."""

    id: str
    domain: str
    module: str  #: 'plan' or 'ground'
    formulation: str  #: 'iterative' or 'onetime'
    task: str
    subgoals: tuple[str, ...]
    results: tuple[str, ...] = ()  #: of each subgoal in a planner's row, '' in the web domain; onetime: none
    groundings: tuple[str, ...] = ()  #: actions of each subgoal in a grounder's row; onetime: all in one text


def read_row(line: JsonLine) -> ReleasedRow:
    """Read the conversation in a line. Raises BadRow, which names the wrong field."""
    dataset, identifier, contents = text_field(line, "dataset"), text_field(line, "id"), _contents(line)
    first = contents[0]
    if first.startswith(PLAN_HEAD):
        domain = _read_domain(line, dataset)
        task, end, rest = first.removeprefix(PLAN_HEAD).removeprefix("Task: ").rpartition(_PLAN_END)
        if not end or rest.strip():
            raise BadRow(line.number, "messages", f"the planner's first message does not end in '{_PLAN_END}'")
        if len(contents) == 2:
            subgoals = tuple(subgoal.text for subgoal in read_plan(contents[1]))
            return ReleasedRow(identifier, domain, "plan", "onetime", task.strip(), subgoals)
        return ReleasedRow(
            identifier, domain, "plan", "iterative", task.strip(), *_subgoals_and_results(line, contents)
        )
    separator = _ALL if _ALL in first else _ONE
    before, mark, subgoal = first.rpartition(separator)
    head = next((name for name in DOMAINS if _begins(before, DOMAINS.load(name).verified_ground_head)), "")
    task = before.removeprefix(DOMAINS.load(head).ground_head if head else before[: before.find("\nTask: ") + 1])
    if not mark or not task.startswith("Task: "):
        raise BadRow(line.number, "messages", "the first message is neither a planner's nor a grounder's instruction")
    domain, task = _read_domain(line, dataset, head), task.removeprefix("Task: ").strip()
    if separator == _ALL:
        if len(contents) != 2:
            raise BadRow(
                line.number, "messages", f"a row that grounds a whole plan has 2 messages, found {len(contents)}"
            )
        subgoals = tuple(subgoal.text for subgoal in read_plan(subgoal))
        return ReleasedRow(identifier, domain, "ground", "onetime", task, subgoals, groundings=(contents[1].strip(),))
    return ReleasedRow(
        identifier,
        domain,
        "ground",
        "iterative",
        task,
        (subgoal.strip(), *_later_subgoals(line, contents)),
        groundings=tuple(content.strip() for content in contents[1::2]),
    )


def _contents(line: JsonLine) -> list[str]:
    """Return the contents of the messages. Raises BadRow unless user and assistant alternate, the assistant last."""
    messages = line.row.get("messages")
    if not isinstance(messages, list) or not messages or len(messages) % 2:
        problem = "is missing" if messages is None else "expected user and assistant in turn, the assistant last"
        raise BadRow(line.number, "messages", problem)
    for position, message in enumerate(messages):
        role = ("user", "assistant")[position % 2]
        if not isinstance(message, dict) or message.get("role") != role:
            raise BadRow(line.number, "messages", f"expected role '{role}' in message {position + 1}")
        if not isinstance(message.get("content"), str):
            raise BadRow(line.number, "messages", f"expected text as the content of message {position + 1}")
    return [message["content"] for message in messages]


def _read_domain(line: JsonLine, dataset: str, head: str = "") -> str:
    """Return `head`, the domain whose grounder's instruction the row has, or without it the dataset as the domain."""
    if head or dataset in DOMAINS:
        return head or dataset
    raise BadRow(line.number, "dataset", f"'{dataset}' is not one of {', '.join(DOMAINS)}")


def _begins(text: str, head: str | None) -> bool:
    return head is not None and text.startswith(f"{head}Task: ")


def _subgoals_and_results(line: JsonLine, contents: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the subgoals of an iterative plan, and for each the result that the planner sees."""
    if not says_stop(contents[-1]):
        raise BadRow(line.number, "messages", "the planner's last message does not stop planning")
    results = []
    for position in range(2, len(contents), 2):
        if match := _RESULT_MESSAGE.fullmatch(contents[position].strip()):
            results.append((match[1] or "").strip())
        elif _DONE_MESSAGE.fullmatch(contents[position].strip()):
            results.append("")
        else:
            raise BadRow(line.number, "messages", f"message {position + 1} gives the planner no result")
    subgoals = [content.strip().removeprefix(KEEP_PLANNING).strip() for content in contents[1:-1:2]]
    return tuple(subgoals), tuple(results)


def _later_subgoals(line: JsonLine, contents: list[str]) -> list[str]:
    """Return the subgoals of a grounder's row after the first."""
    subgoals, start = [], _ONE.strip() + " "
    for position in range(2, len(contents), 2):
        if not contents[position].startswith(start):
            raise BadRow(line.number, "messages", f"message {position + 1} does not begin with '{start.strip()}'")
        subgoals.append(contents[position].removeprefix(start).partition(_EARLIER)[0].strip())
    return subgoals
