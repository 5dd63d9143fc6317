"""Base classes of benchmarks of maths word problems: their scores, and the checks of their annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.errors import BadRow
from lumos_queue.rationales.maths import equations
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.rationales.maths.expressions import format_expression, parse_prefix
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import ConversionFields
from lumos_queue.records import Annotation, Level, Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.number_baselines import numeric_baselines
from lumos_queue.scoring.numeric import numeric_scores


class WordProblems(Benchmark):
    """Problems whose answer is a number."""

    domain = "maths"
    answers = AnswerKind.NUMBER
    metrics = ("accuracy", "strict")
    check_level = Level.EXECUTED
    teacher_prompt = "maths"

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return `accuracy`: the gold number in any spelling; and `strict`: the same string."""
        return numeric_scores(result.answer, task.gold["answer"], result.ending)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        """Return the verdicts of rules that need no model and ignore the words of the question."""
        return numeric_baselines(tasks, lambda task: task.gold["answer"])

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the main metric accepts the answer."""
        return self.score(task, EpisodeResult(answer))[0].value == 1.0

    def _count_doubtful(self, task: Task) -> int:
        """Count the ambiguous operands of the gold program; return 0 without a program or a rationale."""
        try:
            steps, rationale = self.gold(task).steps, self.rationale(task)
        except NotConvertible:
            return 0
        return len(ambiguous_operands(steps, task.question, rationale))


class EquationProblems(WordProblems):
    """Problems whose gold may have an `equation`, in prefix or infix form. Rows without it are only for tests."""

    @property
    def teaching(self) -> RowReader:
        return RowReader(self.splits, self.options, partial(self._rows, ConversionFields(required=True)))

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        conversion = ConversionFields(required=False)
        yield from self._rows(conversion, path, split)
        self.notes = conversion.notes()

    def _rows(self, conversion: ConversionFields, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        """Yield the tasks of a file. Raises SpecError for a file of another format."""
        raise NotImplementedError

    def gold(self, task: Task) -> Annotation:
        return equations.annotate(task.question, self._equation(task), task.gold["answer"])

    def rationale(self, task: Task) -> str:
        """Return `The answer follows from (3 + 4) * 2 = 14.`; an equation in prefix form is written in infix form."""
        row_equation = self._equation(task)
        prefix = parse_prefix(row_equation)
        equation = row_equation.strip() if prefix is None else format_expression(prefix)
        return f"The answer follows from {equation} = {task.gold['answer']}."

    def _equation(self, task: Task) -> str:
        """Return the equation. Raises NotConvertible if the row states none."""
        if "equation" not in task.gold:
            raise NotConvertible("no_rationale")
        return task.gold["equation"]
