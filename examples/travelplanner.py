"""A custom benchmark in one file: TravelPlanner's chats become tasks with a rationale and an annotation by rule.

    PYTHONPATH=. lumos convert examples.travelplanner:benchmark --data FILE.jsonl --deterministic --longest 2100

docs/new_benchmark.md walks through it. A row is a chat; its texts are written as Python lists:

    {"messages": [{"role": "system", …}, {"role": "user", "content": "Given Information:[{'Description': 'Restaurants in
     Lunby', 'Content': '…'}, …]\\nQuery:Plan a day in Lunby …"}, {"role": "assistant", "content": "[{'days': 1, …}]"}]}
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import BadRow
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.rationales.steps import Steps, reject_variables
from lumos_queue.readers.fields import Node
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Task

FORMAT = "TravelPlanner's JSON lines, chats of three 'messages' whose last is the plan"
WANTED = ("transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")  #: of a day, in order
FROM_PAGE = {
    "Attractions": ("attraction",),
    "Restaurants": ("breakfast", "lunch", "dinner"),
    "Accommodations": ("accommodation",),
}
_STATE = re.compile(r"(?<=\w)\([^()]+\)")  #: the pages name `San Antonio(Texas)` San Antonio


class TravelPlanner(Benchmark):
    name = "travelplanner"
    domain = "complex_qa"  # whose actions the annotations use
    licence = "MIT"
    teacher_prompt = "qa"  # the worked examples in the teacher's prompt
    check_level = "oracle_tool"  # steps can be acted out only with their stated results

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(read_records(path, FORMAT, ("messages",)), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        messages = Node(row, "", record)["messages"].items()
        if [message["role"].value for message in messages] != ["system", "user", "assistant"]:
            raise BadRow(row, "messages", "expected one message each of system, user and assistant")
        request, plan = messages[1]["content"], messages[2]["content"]
        information, query, question = request.text(verbatim=True).rpartition("Query:")
        if not query or not question.strip():
            raise request.bad("expected 'Given Information:' and then 'Query:'")
        pages = _read_literal(request, information.strip().removeprefix("Given Information:"))
        days = [_read_day(day) for day in _read_literal(plan, plan.text(verbatim=True)).items() if day.value]
        gold = {
            "answer": " ".join(_describe_day(day) for day in days),
            "days": days,
            "pages": {page["Description"].text(): page["Content"].text() for page in pages.items()},
        }
        return Task(self.name, "", str(row), " ".join(question.split()), gold=gold)

    def rationale(self, task: Task) -> str:
        """Return the names of the pages and the plan as text."""
        return f"We have this information: {'; '.join(task.gold['pages'])}. This is the plan: {task.gold['answer']}"

    def gold(self, task: Task) -> Annotation:
        """Return an annotation: look up the pages of the plan, choose for each day, and put the days together."""
        pages, days = task.gold["pages"], task.gold["days"]
        used_pages = [page for page in pages if any(_draws_on(day, page) for day in days)]
        if not days or not used_pages:
            raise NotConvertible("no_support")
        reject_variables(*used_pages, task.question, task.gold["answer"])
        steps = Steps()
        steps.add(
            "Look up travel, food, sights and accommodation of the places to go to.",
            [("KnowledgeQuery", page, f"WikipediaPage({page})") for page in used_pages],
        )
        choices = []
        for number, day in enumerate(days, start=1):
            sources = [f"R{index}" for index, page in enumerate(used_pages, start=1) if _draws_on(day, page)]
            question = f"[{', '.join(sources or choices[-1:])}], Question: What to do on day {number}?"
            choices.append(steps.add(f"Choose what to do on day {number}.", [("QA", question, _describe_day(day))]))
        together = f"[{', '.join(choices)}], Question: {task.question}"
        steps.add("Put the days together as the plan.", [("QA", together, task.gold["answer"])])
        return steps.finish(task.gold["answer"])


def _read_literal(node: Node, text: str) -> Node:
    """Read a text as a Python list, without running code. Raises BadRow."""
    try:
        return Node(node.row, node.name, ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise node.bad("expected a Python list") from error


def _read_day(node: Node) -> dict[str, str]:
    """Return the plan of a day by field, without the fields that are `-`."""
    texts = {name: node[name].text().rstrip(";") for name in WANTED}
    return {"city": node["current_city"].text()} | {name: text for name, text in texts.items() if text != "-"}


def _describe_day(day: Mapping[str, str]) -> str:
    plan = "; ".join(f"{name}: {day[name]}" for name in WANTED if name in day)
    return f"{day['city'][:1].upper()}{day['city'][1:]}: {plan or 'nothing'}."


def _draws_on(day: Mapping[str, str], page: str) -> bool:
    """Whether a day's choices come from a page, `Restaurants in Lunby` or `Flight from Aske to Lunby on …`."""
    kind, _, town = page.partition(" in ")
    if town:
        return any(_STATE.sub("", day.get(name, "")).endswith(f", {town}") for name in FROM_PAGE.get(kind, ()))
    kind, _, way = page.partition(" from ")
    travel = _STATE.sub("", day.get("transportation", ""))
    return travel.startswith(kind) and f"from {way.partition(' on ')[0]}," in f"{travel},"


benchmark = TravelPlanner()
