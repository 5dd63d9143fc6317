"""Super-NaturalInstructions: many kinds of tasks, each with a definition as text, judged by ROUGE-L. The data is the
folder of the published repository (allenai/natural-instructions), with `tasks/NAME.json` and
`splits/default/test_tasks.txt`, a folder of task files, a task file, or a file of instances (rows with `definition`,
`inputs`, `targets`, and optional `id` and `task_name`); an invented task:

    {"Definition": ["Say which animal is meant."], "Categories": ["Naming"],
     "Instances": [{"id": "x-1", "input": "It barks.", "output": ["A dog", "dog"]}, …]}

The official score uses the first 100 instances of each test task, and for each answer the most similar reference. Only
arXiv v3 of LUMOS reports this score, for models that were trained to answer directly, and it does not state their
prompt. Here the prompt is the definition, the input, and `Respond to me directly`, as in the training text
(instructions.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rapidfuzz.distance import LCSseq

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, FormulationFacts
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.documents import read_object
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.instructions import direct_question, optional_text
from lumos_queue.readers.json_records import json_document
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.readers.source import Row
from lumos_queue.records import Score, Task
from lumos_queue.util.regular_file import read_regular_text

FORMAT = "a task of Super-NaturalInstructions, a JSON object with 'Definition' and 'Instances'"
INSTANCES = 100
MAX_CHARACTERS = 100_000  #: limit of an answer and of a reference, of which the beginning is read
OPTIONS = {"instances": f"limit of instances for each task, from the first (default {INSTANCES}, the official limit)"}


class SuperNI(Benchmark):
    name = "superni"
    domain = "complex_qa"  #: its actions are not used
    licence = "Apache-2.0"
    splits = ("train", "test")
    metrics = ("rouge_l",)
    options = OPTIONS
    slow = True

    def accepts(self, formulation: FormulationFacts) -> bool:
        """Accept a model that writes only the answer."""
        return formulation.answers_alone and not formulation.reasons

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        limit = options.get("instances", str(INSTANCES))
        if not (limit.isdecimal() and int(limit)):
            raise SpecError(f"--option instances={limit[:20]} cannot be read: expected a whole number from 1 on.")
        if path is not None and path.exists() and (single := _single_rows(path, int(limit))) is not None:
            self.notes = []
            yield from tasks(single, self._single_task)
            return
        row, (files, has_list) = 0, _files(path, split)
        self.notes = (
            [] if has_list else [f"There is no list {split}_tasks.txt: all {len(files):,} task files are read."]
        )
        for file in files:
            document = json_document(file, FORMAT)
            if not isinstance(document, dict) or not {"Definition", "Instances"} <= document.keys():
                raise SpecError(f"'{file}' is not {FORMAT}.")
            node = RowNode(row + 1, "", document)
            for index, instance in enumerate(node["Instances"].items()[: int(limit)]):
                row += 1
                try:
                    yield self._task(file.stem, RowNode(row, f"{file.name}: Instances[{index}]", instance.value), node)
                except BadRow as bad:
                    yield bad

    def _task(self, name: str, instance: RowNode, task: RowNode) -> Task:
        definition = task["Definition"]
        definitions = [definition] if isinstance(definition.value, str) else definition.items()
        words = " ".join(item.text(verbatim=True) for item in definitions)
        outputs = _read_outputs(instance["output"].items(), instance["output"])
        question = direct_question(words, optional_text(instance["input"]) if "input" in instance else "")
        _, _, index_text = instance.name.rpartition("[")
        gold = {"answer": outputs[0], "outputs": outputs}
        return Task(self.name, "", f"{name}-{int(index_text[:-1]) + 1}", question, {"task": name}, gold)

    def _single_task(self, row: int, record: Mapping[str, Any]) -> Task:
        node = RowNode(row, "", record)
        targets = node["targets"]
        outputs = _read_outputs(targets.items() if isinstance(targets.value, list) else [targets], targets)
        question = direct_question(
            node["definition"].text(verbatim=True), optional_text(node["inputs"]) if "inputs" in node else ""
        )
        name = node["id"].label() if "id" in node else str(row)
        inputs = {"task": node["task_name"].label()} if "task_name" in node else {}
        return Task(self.name, "", name, question, inputs, {"answer": outputs[0], "outputs": outputs})

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return `rouge_l`: the F-measure of the longest common subsequence of stemmed words for the best reference."""
        if not result.answer:
            return (Score("rouge_l", 0.0),)
        answer = _words(result.answer)
        return (Score("rouge_l", max(_rouge_l(answer, _words(reference)) for reference in task.gold["outputs"])),)


def rouge_l(answer: str, reference: str) -> float:
    """Return ROUGE-L from 0 to 1, as in Google's rouge-score, which the benchmark's authors use.

    Only the first MAX_CHARACTERS of each text count.
    """
    return _rouge_l(_words(answer), _words(reference))


def _rouge_l(answer: Sequence[str], reference: Sequence[str]) -> float:
    """Return ROUGE-L of lists of stemmed words. The library's own algorithm takes hours for long texts."""
    from rouge_score.scoring import fmeasure

    if not answer or not reference:
        return 0.0
    common = LCSseq.similarity(answer, reference)
    return float(fmeasure(common / len(answer), common / len(reference)))


def _words(text: str) -> list[str]:
    return _tokenizer().tokenize(text[:MAX_CHARACTERS])


@cache
def _tokenizer() -> Any:
    from rouge_score.tokenizers import DefaultTokenizer  # imports nltk, which takes a second

    return DefaultTokenizer(use_stemmer=True)


def _read_outputs(items: Sequence[RowNode], node: RowNode) -> list[str]:
    """Return the references. Raises BadRow."""
    outputs = [optional_text(item) for item in items]
    if not all(outputs) or not outputs:
        raise node.bad("no reference, or an empty one")
    return outputs


def _single_rows(path: Path, limit: int) -> Iterator[Row | BadRow] | None:
    """Return the rows of a file of instances, at most `limit` of each task; None for published task files."""
    if path.is_dir() or read_object(path, FORMAT, lambda record: "definition" in record) is not None:
        return None
    return _first_of_each_task(path, limit)


def _first_of_each_task(path: Path, limit: int) -> Iterator[Row | BadRow]:
    counts = Counter[str]()
    for item in read_records(path, FORMAT, ("definition", "targets")):
        name = "" if isinstance(item, BadRow) else str(item[1].get("task_name") or "")
        counts[name] += bool(name)
        if counts[name] <= limit:
            yield item


def _files(path: Path | None, split: str) -> tuple[list[Path], bool]:
    """Return the task files, and whether these are a selection: a file, or the files of the split's list.

    If they are no selection, they are all files of the folder. Raises SpecError.
    """
    if path is None or not path.exists():
        raise SpecError(f"Cannot read '{path}': give the folder of Super-NaturalInstructions with --data.")
    if path.is_file():
        return [path], True
    folder = path / "tasks" if (path / "tasks").is_dir() else path
    names = (path.parent if path.name == "tasks" else path) / "splits" / "default" / f"{split}_tasks.txt"
    if not (has_list := names.is_file()):
        files = sorted(folder.glob("task*.json"))
    else:
        files = [folder / f"{name}.json" for name in read_regular_text(names).split()]
        if missing_files := [file for file in files if not file.is_file()]:
            raise SpecError(
                f"'{names}' lists {len(missing_files):,} tasks that have no file; the first: '{missing_files[0]}'."
            )
    if not files:
        raise SpecError(f"'{folder}' has no file task*.json: expected the tasks of Super-NaturalInstructions.")
    return files, has_list


benchmark = SuperNI()
