"""Convert the steps of a stored episode to decisions of answer files.

In a search each command has a parent, from which the predecessor of its decision follows. A chain and a plan have no
tree, so their decisions are one chain. In a plan each planned call is a decision whose thought is the call's purpose,
and the answer is a call of Finish at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from db.journal.step_records import RecordedStep
from lumos_queue.actions.tools.finish import GIVE_ANSWER
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.actions.tools.statuses import code_of
from lumos_queue.commands import WITHIN
from lumos_queue.compat.toolbench.tree_writing import ANSWERED, mark_pruned
from lumos_queue.compat.toolbench.trees import ROOT, RecordedDecision
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.plans import read_plan
from lumos_queue.records import Action, Completion, Execution, FinishReason
from lumos_queue.text_calls.decision_form import DecisionForm
from lumos_queue.text_calls.three_lines import Reply, read_reply


def decisions_of(
    form: DecisionForm, role: str, steps: Sequence[RecordedStep], version: int, max_calls: int = 0
) -> list[RecordedDecision]:
    """Return the decisions of a tool agent's episode in their order. `role` decides, or plans the calls.

    `version`: the version of the formulation in the episode's job, which determines how replies are read. `max_calls`:
    the number of model calls at which the search ends without carrying out the last reply; 0 for no such number.
    """
    own_steps = [step for step in steps if step.branch < WITHIN]
    match form:
        case DecisionForm.PLAN:
            return mark_pruned(list(_read_plan(own_steps, role, version)))
        case DecisionForm.CHAIN:
            return mark_pruned(_read_chain(own_steps, role, version))
        case DecisionForm.SEARCH:
            return _read_search(own_steps, role, version, max_calls)


def count_replies(steps: Iterable[RecordedStep], role: str) -> int:
    """Return the number of a role's replies to a formulation, also of those that were not carried out."""
    return sum(step.branch < WITHIN and isinstance(step.result, Completion) and step.role == role for step in steps)


def _read(completion: Completion, version: int) -> Reply:
    return read_reply(completion.text, version, completion.finish_reason == FinishReason.LENGTH)


def _read_search(steps: Iterable[RecordedStep], role: str, version: int, max_calls: int) -> list[RecordedDecision]:
    """Return the decisions of a search. Replies of other roles, which may judge decisions, are no decisions."""
    decisions: list[RecordedDecision] = []
    decision_indexes = {ROOT: ROOT}  # position of a command to its decision
    is_discarded = False  # whether the last reply was not carried out
    for step in steps:
        before = decision_indexes[ROOT if step.parent is None else step.parent]
        if isinstance(step.result, Completion) and step.role != role:
            decision_indexes[step.position] = before
        elif isinstance(step.result, Completion):
            reply = _read(step.result, version)
            decision_indexes[step.position] = len(decisions)
            decisions.append(RecordedDecision(before, reply.thought))
            is_discarded = bool(reply.action) or len(decisions) == max_calls
        elif isinstance(step.detail, Action) and isinstance(step.result, Execution):
            decision_indexes[step.position], is_discarded = before, False
            decisions[before] = _with_call(decisions[before], step.detail, step.result)
    if is_discarded:  # ToolBench, too, leaves out the reply to the last call
        return mark_pruned(decisions[:-1], unfinished=decisions[-1].before)
    return mark_pruned(decisions)


def _read_chain(steps: Iterable[RecordedStep], role: str, version: int) -> list[RecordedDecision]:
    decisions: list[RecordedDecision] = []
    for step in steps:
        if isinstance(step.result, Completion) and step.role == role:
            decisions.append(RecordedDecision(len(decisions) - 1, _read(step.result, version).thought))
        elif isinstance(step.detail, Action) and isinstance(step.result, Execution):
            decisions[-1] = _with_call(decisions[-1], step.detail, step.result)
    return decisions


def _read_plan(steps: Iterable[RecordedStep], role: str, version: int) -> Iterator[RecordedDecision]:
    purposes: dict[str, str] = {}
    count = 0
    for step in steps:
        if isinstance(step.detail, Action) and isinstance(step.result, Execution):
            thought = purposes.get(step.detail.variables[0], "")
            yield _with_call(RecordedDecision(count - 1, thought), step.detail, step.result)
        elif not isinstance(step.result, Completion):
            continue
        elif step.role == role:
            purposes |= {call.variable: call.purpose for call in read_plan(step.result.text, version)}
            continue
        elif answer := step.result.text.strip():
            arguments = json.dumps({"return_type": GIVE_ANSWER, "final_answer": answer}, ensure_ascii=False)
            yield RecordedDecision(count - 1, "", FINISH.name, arguments, "", ANSWERED)
        count += 1


def _with_call(decision: RecordedDecision, action: Action, execution: Execution) -> RecordedDecision:
    name = action.raw if action.name == REPEATED else action.name
    value = execution.values[0] if execution.values else {}
    code = value.get("code", code_of(execution.status))
    return replace(decision, name=name, arguments=action.arguments, observation=execution.result, code=code)
