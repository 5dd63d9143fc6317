"""StrategyQA: yes/no questions whose steps are implicit. It reads the published `train.json` (rows.py), the only file
with rationales, and BIG-bench's task file, which the LUMOS evaluation used; an invented task file:

    {"name": "strategyqa", "examples": [{"input": "Could Ann have met Bob?", "target_scores": {"Yes": 0, "No": 1},
                                         "target": "No. Ann died in 1800. Bob was born in 1810."}]}

LUMOS's scripts read the same questions from a list of `{"question": "Could Ann have met Bob?", "answer": false}`, which
is read as rows of `train.json` without facts: an agent needs a corpus for them.
The file of the LUMOS evaluation also has the training questions, so there are two protocols: the split `paper` has all
rows of the file, and `clean` excludes the questions that LUMOS was trained on. These are the 1,777 of 2,061 rows of
train.json for whose every step an annotator found evidence; the option `trained` names that file. An agent may search
the facts, not the evidence paragraphs: reports must name the tool set `facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.benchmarks.strategyqa.rationale import NEWEST_RULES, annotate, describe
from lumos_queue.benchmarks.strategyqa.rows import FIELDS, is_kept, read_row, read_rows
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.documents import read_object
from lumos_queue.readers.fields import CONVERTING, ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.readers.source import Row
from lumos_queue.records import Annotation, Level, Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.yes_no import contains_yes, read_yes_no

FORMAT = "StrategyQA's train.json, a list of questions, or BIG-bench's task file, a JSON object with 'examples'"
EXAMPLE_FIELDS = ("target_scores",)
FACTS = "Facts"  #: the title of BIG-bench's facts, which have no title
PUBLISHED, TRAINED_ON = 2290, 1777  #: rows in the file of the LUMOS evaluation, and rows that LUMOS was trained on


class StrategyQA(Benchmark):
    name = "strategyqa"
    domain = "complex_qa"
    licence = "MIT"
    splits = ("train", "dev", "test", "paper", "clean")
    metrics = ("accuracy", "original", "unparsed")
    options: Mapping[str, str] = {
        "trained": "PATH of StrategyQA's train.json: what LUMOS was trained on, for --split clean"
    }
    answers = AnswerKind.YES_NO
    check_level = Level.ORACLE_TOOL
    teacher_prompt = "qa"
    newest_rules = NEWEST_RULES

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        training_questions = self._training_questions(split, options.get("trained"))
        self.notes, row_count, excluded, bare_rows = [], 0, 0, 0
        conversion = ConversionFields(required=False)
        for row in self._rows(path, conversion):
            row_count += 1
            if isinstance(row, Task) and _key(row) in training_questions:
                excluded += 1
            else:
                bare_rows += isinstance(row, Task) and not row.gold["facts"]
                yield row
        self.notes = [f"the file has {row_count:,} rows; the one LUMOS was evaluated on has {PUBLISHED:,}"]
        self.notes += conversion.notes()
        if bare_rows:
            self.notes.append(f"{bare_rows:,} of them have no facts: for them, KnowledgeQuery only searches its corpus")
        if split == "clean":
            self.notes.append(
                f"{excluded:,} of them were left out and {row_count - excluded:,} kept: "
                f"'{Path(options['trained']).name}' names {len(training_questions):,} different questions of the "
                f"{TRAINED_ON:,} rows that LUMOS was trained on"
            )
        elif split == "paper":
            self.notes.append("most of these questions are among those that LUMOS was trained on: see --split clean")

    def _training_questions(self, split: str, path: str | None) -> set[str]:
        """Return the questions of train.json that LUMOS was trained on; an empty set for other splits than `clean`."""
        if (split == "clean") != (path is not None):
            raise SpecError(
                "StrategyQA's split 'clean' and --option trained=PATH need each other: give both, or neither. PATH is "
                "StrategyQA's train.json, whose questions LUMOS was trained on."
            )
        if path is None:
            return set()
        questions = set()
        for row in read_rows(Path(path), CONVERTING, ("evidence",)):
            if isinstance(row, BadRow):  # it may be a training question
                raise SpecError(f"--option trained='{path}': {row}.")
            if is_kept(row):
                questions.add(_key(row))
        return questions

    def _rows(self, path: Path | None, conversion: ConversionFields) -> Iterator[Task | BadRow]:
        if (document := read_object(path, FORMAT, _is_row)) is not None:
            return tasks(_examples(path, document), self._example)
        return tasks(read_records(path, FORMAT, (*FIELDS, *EXAMPLE_FIELDS)), partial(self._row, conversion))

    def _row(self, conversion: ConversionFields, row: int, record: Mapping[str, Any]) -> Task:
        """Return the task of a row, of train.json or of BIG-bench's task file."""
        is_example = record.get("target_scores") is not None and record.get("question") is None
        return self._example(row, record) if is_example else read_row(conversion, row, record)

    def _example(self, row: int, record: Mapping[str, Any]) -> Task:
        node = RowNode(row, "", record)
        scores = node["target_scores"]
        yes, no = scores["Yes"].whole(), scores["No"].whole()
        if {yes, no} != {0, 1}:
            raise scores.bad("expected one of Yes and No to be 1, the other 0")
        _, _, facts = (node["target"].text() if "target" in node else "").partition(". ")
        gold = {"answer": "Yes" if yes else "No", "facts": [facts] if facts else [], "questions": [], "evidence": []}
        inputs = {"paragraphs": [{"title": FACTS, "text": fact} for fact in gold["facts"]]}
        return Task(self.name, "", str(row), node["input"].raw_text(), inputs, gold)

    @property
    def teaching(self) -> RowReader:
        return RowReader(("train", "dev", "test"), {}, self._train_rows)

    def _train_rows(self, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        self.notes = []  # notes of `read` are about the file of the LUMOS evaluation
        return read_rows(path, CONVERTING)

    def gold(self, task: Task) -> Annotation:
        return annotate(task, self.rule_version)

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return three scores, 1 or 0. `accuracy`: the answer is yes or no, and equal to the gold answer.

        `original`: the LUMOS evaluation would count the answer as right. `unparsed`: it is neither yes nor no.
        """
        gold = task.gold["answer"] == "Yes"
        truth = read_yes_no(result.answer) if result.answer is not None else None
        return (
            Score("accuracy", float(truth == gold)),
            Score("original", float(contains_yes(result.answer) == gold)),
            Score("unparsed", float(result.answer is not None and truth is None)),
        )

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        yes = [task.gold["answer"] == "Yes" for task in tasks]
        return {"always yes": yes, "always no": [not is_yes for is_yes in yes]}

    def rationale(self, task: Task) -> str:
        return describe(task)

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the answer is the gold answer. `True` counts as `Yes`, and `False` as `No`."""
        plain_answer = {"true": "Yes", "false": "No"}.get((answer or "").strip(" .").casefold(), answer)
        return super().is_right(task, plain_answer)

    def facts(self, task: Task) -> str:
        return " ".join(task.gold["facts"])


def _is_row(record: Mapping[str, Any]) -> bool:
    return "examples" not in record and any(name in record for name in (*FIELDS, *EXAMPLE_FIELDS))


def _examples(path: Path | None, document: Mapping[str, Any]) -> Iterator[Row | BadRow]:
    examples = document.get("examples")
    if not isinstance(examples, list) or not examples:
        raise SpecError(f"'{path}' is not {FORMAT}: it has no list 'examples', or an empty one.")
    for row, record in enumerate(examples, start=1):
        yield (row, record) if isinstance(record, dict) else BadRow(row, "row", "expected a JSON object")


def _key(task: Task) -> str:
    """Return the question with single spaces and in lower case, to compare questions."""
    return " ".join(task.question.casefold().split())


benchmark = StrategyQA()
