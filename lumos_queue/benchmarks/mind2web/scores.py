"""Score an episode on recorded pages, step by step. The k-th action of the episode is the prediction for step k.

Every recorded step is a trial (`Score.of`). A step is wrong if the episode has no action for it, or if this failed.

step_success        element and operation are right: Mind2Web's own definition, averaged over steps
element_accuracy    the element is a right element, by node number
operation_f1        F1 of the sets of words of `OP VALUE`, as in Mind2Web and AgentBench
operation_accuracy  CLICK, TYPE or SELECT is right, whatever the element and the value
macro_step_success  step_success averaged over tasks, the number in Mind2Web's paper
lumos_step          LUMOS's definition, over the actions that were executed: the element's description equals that of
                    the first right element; the operation and, ignoring case, the value are equal
task_success        every step is right; only for tasks whose record is complete
agentbench_step     as step_success, but an element is right only if MindAct's model ranks it among its first ten; a
                    step without such an element is wrong; only for rows that have these ranks
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.records import Score, Task

METRICS = (
    "step_success",
    "element_accuracy",
    "operation_f1",
    "operation_accuracy",
    "macro_step_success",
    "lumos_step",
    "task_success",
    "agentbench_step",
)
REACHED = 10  #: ranks that AgentBench offers to an agent
_MAX_DETAIL = 300  #: characters

Value = Mapping[str, Any]


def step_scores(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return a score for each of METRICS that applies to the task."""
    gold = task.gold["steps"]
    predictions: list[Value | None] = [
        execution.values[0] if execution.ok and execution.values else None for _, execution in result.seen
    ]
    predictions = [*predictions, *[None] * len(gold)][: len(gold)]
    elements = [
        value is not None and value["node"] in step["positives"] for value, step in zip(predictions, gold, strict=True)
    ]
    overlaps = [operation_f1(value, step) for value, step in zip(predictions, gold, strict=True)]
    right = [element and overlap == 1 for element, overlap in zip(elements, overlaps, strict=True)]
    same = [value is not None and value["op"] == step["op"] for value, step in zip(predictions, gold, strict=True)]
    wrong = ", ".join(str(page["step"]) for page, good in zip(task.inputs["steps"], right, strict=True) if not good)
    detail = f"wrong steps: {wrong}"[:_MAX_DETAIL] if wrong else ""
    scores = [
        _mean("step_success", right, detail),
        _mean("element_accuracy", elements),
        _mean("operation_f1", overlaps),
        _mean("operation_accuracy", same),
        Score("macro_step_success", fmean(right)),
    ]
    if executed_steps := [
        (value, *step) for value, *step in zip(predictions, gold, task.inputs["steps"], strict=True) if value
    ]:
        scores.append(_mean("lumos_step", [_same_text(*step) for step in executed_steps]))
    if task.gold["whole"]:
        scores.append(Score("task_success", float(all(right))))
    if all("ranks" in step for step in gold):
        scores.append(
            _mean(
                "agentbench_step",
                [
                    good and value is not None and step["ranks"][value["node"]] < REACHED
                    for good, value, step in zip(right, predictions, gold, strict=True)
                ],
            )
        )
    return scores


def operation_f1(value: Value | None, gold: Value) -> float:
    """Return F1 of the two sets of words, case-sensitive; 0 if no action was executed."""
    if value is None:
        return 0.0
    words, gold_words = (set(f"{operation['op']} {operation['value']}".split()) for operation in (value, gold))
    return 2 * len(words & gold_words) / (len(words) + len(gold_words))


def click_at(task: Task, index: int) -> list[bool]:
    """Return for each step whether a click on the candidate with that index would be right."""
    return [
        bool(page["candidates"]) and page["candidates"][index]["node"] in step["positives"] and step["op"] == "CLICK"
        for page, step in zip(task.inputs["steps"], task.gold["steps"], strict=True)
    ]


def _mean(metric: str, values: Sequence[float], detail: str = "") -> Score:
    return Score(metric, fmean(values), detail=detail, of=len(values))


def _same_text(value: Value, gold: Value, page: Value) -> bool:
    texts = {candidate["node"]: candidate["text"] for candidate in page["candidates"]}
    first = texts.get(gold["positives"][0]) if gold["positives"] else None
    if value["op"] != gold["op"] or first is None or texts.get(value["node"]) != first:
        return False
    return gold["op"] == "CLICK" or value["value"].lower() == gold["value"].lower()
