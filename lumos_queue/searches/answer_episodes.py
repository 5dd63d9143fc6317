"""Convert an answer file to a task and the steps of an episode, as a job would have stored the same search.

Replies and observations are those of the file, and replies are written as three lines. The prompts are those of this
project's policy, which have the same content in other words. The file's own texts are kept in the task
(`inputs["answer_file"]`), so that the file can be written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from db.journal.step_records import RecordedStep
from lumos_queue.actions.tools.answers import SHOWN
from lumos_queue.actions.tools.arguments import read_arguments, read_object
from lumos_queue.actions.tools.finish import read_finish
from lumos_queue.actions.tools.functions import Function, functions_of
from lumos_queue.actions.tools.interface import ANSWERS, API
from lumos_queue.actions.tools.statuses import status_of
from lumos_queue.actions.tools.task_functions import FUNCTIONS, functions_of_task
from lumos_queue.commands import ROOT, WITHIN, Ask, Call, Commands, Do, Step
from lumos_queue.compat.toolbench.answer_file import FINISH, TREE, AnswerFile, header_of
from lumos_queue.compat.toolbench.differences import find_changes
from lumos_queue.compat.toolbench.messages import UNKNOWN_FUNCTION
from lumos_queue.compat.toolbench.recorded_answers import answers_of
from lumos_queue.compat.toolbench.schemas import entries_of, find_differing_names
from lumos_queue.compat.toolbench.stored_steps import decisions_of
from lumos_queue.compat.toolbench.tree_writing import ANSWERED, GAVE_UP
from lumos_queue.compat.toolbench.trees import RecordedDecision
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.formulations.decision import Decision, describe_tries
from lumos_queue.formulations.defaults import IMPORTED_CHAINS, IMPORTED_TREE
from lumos_queue.formulations.policy import Policy
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.transcript import History
from lumos_queue.records import Action, Completion, Ending, Execution, FinishReason, Outcome, Task
from lumos_queue.text_calls.decision_form import DecisionForm
from lumos_queue.text_calls.three_lines import Reply, write_reply
from lumos_queue.util.exchange import Exchange

KEPT = "answer_file"  #: the task's input with everything of a file but its decisions
DOMAIN = "tools"
ROLE = "policy"  #: the role of all replies
VERSION = 1  #: version of the formulation of these replies: jobs of imports state no other
NOTE = "the reply of a recorded search; the prompt is this project's wording of it"


def formulation_of(file: AnswerFile) -> str:
    return IMPORTED_TREE if file.kind == TREE else IMPORTED_CHAINS


def task_of(file: AnswerFile, dataset: str, **inputs: Any) -> Task:
    """Return the task of the file's query, with its functions and their recorded answers.

    Raises SpecError for a function whose name would have to be changed.
    """
    if invalid_names := find_differing_names(file.functions):
        raise SpecError(
            f"'{file.name}': the function's name '{invalid_names[0][:80]}' is invalid or occurs twice: expected "
            "different names of at most 64 letters, digits and underscores."
        )
    entries = entries_of(file.functions)
    answers = answers_of(file.decisions, functions_of(entries))
    row = file.path.removesuffix(".json")
    return Task(
        "toolbench", dataset, row, file.query, {FUNCTIONS: entries, ANSWERS: answers, **inputs}, {"relevant": []}
    )


def replies_of(file: AnswerFile) -> list[str]:
    """Return the replies in the order of the search, each written as three lines, for `inputs["given"]`."""
    return [_write(decision) for decision in file.decisions]


def build_recorded_episode(file: AnswerFile, dataset: str) -> tuple[Task, list[Step], Outcome]:
    """Return the task, the steps and the outcome of a file. Raises SpecError if a reply cannot be three lines."""
    task = task_of(file, dataset)
    steps = list(_steps(file, task))
    decisions = decisions_of(DecisionForm.SEARCH, ROLE, [_as_stored(step) for step in steps], VERSION)
    again = replace(file, decisions=decisions, changes=())
    header = header_of(replace(again, changes=find_changes(again.content(), file.content())))
    return replace(task, inputs={**task.inputs, KEPT: header}), steps, _outcome(file)


def _steps(file: AnswerFile, task: Task) -> Iterator[Step]:
    """Yield the steps of the search, with the parents and positions that the formulation gives them."""
    functions = functions_of_task(task)
    exchange = Exchange(_walk(file, task))
    number = -1
    for position, command in enumerate(exchange):
        if isinstance(command, Ask):
            number += 1
            exchange.reply = Completion(_write(file.decisions[number]), FinishReason.STOP, note=NOTE)
        else:
            assert isinstance(command, Do)
            decision = file.decisions[number]
            exchange.reply = execution = execution_of(decision)
            if decision.name != FINISH and decision.code != UNKNOWN_FUNCTION:
                yield _call(decision, execution, functions.get(decision.name), position)
        assert isinstance(exchange.reply, Completion | Execution)
        yield Step(position, 0, command, exchange.reply)


def _walk(file: AnswerFile, task: Task) -> Commands[None]:
    """Yield the commands of the search. In chains each try begins anew, without a message about earlier tries."""
    policy = Policy(task, Agent({}, DOMAIN), History(), version=VERSION)
    root, nodes = Decision(), []
    for number, decision in enumerate(file.decisions):
        above = nodes[decision.before] if decision.before != ROOT else root
        completion, position = yield from policy.decide(above, describe_tries(above) if file.kind == TREE else "")
        node = yield from policy.act(above, completion, position)
        if (node.reply.action, node.reply.arguments) != (decision.name, decision.arguments):
            raise SpecError(
                f"'{file.name}': the call of decision {number + 1} ({decision.name[:80] or 'none'}) cannot be "
                "separated from its thought once both are written as Thought, Action and Action Input: leave this file "
                "out."
            )
        nodes.append(node)


def _write(decision: RecordedDecision) -> str:
    return write_reply(Reply(decision.thought, decision.name, decision.arguments))


def execution_of(decision: RecordedDecision) -> Execution:
    """Return the execution of a recorded call. It includes ToolBench's code of the outcome."""
    text, code = decision.observation, decision.code
    if code == ANSWERED and decision.name == FINISH:
        return Execution("ok", text, ({"kind": "answer", "text": _answer(decision), "ends": True, "code": code},))
    status = "give_up" if code == GAVE_UP else "ok" if code is None else status_of(code) or "tool_error"
    value = {"kind": "observation", "text": text, "code": code}
    return Execution(status, text, (value,), "" if status == "ok" else text[:200])


def _answer(decision: RecordedDecision) -> str:
    try:
        return read_finish(decision.arguments) or ""
    except ActionError:
        return decision.arguments


def _call(decision: RecordedDecision, execution: Execution, function: Function | None, position: int) -> Step:
    """Return the step with the request of a call. Arguments that this project would refuse stay as written."""
    try:
        raw_arguments = read_object(decision.arguments)
        arguments = read_arguments(function, decision.arguments) if function else raw_arguments
    except ActionError:
        arguments = {"text": decision.arguments}
    names = ("", "", decision.name) if function is None else (function.category, function.tool, function.api)
    request = dict(zip(("category", "tool", "api"), names, strict=True)) | {"arguments": arguments}
    call = Call(API, request)  # the number among equal requests follows from the steps, so it is not stored
    value = {"kind": "response", "text": decision.observation, "code": decision.code}
    result = Execution(execution.status, execution.result[:SHOWN], (value,), execution.message, provenance="recorded")
    return Step(position, WITHIN, call, result)


def _as_stored(step: Step) -> RecordedStep:
    command = step.command
    parent = command.parent if isinstance(command, Ask | Do) else None
    detail: Action | None = command.action if isinstance(command, Do) else None
    role = command.role if isinstance(command, Ask) else ""
    return RecordedStep(step.position, step.branch, "", step.result, detail, role, "", parent)


def _outcome(file: AnswerFile) -> Outcome:
    end = file.decisions[file.chosen] if file.chosen is not None else None
    if end is not None and end.code == ANSWERED:
        return Outcome(_answer(end), Ending.ANSWERED)
    if any(decision.code == GAVE_UP for decision in file.decisions):
        return Outcome(None, Ending.GAVE_UP)
    return Outcome(None, Ending.LIMIT, "the recorded search ends without an answer")


def collect_messages(decisions: Sequence[RecordedDecision], describe: Callable[[Decision], str]) -> dict[int, str]:
    """Return by number of a decision the message of `describe` about its earlier siblings, which a search has sent."""
    root, nodes, texts = Decision(), [], {}
    for number, decision in enumerate(decisions):
        above = nodes[decision.before] if decision.before != ROOT else root
        if text := describe(above):
            texts[number] = text
        execution = Execution("", decision.observation) if decision.name else None
        node = Decision(above, Reply(decision.thought, decision.name, decision.arguments), execution=execution)
        above.children.append(node)
        nodes.append(node)
    return texts
