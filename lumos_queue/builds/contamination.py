"""Find task texts in test splits: with numbers and names masked, they are equal or share 13 words in a row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import filterfalse
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.definition import PREFIX, is_file_benchmark
from lumos_queue.benchmarks.registry import knows_test_rows
from lumos_queue.builds.heldout import mask_words
from lumos_queue.builds.known_benchmarks import KnownBenchmarks, OpenFile
from lumos_queue.errors import BadRow, SpecError

GRAM = 13  #: words
NOT_CHECKED = "not checked"


@dataclass(slots=True)
class TestSplit:
    """The hashes of a test split's texts, with which task texts are compared."""

    __test__ = False  # pytest would take it for a class of tests by its name

    name: str  #: BENCHMARK:FILE, or BENCHMARK:SPLIT of a generated split
    rows: int = 0
    unreadable: int = 0  #: rows that are not tasks and are not compared
    whole: set[bytes] = field(default_factory=set)
    grams: set[bytes] = field(default_factory=set)

    def add(self, text: str) -> None:
        self.rows += 1
        words = mask_words(text)
        self.whole.add(_whole_hash(text, words))
        self.grams.update(_gram_hashes(words))

    @property
    def digest(self) -> str:
        """The sha256 over the hashes of all texts, independent of their order."""
        return hashlib.sha256(b"".join(sorted(self.whole))).hexdigest()

    def find(self, text: str, words: list[str]) -> str:
        """Return how this split contains the text: 'equal text' or '13 words'; '' if it does not.

        `words`: the masked words of the text.
        """
        if _whole_hash(text, words) in self.whole:
            return "equal text"
        return f"{GRAM} words" if any(gram in self.grams for gram in _gram_hashes(words)) else ""


class TestSplits:
    """The test splits that a build compares its tasks with."""

    __test__ = False

    def __init__(self, split_names: Iterable[str], sources: KnownBenchmarks):
        """Read the splits: BENCHMARK:PATH, file:PATH for a user's file, or BENCHMARK[:SPLIT] for generated rows.

        Raises SpecError for an unknown benchmark, and for a file that is missing or cannot be read.
        """
        self.splits: list[TestSplit] = []
        self._sources = sources
        for text in dict.fromkeys(split_names):
            name, _, rest = text.partition(":")
            if is_file_benchmark(text) and sources.open_file:
                self.splits.append(_read_own_file(sources.open_file, Path(rest)))
                continue
            reader = sources.get(name)
            if reader.needs_data and not rest:
                raise SpecError(f"--against {text}: give the file of the benchmark's test split, as {name}:PATH.")
            if reader.needs_data and not Path(rest).exists():
                raise SpecError(f"--against {text}: there is no file '{rest}'.")
            self.splits.append(_read_split(reader, name, rest))

    def find(self, text: str) -> tuple[str, str] | None:
        """Return (name of the split, kind of match) of the first split that contains the text, or None."""
        words = mask_words(text) if self.splits else []
        return next(((split.name, how) for split in self.splits if (how := split.find(text, words))), None)

    def report(self, benchmarks: Iterable[str], domains: Iterable[str]) -> dict[str, Any]:
        """Return the row counts of each compared split, and NOT_CHECKED for other benchmarks of rows or domains.

        Benchmarks that list their test rows are left out, because they need no comparison. So are users' files, which
        have no published test split. `DatabaseFacts.report` counts the stored test splits.
        """
        checks = {split.name: {"rows": split.rows, "unreadable": split.unreadable} for split in self.splits}
        benchmark_names = {name.partition(":")[0] for name in checks}
        known_benchmarks = {*filterfalse(is_file_benchmark, benchmarks)}.union(*map(self._sources.of_domain, domains))
        return checks | {
            name: NOT_CHECKED for name in sorted(known_benchmarks - benchmark_names) if not knows_test_rows(name)
        }


def _read_own_file(open_file: OpenFile, path: Path) -> TestSplit:
    if not path.exists():
        raise SpecError(f"--against {PREFIX}{path}: there is no file '{path}'.")
    try:
        reader, rows = open_file(path)
    except SpecError as error:
        raise SpecError(
            f"--against {PREFIX}{path}: {error} To name the fields of a data file, give a TOML file to --against."
        ) from None
    return _read_rows(TestSplit(f"{PREFIX}{path.name}"), reader, rows, "test")


def _read_split(reader: Benchmark, benchmark: str, rest: str) -> TestSplit:
    path = Path(rest) if reader.needs_data else None
    split = "test" if path else rest or "test"
    return _read_rows(TestSplit(f"{benchmark}:{path.name if path else split}"), reader, path, split)


def _read_rows(test_split: TestSplit, reader: Benchmark, path: Path | None, split: str) -> TestSplit:
    for row in reader.read(path, split):
        if isinstance(row, BadRow):
            test_split.unreadable += 1
        else:
            test_split.add(row.question)
    return test_split


def normalise(text: str) -> str:
    """Return the text in lower case with single spaces."""
    return " ".join(text.casefold().split())


def task_key(text: str) -> str:
    """Return a key that is equal for problems with other numbers and names: the masked words, or else the text."""
    return "".join(mask_words(text)) or normalise(text)


def text_key(text: str) -> bytes:
    """Return the hash, of 8 bytes, of the text's `task_key`."""
    return _short_hash(task_key(text))


def _whole_hash(text: str, words: list[str]) -> bytes:
    return _short_hash("".join(words) or normalise(text))


def _gram_hashes(words: list[str]) -> Iterator[bytes]:
    return (_short_hash(" ".join(words[start : start + GRAM])) for start in range(len(words) - GRAM + 1))


def _short_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
