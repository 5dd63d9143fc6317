"""What a source of gold rationales is: a reader, an assembler of the rationale, and what a check can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import LEVELS, Action, Annotation, Task


@dataclass(frozen=True, slots=True)
class Reference:
    """What says how a row's answer follows from its numbers, for the check `perturbed`.

    `programs` are the readings of the gold solution that are equally plausible: where they disagree, nothing is known.
    """

    programs: tuple[tuple[Action, ...], ...]


class Source:
    """A benchmark's rows with their gold rationales. A new source is one file with a subclass and `source = …()`.

    `Task.gold` holds everything that the methods below need: workers see the stored task, not the file.
    """

    name: str  #: also the `benchmark` of its tasks
    domain: str  #: whose actions its annotations use: maths, complex_qa, web_agent, multimodal, intercode_sql
    prompt: str  #: which of the teacher's prompts fits: maths, maths_code, qa, web, multimodal or sql
    licence: str  #: of the data, as an SPDX id where there is one
    splits: tuple[str, ...] = ("train", "dev", "test")
    needs_data: bool = True  #: whether `read` needs a path
    options: Mapping[str, str] = {}  #: what `read` can be told with --option NAME=VALUE, and what it means
    artifacts: Mapping[str, Path] = {}  #: as of a benchmark: images that the tasks name
    notes: Sequence[str] = ()  #: as of a benchmark: what a person should know of the rows
    level: str = "format"  #: the strongest check level (records.LEVELS) that can be reached: see `lumos_queue.records`

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """The tasks in file order, or why a row is none; `dataset=''`: the job fills it in.

        Raises SpecError when the file as a whole cannot be read.
        """
        raise SpecError(f"The source '{self.name}' reads no file.")

    def plan(self, task: Task) -> str:
        """The rationale in words, as the teacher is shown it. Raises NotConvertible."""
        raise NotConvertible("no_rationale")

    def gold(self, task: Task) -> Annotation:
        """The annotation by rule, without a teacher. Raises NotConvertible."""
        raise NotConvertible("no_rule")

    def answer(self, task: Task) -> str:
        """The gold answer as text."""
        return str(task.gold["answer"])

    def right(self, task: Task, answer: str | None) -> bool:
        """Whether an answer is the gold one. By default as text, ignoring case, spaces and a final dot."""
        return answer is not None and _plain(answer) == _plain(self.answer(task))

    def facts(self, task: Task) -> str:
        """The text in which each result that a teacher extracts must stand; '' when nothing states them."""
        return ""

    def reference(self, task: Task) -> Reference | None:
        """The program that the answer must follow when numbers change; None where nothing determines one.

        By default the actions of `gold`, where the source's steps can be executed.
        """
        if LEVELS.index(self.level) < LEVELS.index("executed"):
            return None
        try:
            gold = self.gold(task)
        except NotConvertible:
            return None
        return Reference((tuple(action for step in gold.steps for action in step.actions),))

    def ambiguous(self, task: Task) -> int:
        """Operands of `gold` that were linked to an earlier result by their value alone, and might be another value."""
        return 0


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")
