"""Write training files from raw annotations as the original does, byte for byte (spec/lumos.md 2.3 to 3.2).

The original's quirks stay, because these files are used together with released files. The package builds writes other
training sets. Planner and grounder rows read a subgoal's last variable in different ways, so the two files omit
different rows. The specification does not decide some points: here a line is a JSON object as Python writes it by
default, rows are counted from 0, and the task is unchanged. A web subgoal without text, on which the original fails,
has an empty description.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lumos_queue.compat.plan_text import (
    Block,
    ParsedAction,
    parse_line,
    read_reported_result,
    read_reported_variable,
    split_plan,
)
from lumos_queue.compat.raw_annotations import RawAnnotation
from lumos_queue.domains.base import Domain
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError, unknown
from lumos_queue.notation import KEEP_PLANNING, STOP_PLANNING
from lumos_queue.prompts.dialogue import PLAN_HEAD

RELEASED = ("maths", "complex_qa", "web_agent", "multimodal")  #: domains with released training files
MODULES = ("plan", "ground")
FORMULATIONS = ("iterative", "onetime")


class _Omitted(Exception):
    """Raised for a row that the original leaves out of its iterative files."""


class _Numbering:
    """Numbers the variable `Output`: its number is that of the last `R<int>` that ended an earlier subgoal, plus 1.

    The original does not reset the number between rows, so the earlier subgoal may belong to another row.
    """

    def __init__(self):
        self._last: int | None = None

    def name_output(self, variable: str, text: str) -> str:
        """Return the text of a subgoal in which each `Output` is a numbered variable.

        `variable` is the subgoal's last variable; if it is `R<int>`, the text stays. Raises _Omitted if the subgoal has
        no variable, if `variable` begins with R but is not `R<int>`, and for others before the first `R<int>`.
        """
        if variable.startswith("R"):
            try:
                self._last = int(variable[1:])
            except ValueError:
                raise _Omitted from None
            return text
        if not variable or self._last is None:
            raise _Omitted
        return text.replace("Output", f"R{self._last + 1}")


def export_rows(raws: Iterable[RawAnnotation], domain: str, module: str, formulation: str) -> Iterator[str]:
    """Yield the lines of `lumos_{domain}_{module}_{formulation}`, without line breaks.

    The call itself raises SpecError for an unknown domain, module or formulation, and for the grounder of a domain
    whose grounding instruction was never published.
    """
    names = (
        ("released domain", domain, RELEASED),
        ("module", module, MODULES),
        ("formulation", formulation, FORMULATIONS),
    )
    for kind, name, choices in names:
        if name not in choices:
            raise unknown(kind, name, choices)
    wording = DOMAINS.load(domain)
    if module == "ground" and wording.verified_ground_head is None:
        raise SpecError(f"The grounder's instruction of domain '{domain}' was never published: export its plans only.")
    return _rows(raws, wording, module, formulation)


def _rows(raws: Iterable[RawAnnotation], domain: Domain, module: str, formulation: str) -> Iterator[str]:
    numbering, count = _Numbering(), 0
    for raw in raws:
        task, blocks = raw.task, split_plan(raw.subgoal_plan)
        try:
            match module, formulation:
                case "plan", "onetime":
                    contents = [_plan_task(task), "; ".join(block.subgoal for block in blocks)]
                case "ground", "onetime":
                    contents = _ground_onetime(domain, task, blocks)
                case "plan", _:
                    contents = list(_plan_iterative(domain, task, blocks, numbering))
                case _:
                    contents = list(_ground_iterative(domain, task, blocks, numbering))
        except _Omitted:
            continue
        roles = ("user", "assistant")
        messages = [{"role": roles[position % 2], "content": content} for position, content in enumerate(contents)]
        yield json.dumps({"dataset": domain.name, "id": f"{domain.name}_{count}", "messages": messages})
        count += 1


def _plan_task(task: str) -> str:
    return f"{PLAN_HEAD}Task: {task}; Initial Environment Description: None."


def _plan_iterative(domain: Domain, task: str, blocks: list[Block], numbering: _Numbering) -> Iterator[str]:
    yield _plan_task(task)
    for number, block in enumerate(blocks, start=1):
        if not block.lines:
            raise _Omitted
        if domain.reports == "done":
            text = block.subgoal[block.subgoal.find(": ") + 2 :]
            message = f"We have already {text[:1].lower()}{text[1:]}".strip(".")
        else:
            message = f"The executed result for Subgoal {number} is {read_reported_result(block.lines[-1])}"
        message = numbering.name_output(
            read_reported_variable(block.lines[-1]), f"{message.strip()}. Should we stop planning?"
        )
        yield block.subgoal if number == 1 else f"{KEEP_PLANNING} {block.subgoal}"
        yield message
    yield STOP_PLANNING


def _ground_onetime(domain: Domain, task: str, blocks: list[Block]) -> list[str]:
    subgoals = "; ".join(block.subgoal for block in blocks)
    actions = "; ".join(action.text() for block in blocks for action in _parse_actions(domain, block))
    return [f"{domain.ground_head}Task: {task} \nSubgoals to be grounded: {subgoals}\n", actions]


def _ground_iterative(domain: Domain, task: str, blocks: list[Block], numbering: _Numbering) -> Iterator[str]:
    results: dict[str, str] = {}
    for number, block in enumerate(blocks, start=1):
        if not block.lines:
            raise _Omitted
        actions = _parse_actions(domain, block)
        turn = f"Subgoal to be grounded: {block.subgoal}"
        if number == 1:
            turn = f"{domain.ground_head}Task: {task} \n{turn}"
        elif domain.shows_earlier:
            turn += " The grounding could be based on the following results:" + "".join(
                f" The execution result for {label} is {result}" for label, result in sorted(results.items())
            )
        yield f"{turn}\n"
        yield numbering.name_output(actions[-1].variables[-1], "; ".join(action.text() for action in actions))
        results[block.subgoal[: block.subgoal.find(":")]] = actions[-1].result


def _parse_actions(domain: Domain, block: Block) -> list[ParsedAction]:
    return [parse_line(line, domain.reports == "result") for line in block.lines]
