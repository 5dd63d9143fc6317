"""Write a task of OpenAGI in the released layout, which released_folder.py reads."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from lumos_queue.benchmarks.openagi.builder.german import German
from lumos_queue.benchmarks.openagi.builder.selection import Selection
from lumos_queue.benchmarks.openagi.released_folder import has_reference, input_name, output_name
from lumos_queue.benchmarks.openagi.tasks import TaskSpec
from lumos_queue.experts.base import Kind
from lumos_queue.util.regular_file import read_regular


class MissingTask(Exception):
    """Raised if a task cannot be written. The argument is the reason, in one line."""


def write_task(folder: Path, spec: TaskSpec, selection: Selection, german: German, no_german: str) -> str:
    """Write a task to a folder that does not exist yet. Return the digest of its files.

    `no_german` is the reason why there are no translations. Raises MissingTask before anything is written.
    """
    references = [sample.target for sample in selection.samples]
    if spec.language == "de":
        if problem := no_german or german.find_problem(references):
            raise MissingTask(f"German references: {problem}")
        references = [german.texts[reference] for reference in references]
    inputs, outputs = folder / "inputs", folder / "outputs"
    inputs.mkdir(parents=True)
    outputs.mkdir()
    for channel in spec.channels:
        name = input_name(spec, channel.slot.name)
        if channel.slot.kind is Kind.IMAGE:
            _write_pictures(inputs / name, selection, channel.augmentations)
        else:
            numbers = range(len(selection.samples))
            texts = [selection.text(number, channel.slot.name, channel.augmentations) for number in numbers]
            _write_texts(inputs / name, texts)
    if has_reference(spec):
        if spec.goal.output is Kind.IMAGE:
            _write_pictures(outputs / output_name(spec), selection, ())
        else:
            _write_texts(outputs / output_name(spec), references)
    return _digest(folder)


def _write_pictures(folder: Path, selection: Selection, augmentations: tuple[str, ...]) -> None:
    """Write the pictures as links to the same file, as many tasks have the same pictures; otherwise as copies."""
    folder.mkdir()
    for number, paths in enumerate(selection.pictures):
        try:
            os.link(paths[augmentations], folder / f"{number}.jpg")
        except OSError:
            (folder / f"{number}.jpg").write_bytes(read_regular(paths[augmentations]))


def _write_texts(path: Path, texts: Sequence[str]) -> None:
    """Write a line for each text; if a text has several lines, write JSON lines."""
    is_plain = not any("\n" in text or "\r" in text for text in texts)
    lines = texts if is_plain else [json.dumps(text, ensure_ascii=False) for text in texts]
    content = "".join(f"{line}\n" for line in lines)
    path.with_suffix(".txt" if is_plain else ".jsonl").write_bytes(content.encode())


def _digest(folder: Path) -> str:
    """Return the digest of the names and contents of the files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = hashlib.sha256(read_regular(path)).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()
