"""Two open-ended tasks over local functions: an artwork and a travel report (OpenAGI, arXiv:2304.04370).

The tasks have no right answer: people rate the products (`lumos rate`). The metrics need no judge: the share of lines
of the approved to-do list that were done, and the share of function calls that succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lumos_queue.actions.local.documents import local_functions
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, FormulationFacts
from lumos_queue.errors import BadRow
from lumos_queue.prompts.todo_list import read_list
from lumos_queue.records import Score, Task

NAME = "open_ended"
#: Row, objective, and functions of each task.
TASKS = (
    (
        "artwork",
        "Make an artwork about a lighthouse on a stormy evening: a painting, a poem that goes with it and a short "
        "piece of music in its mood. Keep the poem as a file, and say what was made and why it belongs together.",
        (
            "search",
            "text_to_image_generation",
            "image_style_transfer",
            "image_captioning",
            "text_generation",
            "compose_melody",
            "write_file",
        ),
    ),
    (
        "travel-report",
        "Write a report of three days in Ombry for two people: how to get there, where to stay, what to see and what "
        "to eat, what all of it costs, and a picture of the town. Keep the report as a file.",
        ("search", "calculator", "text_to_image_generation", "text_summarization", "machine_translation", "write_file"),
    ),
)


class OpenEnded(Benchmark):
    name = NAME
    domain = "local_tools"
    licence = "MIT"
    splits = ("test",)
    needs_data = False
    by_answer = False
    metrics = ("lines_done", "calls_succeeded")

    def accepts(self, formulation: FormulationFacts) -> bool:
        return formulation.approved

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        for row, objective, functions in TASKS:
            yield Task(NAME, "", row, objective, {"functions": local_functions(*functions)})

    def gold_answer(self, task: Task) -> str:
        """Return '' because tasks have no gold answer: people judge the answers."""
        return ""

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return the scores. `lines_done` is 0 without an approved list; `calls_succeeded` is omitted without calls."""
        lines = read_list(result.approved)
        completed = sum(action.name == FINISH.name and execution.ends for action, execution in result.seen)
        calls = [execution.ok for action, execution in result.seen if action.name != FINISH.name]
        scores = [Score("lines_done", 0.0, detail="no list was approved")]
        if lines:
            scores = [Score("lines_done", completed / len(lines), detail=f"{completed} of {len(lines)}", of=len(lines))]
        if calls:
            detail = f"{sum(calls)} of {len(calls)}"
            scores.append(Score("calls_succeeded", sum(calls) / len(calls), detail=detail, of=len(calls)))
        return scores


benchmark = OpenEnded()
