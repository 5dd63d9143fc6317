"""Build the tasks of OpenAGI from published data sets, in the released layout, with a manifest."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import PIL

from lumos_queue.benchmarks.openagi.builder.files import FileIndex, UnusableSet, describe
from lumos_queue.benchmarks.openagi.builder.german import German, translate
from lumos_queue.benchmarks.openagi.builder.pictures import PROFILE, QUALITY
from lumos_queue.benchmarks.openagi.builder.samples import PublishedSet
from lumos_queue.benchmarks.openagi.builder.selection import Selection, select
from lumos_queue.benchmarks.openagi.builder.sets import SETS
from lumos_queue.benchmarks.openagi.builder.writing import MissingTask, write_task
from lumos_queue.benchmarks.openagi.data.augmentations import manifest
from lumos_queue.benchmarks.openagi.tasks import TASKS, TaskSpec
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.base import Kind
from lumos_queue.util.new_folder import write_folder
from lumos_queue.util.regular_file import open_regular

MANIFEST = "manifest.json"
Remark = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What is built. `first`: the first samples in place of a draw with the seed."""

    samples: int = 100
    seed: int = 0
    first: bool = False


@dataclass(slots=True)
class BuildReport:
    """What was built, and what is missing."""

    tasks: dict[int, str] = field(default_factory=dict)  #: id of each written task to the digest of its files
    missing: dict[int, str] = field(default_factory=dict)  #: id of each other task to the reason
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)


def build(
    folders: Sequence[Path],
    target: Path,
    options: BuildOptions,
    translator: BackendFacts | None,
    no_translator: str,
    remark: Remark,
) -> BuildReport:
    """Write the tasks whose data sets are in `folders` to a new folder, completely or not at all.

    `translator` makes German references; None for the reason `no_translator`. `remark` gets lines about the progress.
    Raises SpecError if no task can be built, or if the folder exists or cannot be written.
    """
    if target.exists():
        raise SpecError(f"'{target}' exists already: name a new folder with --out, or remove that one first.")
    report = BuildReport()

    def write(folder: Path) -> None:
        _Builder(folder, options, translator, no_translator, remark, report).build(folders)

    if not write_folder(target, write, "--out"):
        raise SpecError(f"'{target}' exists already: name a new folder with --out, or remove that one first.")
    return report


@dataclass(slots=True)
class _Builder:
    folder: Path
    options: BuildOptions
    translator: BackendFacts | None
    no_translator: str
    remark: Remark
    report: BuildReport
    selections: dict[str, Selection] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  #: source → the reason why it cannot be used
    picture_problems: dict[str, str] = field(default_factory=dict)

    def build(self, folders: Sequence[Path]) -> None:
        scratch = self.folder / ".scratch"
        scratch.mkdir()
        self._read_sources(folders, scratch)
        if not self.selections:
            problems = "; ".join(f"{source}: {problem}" for source, problem in self.problems.items())
            raise SpecError(f"None of the data sets can be used in {describe(folders)}: {problems}.")
        german, no_german = self._translate()
        for spec in TASKS:
            self._write(spec, german, no_german)
        shutil.rmtree(scratch)
        if not self.report.tasks:
            raise SpecError(f"No task can be built: {next(iter(self.report.missing.values()))}.")
        self._write_manifest()

    def _read_sources(self, folders: Sequence[Path], scratch: Path) -> None:
        members = scratch / "members"
        members.mkdir()
        index = FileIndex(members)
        try:
            for folder in folders:
                index.add(folder)
            for number, (source, reader) in enumerate(SETS.items()):
                try:
                    published = reader.read(index)
                    pictures = scratch / f"{number}"
                    pictures.mkdir()
                    selection = select(
                        source, published, pictures, self.options.samples, self.options.seed, self.options.first
                    )
                    if not selection.samples:
                        problem = next(iter((*selection.excluded.values(), *published.excluded.values())), "no row")
                        raise UnusableSet(f"no sample can be used; the first problem: {problem}")
                    self._keep(source, published, selection, members)
                except UnusableSet as error:
                    self.problems[source] = f"{error} (expected {reader.layout})"
                    self.remark(f"{source}: missing: {self.problems[source]}")
        finally:
            index.close()

    def _keep(self, source: str, published: PublishedSet, selection: Selection, members: Path) -> None:
        self.selections[source] = selection
        self.picture_problems[source] = published.pictures_problem
        samples = [
            {"id": sample.id} | ({"picture_sha256": selection.picture_digests[number]} if selection.pictures else {})
            for number, sample in enumerate(selection.samples)
        ]
        self.report.sources[source] = {
            "licence": SETS[source].licence,
            "files": [{"name": file.name, "sha256": _digest(file.save(members))} for file in published.files],
            "rows": len(published.samples) + len(published.excluded),
            "rows_left_out": _count_reasons(published.excluded),
            "samples": samples,
            "samples_left_out": selection.excluded,
            **({"pictures": f"missing: {published.pictures_problem}"} if published.pictures_problem else {}),
        }
        self.remark(_describe(source, published, selection, self.options.samples))

    def _translate(self) -> tuple[German, str]:
        if self.translator is None:
            return German(), self.no_translator
        texts = [
            sample.target
            for source in dict.fromkeys(spec.goal.source for spec in TASKS if spec.language == "de")
            for sample in (self.selections[source].samples if source in self.selections else ())
        ]
        self.remark(f"translating {len(set(texts)):,} references by {self.translator.url}")
        try:
            return translate(self.translator, texts), ""
        except SpecError as error:
            return German(), str(error)

    def _write(self, spec: TaskSpec, german: German, no_german: str) -> None:
        source = spec.goal.source
        has_pictures = any(channel.slot.kind is Kind.IMAGE for channel in spec.channels)
        try:
            if problem := self.problems.get(source) or (self.picture_problems[source] if has_pictures else ""):
                raise MissingTask(f"{source}: {problem}")
            digest = write_task(self.folder / str(spec.id), spec, self.selections[source], german, no_german)
        except MissingTask as error:
            self.report.missing[spec.id] = str(error)
        else:
            self.report.tasks[spec.id] = digest

    def _write_manifest(self) -> None:
        """Write everything that the files depend on. It has no dates and no paths, so equal builds are equal."""
        facts = self.translator
        content = {
            "format": 1,
            "layout": "the released layout of OpenAGI (arXiv:2304.04370)",
            "samples": self.options.samples,
            "order": "published" if self.options.first else "drawn",
            "seed": self.options.seed,
            "augmentations": manifest(PROFILE)
            | {
                "seed": "source, seed, sample, channel, augmentation",
                "jpeg.quality": QUALITY,
                "translator": "" if facts is None else f"{facts.expert}: {facts.note}",
            },
            "pillow": PIL.__version__,
            "translator": {}
            if facts is None
            else {"digest": facts.digest, "licence": facts.licence, "fidelity": facts.fidelity, "note": facts.note},
            "sources": self.report.sources,
            "missing_sources": self.problems,
            "tasks": {str(task): digest for task, digest in self.report.tasks.items()},
            "missing_tasks": {str(task): reason for task, reason in self.report.missing.items()},
        }
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (self.folder / MANIFEST).write_bytes(f"{text}\n".encode())


def _describe(source: str, published: PublishedSet, selection: Selection, count: int) -> str:
    parts = [f"{len(selection.samples):,} of {len(published.samples):,} samples"]
    if len(selection.samples) < count:
        parts.append(f"{count:,} were requested")
    if selection.excluded:
        sample, reason = next(iter(selection.excluded.items()))
        parts.append(f"{len(selection.excluded):,} left out; the first: {sample}: {reason}")
    if published.excluded:
        row, reason = next(iter(published.excluded.items()))
        parts.append(f"{len(published.excluded):,} rows are no samples; the first: {row}: {reason}")
    if published.pictures_problem:
        parts.append(published.pictures_problem)
    return f"{source}: {'; '.join(parts)}"


def _count_reasons(excluded: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for reason in excluded.values():
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items())[:20])


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_json(report: BuildReport, target: Path) -> dict[str, Any]:
    """Return the report for a program."""
    return {"folder": str(target), "manifest": str(target / MANIFEST)} | asdict(report)
