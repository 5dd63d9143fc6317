"""Read the training problems of the starter agent: generated problems, GSM8K and MAWPS, without held-out problems.

ASDiv and SVAMP are read only to exclude training problems that equal one of their problems when numbers are masked.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.gsm8k.benchmark import benchmark as gsm8k
from lumos_queue.benchmarks.masked_table import read_masked_task
from lumos_queue.benchmarks.mawps.benchmark import benchmark as mawps
from lumos_queue.benchmarks.wordmath.benchmark import benchmark as wordmath
from lumos_queue.benchmarks.wordmath.grammar import generate
from lumos_queue.builds.augment import replace_names, replace_numbers
from lumos_queue.builds.heldout import HeldOutTexts, asdiv_texts, svamp_texts
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Annotation, Task
from lumos_queue.util.regular_file import open_regular_text

DEV_PART = 12  #: one MAWPS row in so many serves to choose between fits and is never trained on


@dataclass(frozen=True, slots=True)
class StarterData:
    """The folder of the data, the amount to use, and counts of used and excluded problems."""

    data: Path  #: folder with `gsm8k`, `mawps`, `asdiv` and `svamp`, as their authors publish them
    generated: int = 40_000  #: number of problems of wordmath's training split
    variants: int = 16  #: of each MAWPS row, with other numbers and names, in addition to the row itself
    max_question: int = 420  #: characters, of GSM8K
    max_subgoals: int = 5  #: of GSM8K: longer solutions are beyond a model of this size
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)  #: used problems, and excluded problems by reason

    def problems(self) -> Iterator[tuple[Task, Annotation]]:
        """Yield every training problem with its gold solution, in an order that depends only on the seed."""
        held_out_texts = self.load_held_out()
        yield from self._wordmath(held_out_texts)
        yield from self._mawps(held_out_texts)
        yield from self._gsm8k(held_out_texts)

    def load_held_out(self) -> dict[str, HeldOutTexts]:
        return {
            "asdiv": HeldOutTexts(asdiv_texts(self.data / "asdiv")),
            "svamp": HeldOutTexts(svamp_texts(self.data / "svamp")),
            "mawps kept for development": HeldOutTexts(
                record["Question"] for record in self.mawps_records() if is_dev(record["Question"])
            ),
        }

    def dev_problems(self) -> Iterator[tuple[Task, Annotation]]:
        """Yield the development rows of MAWPS. Rows that equal a development row when masked are not trained on."""
        for number, record in enumerate(self.mawps_records(), 1):
            if is_dev(record["Question"]):
                yield from self._row(number, record)

    def _wordmath(self, held_out_texts: dict[str, HeldOutTexts]) -> Iterator[tuple[Task, Annotation]]:
        for task in generate("train", self.generated, self.seed):
            if not self._is_held_out("wordmath", task.question, held_out_texts):
                yield from self._solve(wordmath, task)

    def _mawps(self, held_out_texts: dict[str, HeldOutTexts]) -> Iterator[tuple[Task, Annotation]]:
        random = Random(self.seed)
        for number, record in enumerate(self.mawps_records(), 1):
            if is_dev(record["Question"]):
                self.counts["mawps: kept for development"] += 1
                continue
            if self._is_held_out("mawps", record["Question"], held_out_texts):
                continue
            yield from self._row(number, record)
            for _ in range(self.variants):
                variant = replace_numbers(record, random)
                if variant is None:
                    break
                yield from self._row(number, {**variant, "Question": replace_names(variant["Question"], random)})

    def mawps_records(self) -> Iterator[dict[str, str]]:
        """Yield the rows of MAWPS as in the file. Raises SpecError when the file is missing."""
        path = self.data / "mawps" / "cv_mawps" / "fold0" / "train.csv"
        if not path.is_file():
            raise SpecError(f"No file '{path}'. Expected MAWPS as the SVAMP repository publishes it.")
        with open_regular_text(path, newline="") as lines:
            yield from csv.DictReader(lines)

    def _row(self, number: int, record: dict[str, str]) -> Iterator[tuple[Task, Annotation]]:
        try:
            task = read_masked_task(mawps.name, number, record)
        except BadRow:
            self.counts["mawps: unreadable"] += 1
            return
        yield from self._solve(mawps, task)

    def _gsm8k(self, held_out_texts: dict[str, HeldOutTexts]) -> Iterator[tuple[Task, Annotation]]:
        for task in gsm8k.read(self.data / "gsm8k" / "train.jsonl", "train"):
            if isinstance(task, BadRow):
                self.counts["gsm8k: unreadable"] += 1
            elif len(task.question) > self.max_question:
                self.counts["gsm8k: question too long"] += 1
            elif not self._is_held_out("gsm8k", task.question, held_out_texts):
                for _, annotation in self._solve(gsm8k, task):
                    if len(annotation.steps) <= self.max_subgoals:
                        yield task, annotation
                    else:
                        self.counts["gsm8k: used"] -= 1
                        self.counts["gsm8k: too many subgoals"] += 1

    def _is_held_out(self, source: str, text: str, held_out_texts: dict[str, HeldOutTexts]) -> bool:
        for name, problems in held_out_texts.items():
            if text in problems:
                self.counts[f"{source}: equals a problem of {name}"] += 1
                return True
        return False

    def _solve(self, benchmark: Benchmark, task: Task) -> Iterator[tuple[Task, Annotation]]:
        try:
            annotation = benchmark.gold(task)
        except SpecError as error:
            self.counts[f"{benchmark.name}: {error}"] += 1
        else:
            self.counts[f"{benchmark.name}: used"] += 1
            yield task, annotation


def is_dev(question: str) -> bool:
    """Return whether a MAWPS row is for development. The masked text decides, so that all variants of a row agree."""
    return int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big") % DEV_PART == 0
