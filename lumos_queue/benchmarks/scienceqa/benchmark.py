"""ScienceQA: school questions with two to five choices, some about an image. `problems.json` with `pid_splits.json`
beside it, as published (lupantech/ScienceQA); an invented problem and its splits:

    {"7": {"question": "Which animal is a bird?", "choices": ["bat", "owl"], "answer": 1, "image": "image.png",
           "hint": "Birds have feathers.", "split": "test", …}, …}           {"train": […], "test": ["7", …], …}

LUMOS reports the problems with an image (ScienceQA-IMG): `--option subset=IMG`, the default; `all` takes all.
Images are in `images/<split>/<pid>/image.png` beside the file, or in another folder of that shape.

The hint is what must be read to answer: the passage, the table, the rule. No text of LUMOS for such rows was published;
here it is put between question and choices, in the order of ScienceQA's own prompts (question, context, choices):

    Which animal is a bird? Birds have feathers. There're some choices: A. bat, B. owl.

Lecture and solution, which explain the answer, are not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.choices import METRICS, choice_baselines, choice_scores, read_choices
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.prompts.choice_text import task_text
from lumos_queue.readers.fields import Node
from lumos_queue.readers.pictures import OPTIONS, Pictures
from lumos_queue.readers.rows import Row, json_document, tasks
from lumos_queue.records import Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind

FORMAT = "ScienceQA's problems.json, an object of problems by id with 'question', 'choices' and 'answer'"
SPLITS = "ScienceQA's pid_splits.json, an object with a list of problem ids for each split"
SUBSETS = ("IMG", "all")
MAX_CHOICES = 5


class ScienceQA(Benchmark):
    name = "scienceqa"
    domain = "multimodal"
    answers = AnswerKind.CHOICE
    licence = "CC-BY-NC-SA-4.0"
    splits = ("train", "val", "test", "trainval", "minitrain", "minival", "minitest")
    test_splits = ("test", "minitest")
    metrics = METRICS
    options = OPTIONS | {"subset": "IMG: problems with an image (default); all: every problem"}

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """`path` is problems.json or its folder."""
        subset = options.pop("subset", "IMG")
        if subset not in SUBSETS:
            raise unknown("subset of ScienceQA", subset, SUBSETS)
        file = path / "problems.json" if path and path.is_dir() else path
        if file and "images" not in options and (beside := file.with_name("images")).is_dir():
            options["images"] = str(beside)
        pictures = Pictures(**options)
        self.artifacts = pictures.artifacts
        yield from tasks(_rows(file, split, subset), lambda row, record: self._task(row, record, pictures))
        self.notes = pictures.notes()

    def _task(self, row: int, record: Mapping[str, Any], pictures: Pictures) -> Task:
        identifier, node = record["pid"], Node(row, "", record["problem"])
        choices, right = read_choices(node["choices"], MAX_CHOICES), node["answer"]
        if not 0 <= right.whole() < len(choices):
            raise right.bad(f"{right.value}, but there are {len(choices)} choices")
        seen: dict[str, Any] = {"image": None, "image_name": "", "caption": ""}
        if node["image"].value is not None:
            seen = pictures.of(row, identifier, [(node["split"].text(), identifier, node["image"].text())])
        hint = " ".join(node["hint"].value.split()) if isinstance(node["hint"].value, str) else node["hint"].text()
        question = f"{node['question'].text()} {hint}".strip()
        gold = {"answer": choices[right.value], "choices": choices}
        return Task(self.name, "", identifier, task_text(question, choices, seen["caption"]), seen, gold)

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        return choice_scores(task, result.answer)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return choice_baselines(tasks)


def _rows(file: Path | None, split: str, subset: str) -> Iterator[Row | BadRow]:
    """The problems of a split in the order of pid_splits.json, which is what rows are counted by."""
    problems = json_document(file, FORMAT)
    if not isinstance(problems, dict) or not problems:
        raise SpecError(f"'{file}' is not {FORMAT}.")
    assert file is not None
    splits = json_document(file.with_name("pid_splits.json"), SPLITS)
    listed = splits.get(split) if isinstance(splits, dict) else None
    if not isinstance(listed, list):
        raise SpecError(f"'{file.with_name('pid_splits.json')}' is not {SPLITS}: it has no list '{split}'.")
    for row, pid in enumerate(listed, start=1):
        if not isinstance(pid, str) or not pid.strip():
            yield BadRow(row, "pid", "expected the id of a problem, a text")
        elif not isinstance(problem := problems.get(pid), dict):
            yield BadRow(row, "pid", f"no problem '{pid[:40]}' in {file.name}")
        elif subset == "all" or problem.get("image") is not None:
            yield row, {"pid": pid, "problem": problem}


benchmark = ScienceQA()
