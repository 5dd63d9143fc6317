"""Web agents without a model, for tests: scripted planner and grounder, and an oracle in place of the ranker.

The grounder names its node, and the oracle's pages describe elements only by their node. So the tests cover the way
from a prompt to a score, and not the matching of descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lumos_queue.actions.web.interface import WebActions, WebSession
from lumos_queue.endpoints.base import ModelCall
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer, InferContext
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Task

Choice = tuple[str, str, str]  #: node, operation, value

AGENT = Agent(roles={"planner": "scripted", "grounder": "scripted"}, domain="web_agent", max_subgoals=20)


class ByNode:
    """An oracle, no ranker: the text that the query names as `node 7`."""

    name = "oracle: by node"

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        node = query.split()[1]
        return [float(text.strip() == node) for text in texts]

    async def close(self) -> None:
        """Nothing is held."""


class OracleActions(WebActions):
    """The real actions on pages whose elements are described by their number alone."""

    def __init__(self):
        super().__init__()
        self.ranker = ByNode()

    def begin(self, task: Task) -> WebSession:
        pages = [
            {
                **page,
                "candidates": [
                    {**candidate, "text": f"ancestors: \ntarget: {candidate['node']}"}
                    for candidate in page["candidates"]
                ],
            }
            for page in task.inputs["steps"]
        ]
        return super().begin(replace(task, inputs={**task.inputs, "steps": pages}))


class Scripted:
    """A planner or grounder with a table of replies for the step of a prompt. Keeps the prompts."""

    def __init__(self, replies: Mapping[str, Sequence[str]], marker: str, offset: int = 0):
        self._replies, self._marker, self._offset = replies, marker, offset
        self.prompts: list[str] = []

    async def generate(self, call: ModelCall) -> Completion:
        self.prompts.append(call.prompt)
        (replies,) = (replies for question, replies in self._replies.items() if f"Task: {question}" in call.prompt)
        return Completion(replies[call.prompt.count(self._marker) + self._offset], "stop")


def right(task: Task, index: int) -> Choice:
    step = task.gold["steps"][index]
    return step["positives"][0], step["op"], step["value"]


def wrong(task: Task, index: int) -> Choice:
    """Another element, another operation, another value."""
    step = task.gold["steps"][index]
    other_candidate = next(
        candidate
        for candidate in task.inputs["steps"][index]["candidates"]
        if candidate["node"] not in step["positives"]
    )
    return (other_candidate["node"], "TYPE", "zzz") if step["op"] == "CLICK" else (other_candidate["node"], "CLICK", "")


def grounder_line(choice: Choice, index: int) -> str:
    node, op, value = choice
    page, text = f"R{index}" if index else "Env", f", TEXT: {value}" if value else ""
    return f"R{index + 1} = {op}({page}, QUERY: node {node}{text})"


def script_replies(tasks: Sequence[Task], choose: Callable[[Task, int], Choice]) -> dict[str, Scripted]:
    """Planner and grounder that choose at every step of these tasks; the planner stops after the last one."""
    plans, lines = {}, {}
    for task in tasks:
        last = task.inputs["steps"][-1]["step"]
        plans[task.question] = [
            f"{'No, I will keep planning. ' if number else ''}Subgoal {number + 1}: Do step {number + 1}."
            for number in range(last + 1)
        ] + ["Yes, I will stop planning."]
        lines[task.question] = [grounder_line(choose(task, index), index) for index in range(len(task.inputs["steps"]))]
    # The first grounder prompt holds one subgoal, the first planner prompt no report.
    return {"planner": Scripted(plans, "We have already"), "grounder": Scripted(lines, "Subgoal to be grounded:", -1)}


async def evaluate(
    tasks: Sequence[Task], roles: Mapping[str, Scripted], actions: WebActions, formulation: str = "teacher-forced"
) -> list[ItemResult]:
    """Each task through the real episode, actions and scoring of an evaluation."""
    job = Evaluate(Infer("mind2web", "digest", "train", formulation, AGENT))
    context = InferContext(Executor(dict(roles), actions, AGENT.sampling, 0), (), {})  # type: ignore[arg-type]
    return [await job.run(Work(index, 0, task), MemoryJournal(), context) for index, task in enumerate(tasks)]


def totals(results: Sequence[ItemResult]) -> dict[str, tuple[float, int]]:
    """Metric to (right trials, trials) over all results."""
    sums: dict[str, tuple[float, int]] = {}
    for score in (score for result in results for score in result.scores):
        had, of = sums.get(score.metric, (0.0, 0))
        sums[score.metric] = had + score.value * score.of, of + score.of
    return {metric: (round(had, 9), of) for metric, (had, of) in sums.items()}


def native(steps: Sequence[Mapping], **fields) -> str:
    """An invented Mind2Web file of one row."""
    row = {
        "annotation_id": "1a",
        "website": "acme",
        "confirmed_task": "Buy a red hat",
        "action_reprs": ["[link]  Hats -> CLICK", "[searchbox]  Colour -> TYPE: red", "[combobox]  Size -> SELECT: M"],
        "actions": list(steps),
    }
    return json.dumps([row | fields])
