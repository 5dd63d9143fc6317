"""Check a person's own file for a conversion, which needs rationales, and a rule or a teacher to convert them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.from_file.definition import OWN
from lumos_queue.errors import SpecError
from lumos_queue.readers.splits import find_split_name
from lumos_queue.records import Task


def check_own_source(source: FileBenchmark, by_rule: bool) -> None:
    """Raises SpecError if the file has no rationales or answers, or its domain cannot be converted by this method."""
    fields = source.definition.fields
    if not fields.rationale:
        raise SpecError(f"'{source.name}' has no field with rationales to convert: name it with --rationale FIELD.")
    if not fields.answers:
        raise SpecError(f"'{source.name}' has no answers to check a conversion with: name their field with --answer.")
    if source.definition.scorer == "judge":
        raise SpecError("A conversion compares answers by rule: choose a --scorer other than judge.")
    if by_rule and not source.has_rule:
        raise SpecError(
            f"No rule converts rationales of the domain '{source.domain}': give --teacher URL, or --domain maths if "
            "they have GSM8K's marks <<48/2=24>>."
        )
    if not by_rule and not source.teacher_prompt:
        raise SpecError(
            f"The domain '{source.domain}' has no prompt for teachers: choose --domain maths, complex_qa or multimodal."
        )


def own_split(source: Benchmark, path: Path | None, remark: Callable[[str], None]) -> str:
    """Return the default split of a person's own file; '' for registered sources.

    `remark` gets a line if the file's name suggests test or development rows, because the default split ignores it.
    """
    if not isinstance(source, FileBenchmark):
        return ""
    file_split = find_split_name(path.name) if path else None
    if file_split in ("test", "dev"):
        remark(f"the rows are stored as the split '{OWN}', which is for training: give --split {file_split} otherwise")
    return OWN


def require_marks(source: FileBenchmark, tasks: Sequence[Task]) -> None:
    """Raises SpecError if no rationale of a file has the marks that the rule for maths reads."""
    if not any(map(source.has_marks, tasks)):
        raise SpecError(
            f"No rationale of '{source.name}' has GSM8K's marks <<48/2=24>>, which the rule for maths reads: give "
            "--teacher URL instead of --deterministic."
        )
