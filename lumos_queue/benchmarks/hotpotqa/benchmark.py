"""HotpotQA: questions whose answers need two Wikipedia pages. rows.py describes the formats and has an invented row.

Rows of the published distractor and fullwiki files and of their column form have ten pages, which the agent may search.
A file with only questions and answers, as in the LUMOS evaluation, has no pages, so KnowledgeQuery needs a corpus.
`exact_match` and `f1` are the metrics of HotpotQA's hotpot_evaluate_v1.py; `llm_accuracy` needs a judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.benchmarks.hotpotqa.rationale import NEWEST_RULES, annotate, describe
from lumos_queue.benchmarks.hotpotqa.rows import GoldPages, read_rows
from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import CONVERTING, ConversionFields
from lumos_queue.records import Annotation, Level, Score, Task
from lumos_queue.scoring import judge
from lumos_queue.scoring.page_baselines import page_baselines
from lumos_queue.scoring.spans import exact_match, f1, normalize, read_answer

PUBLISHED = 7405  #: questions of the development set
_CLOSED = frozenset(("yes", "no", "noanswer"))
_TRUTH = {"true": "yes", "false": "no"}


class HotpotQA(Benchmark):
    name = "hotpotqa"
    domain = "complex_qa"
    licence = "CC-BY-SA-4.0"
    metrics = ("exact_match", "f1", judge.METRIC)
    check_level = Level.ORACLE_TOOL
    teacher_prompt = "qa"
    newest_rules = NEWEST_RULES

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return self._read(ConversionFields(required=False), path, split)

    @property
    def teaching(self) -> RowReader:
        return RowReader(self.splits, self.options, partial(self._read, CONVERTING))

    def _read(self, conversion: ConversionFields, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        gold_pages = GoldPages(conversion)
        self.notes, row_count, bare_rows = [], 0, 0
        for row in read_rows(path, gold_pages):
            row_count += 1
            bare_rows += isinstance(row, Task) and not row.inputs
            yield row
        if split == "dev":
            self.notes.append(f"{row_count:,} rows; HotpotQA's development set has {PUBLISHED:,}")
        if bare_rows:
            self.notes.append(f"{bare_rows:,} of them have no pages: for them, KnowledgeQuery only searches its corpus")
        if gold_pages.missing:
            self.notes.append(
                f"{gold_pages.missing:,} of them have pages, but not every supporting page: they cannot be converted"
            )
        self.notes += conversion.notes()

    def gold(self, task: Task) -> Annotation:
        return annotate(task, self.rule_version)

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        answer, gold = _read_answer(result.answer or "", task.gold["answer"]), task.gold["answer"]
        return (
            Score("exact_match", float(bool(answer) and exact_match(answer, gold))),
            Score("f1", _f1(answer, gold) if answer else 0.0),
            *judge.vote_scores(result.vote),
        )

    def judge_prompt(self, task: Task, answer: str) -> str:
        return judge.prompt(task.question, _read_answer(answer, task.gold["answer"]), task.gold["answer"])

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return page_baselines(tasks, lambda task: [task.gold["answer"]])

    def rationale(self, task: Task) -> str:
        return describe(task)

    def facts(self, task: Task) -> str:
        """Return the supporting sentences of each page, with the title of the page."""
        return " ".join(f"{page['title']} {' '.join(page['sentences'])}" for page in task.gold["pages"])


def _read_answer(answer: str, gold: str) -> str:
    """Return the answer. If the gold answer is yes or no, replace `True` and `False` of some models by yes and no."""
    text = read_answer(answer)
    return _TRUTH.get(normalize(text), text) if normalize(gold) in _CLOSED else text


def _f1(answer: str, gold: str) -> float:
    """Return F1 of the words. If an answer is yes, no or `noanswer`, return 1 if both answers are equal, else 0."""
    if {normalize(answer), normalize(gold)} & _CLOSED:
        return float(exact_match(answer, gold))
    return f1(answer, gold)


benchmark = HotpotQA()
