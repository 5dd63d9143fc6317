"""ScienceQA: school questions with two to five choices, some about an image. `problems.json` with `pid_splits.json`
beside it, as published (lupantech/ScienceQA); an invented problem and its splits:

    {"7": {"question": "Which animal is a bird?", "choices": ["bat", "owl"], "answer": 1, "image": "image.png",
           "hint": "Birds have feathers.", "split": "test", …}, …}           {"train": […], "test": ["7", …], …}

Copies with a row for each problem (as on the Hugging Face hub) are also read. The id of a row is its `pid` or else its
number. A row may contain its image. If rows state their `split`, only the rows of the requested split are read.

LUMOS reports the problems with an image (ScienceQA-IMG): `--option subset=IMG`, the default; `all` takes all problems.
Images are in `images/<split>/<pid>/image.png` beside the file, or in another folder of that structure.

The hint is the text that is needed to answer: a passage, a table, a rule. LUMOS published no task text with a hint. In
this project, the hint is between question and choices, as in ScienceQA's own prompts (question, context, choices):

    Which animal is a bird? Birds have feathers. There're some choices: A. bat, B. owl.

The lecture and the solution explain the answer, so they are not in the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.choices import METRICS, choice_baselines, choice_scores, read_choices, read_right_choice
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.prompts.choice_text import task_text
from lumos_queue.readers.documents import read_object
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.instructions import optional_text
from lumos_queue.readers.json_records import json_document
from lumos_queue.readers.pictures import OPTIONS, Pictures, read_image_field
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.readers.source import Row
from lumos_queue.records import Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind

FORMAT = "ScienceQA's problems.json, an object of problems by id with 'question', 'choices' and 'answer', or such rows"
SPLITS = "ScienceQA's pid_splits.json, an object with a list of problem ids for each split"
SUBSETS = ("IMG", "all")
MAX_CHOICES = 5
#: Split to its names in rows. Only pid_splits.json lists the rows of the other splits.
_SPLIT_NAMES = {
    "train": ("train",),
    "val": ("val", "validation"),
    "test": ("test",),
    "trainval": ("train", "val", "validation"),
}


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
        """Yield the tasks. `path` is problems.json, its folder, or a file of rows."""
        subset = options.pop("subset", "IMG")
        if subset not in SUBSETS:
            raise unknown("subset of ScienceQA", subset, SUBSETS)
        file = path / "problems.json" if path and (path / "problems.json").is_file() else path
        if file and "images" not in options and (beside := file.with_name("images")).is_dir():
            options["images"] = str(beside)
        self._pictures = pictures = Pictures(**options)
        self.artifacts = pictures.artifacts
        yield from tasks(_rows(file, split, subset), lambda row, record: self._task(row, record, pictures))
        self.notes = pictures.notes()

    def _task(self, row: int, record: Mapping[str, Any], pictures: Pictures) -> Task:
        identifier, node = record["pid"], RowNode(row, "", record["problem"])
        choices = read_choices(node["choices"], MAX_CHOICES)
        answer = read_right_choice(node["answer"], choices, node["choices"])
        image_fields: dict[str, Any] = {"image": None, "image_name": "", "caption": ""}
        if "image" in node:
            image_fields = _look_up_image(node, identifier, pictures)
        hint = optional_text(node["hint"]) if "hint" in node else ""
        hint = " ".join(hint.split())
        question = f"{node['question'].text(verbatim=True)} {hint}".strip()
        gold = {"answer": answer, "choices": choices}
        return Task(
            self.name, "", identifier, task_text(question, choices, image_fields["caption"]), image_fields, gold
        )

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        return choice_scores(task, result.answer)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return choice_baselines(tasks)


def _look_up_image(node: RowNode, identifier: str, pictures: Pictures) -> dict[str, Any]:
    """Return the fields of the row's image. Raises BadRow."""
    content, name = read_image_field(node["image"])
    if content is not None:
        return pictures.of_content(node.row, identifier, content, name)
    paths = [(node["split"].text(), identifier, name)] if "split" in node else [(name,)]
    return pictures.of(node.row, identifier, paths if name else [])


def _rows(file: Path | None, split: str, subset: str) -> Iterator[Row | BadRow]:
    """Yield the rows of a split. Problems of problems.json have the order and the numbers of pid_splits.json."""
    problems = read_object(file, FORMAT, lambda record: "question" in record)
    if problems is None:
        yield from _single_rows(file, split, subset)
        return
    if not problems:
        raise SpecError(f"'{file}' is not {FORMAT}.")
    assert file is not None
    splits = json_document(file.with_name("pid_splits.json"), SPLITS)
    pids = splits.get(split) if isinstance(splits, dict) else None
    if not isinstance(pids, list):
        raise SpecError(f"'{file.with_name('pid_splits.json')}' is not {SPLITS}: it has no list '{split}'.")
    for row, pid in enumerate(pids, start=1):
        if not isinstance(pid, str) or not pid.strip():
            yield BadRow(row, "pid", "expected the id of a problem, a text")
        elif not isinstance(problem := problems.get(pid), dict):
            yield BadRow(row, "pid", f"no problem '{pid[:40]}' in {file.name}")
        elif subset == "all" or problem.get("image") is not None:
            yield row, {"pid": pid, "problem": problem}


def _single_rows(file: Path | None, split: str, subset: str) -> Iterator[Row | BadRow]:
    """Yield the rows of a file that has a problem in each row. Raises SpecError for a split that rows cannot state."""
    for item in read_records(file, FORMAT, ("question", "choices")):
        if isinstance(item, BadRow):
            yield item
            continue
        row, record = item
        node = RowNode(row, "", record)
        if "split" in node:
            if split not in _SPLIT_NAMES:
                raise SpecError(
                    f"The rows of '{file}' state their split, but only ScienceQA's pid_splits.json lists the rows of "
                    f"'{split}': give problems.json beside it, or {', '.join(_SPLIT_NAMES)} with --split."
                )
            if node["split"].value not in _SPLIT_NAMES[split]:
                continue
        if subset != "all" and "image" not in node:
            continue
        try:
            name = node["pid"].label() if "pid" in node else str(row)
        except BadRow as bad:
            yield bad
        else:
            yield row, {"pid": name, "problem": record}


benchmark = ScienceQA()
