"""Raw annotations → training files as the original writes them, byte for byte (spec/lumos.md 2.3 to 3.2).

Its quirks are kept, because files made here stand beside files made there. For training sets of our own, see builds.
Where the specification is silent: JSON as Python writes it by default, one object a line; rows counted from 0; the task
stripped in plans alone, as 1.2 has it; `Output` numbered on from the row before when a row's first subgoal ends in it,
and such a row dropped only where no row came before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from lumos_queue.domains import PLAN_HEAD, Domain, domain_named
from lumos_queue.errors import SpecError, unknown
from lumos_queue.notation import KEEP_PLANNING, STOP_PLANNING
from lumos_queue.released.plan_text import Block, Parsed, parse_line, split_plan, told_result
from lumos_queue.released.raw import RawAnnotation

DOMAINS = ("maths", "complex_qa", "web_agent", "multimodal")  #: those with released training files
MODULES = ("plan", "ground")
FORMULATIONS = ("iterative", "onetime")

_NUMBERED = re.compile("R([0-9]+)")


class _Dropped(Exception):
    """Raised at a row that the original leaves out of its iterative files."""


class _Numbering:
    """The number that `Output` gets: one more than the last variable of the subgoal before.

    The original never begins anew with a row, so the subgoal before may be another row's.
    """

    def __init__(self):
        self._last: int | None = None

    def name_output(self, block: Block, actions: list[Parsed]) -> str:
        """The subgoal's actions in one text, in which every `Output` is a numbered variable. Raises _Dropped."""
        if not block.lines:
            raise _Dropped
        text = "; ".join(action.written() for action in actions)
        before, numbered = self._last, _NUMBERED.fullmatch(actions[-1].variables[-1])
        if numbered:
            self._last = int(numbered[1])
        elif before is None:
            raise _Dropped
        else:
            self._last = before + 1
        return text if before is None else text.replace("Output", f"R{before + 1}")


def export_rows(raws: Iterable[RawAnnotation], domain: str, module: str, formulation: str) -> Iterator[str]:
    """The lines of `lumos_{domain}_{module}_{formulation}`, without their line breaks.

    Raises SpecError, before the first line, for an unknown name and for the grounder of a domain whose instruction
    was never published.
    """
    for what, name, choices in (("released domain", domain, DOMAINS), ("module", module, MODULES),
                                ("formulation", formulation, FORMULATIONS)):  # fmt: skip
        if name not in choices:
            raise unknown(what, name, choices)
    wording = domain_named(domain)
    if module == "ground" and wording.verified_ground_head is None:
        raise SpecError(f"The grounder's instruction of domain '{domain}' was never published: export its plans alone.")
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
        except _Dropped:
            continue
        roles = ("user", "assistant")
        messages = [{"role": roles[place % 2], "content": content} for place, content in enumerate(contents)]
        yield json.dumps({"dataset": domain.name, "id": f"{domain.name}_{count}", "messages": messages})
        count += 1


def _plan_task(task: str) -> str:
    return f"{PLAN_HEAD}Task: {task.strip()}; Initial Environment Description: None."


def _plan_iterative(domain: Domain, task: str, blocks: list[Block], numbering: _Numbering) -> Iterator[str]:
    yield _plan_task(task)
    for number, block in enumerate(blocks, start=1):
        numbering.name_output(block, _parsed(domain, block))  # the planner's file has the same filter
        yield block.subgoal if number == 1 else f"{KEEP_PLANNING} {block.subgoal}"
        if domain.reports == "done":
            text = block.subgoal.partition(": ")[2]
            done = f"We have already {text[:1].lower()}{text[1:]}".strip(".")
            yield f"{done.strip()}. Should we stop planning?"
        else:
            result = told_result(block.lines[-1])
            yield f"The executed result for Subgoal {number} is {result}. Should we stop planning?"
    yield STOP_PLANNING


def _ground_onetime(domain: Domain, task: str, blocks: list[Block]) -> list[str]:
    subgoals = "; ".join(block.subgoal for block in blocks)
    actions = "; ".join(action.written() for block in blocks for action in _parsed(domain, block))
    return [f"{domain.ground_head}Task: {task} \nSubgoals to be grounded: {subgoals}\n", actions]


def _ground_iterative(domain: Domain, task: str, blocks: list[Block], numbering: _Numbering) -> Iterator[str]:
    results: dict[str, str] = {}
    for number, block in enumerate(blocks, start=1):
        actions = _parsed(domain, block)
        turn = f"Subgoal to be grounded: {block.subgoal}"
        if number == 1:
            turn = f"{domain.ground_head}Task: {task} \n{turn}"
        elif domain.shows_earlier:
            turn += " The grounding could be based on the following results:" + "".join(
                f" The execution result for {label} is {result}" for label, result in sorted(results.items())
            )
        yield f"{turn}\n"
        yield numbering.name_output(block, actions)
        results[f"Subgoal {number}"] = actions[-1].result


def _parsed(domain: Domain, block: Block) -> list[Parsed]:
    return [parse_line(line, domain.reports == "result") for line in block.lines]
