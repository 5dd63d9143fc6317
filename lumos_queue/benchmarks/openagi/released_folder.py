"""Reads the released layout: a folder for each task, named by its id. An invented example:

    0/inputs/images/0.jpg …       0/outputs/images/0.jpg …
    105/inputs/captions.txt       (no outputs: a picture from text is judged without a reference)
    177/inputs/context.txt        177/inputs/questions.txt      177/outputs/answers.txt

Pictures are numbered from 0. Each line of a text file is a sample. Texts of several lines need JSON lines: a file with
the same name and the suffix .jsonl, where each line is a JSON string.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from lumos_queue.benchmarks.openagi.pixels import read_resized
from lumos_queue.benchmarks.openagi.rows import make_task
from lumos_queue.benchmarks.openagi.tasks import CLOZED, TASKS, TaskSpec
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.experts.base import Kind
from lumos_queue.records import Task
from lumos_queue.util.regular_file import UnusableFile, read_regular

LAYOUT = "the released layout of OpenAGI: a folder for each task, named by its id, with 'inputs' and 'outputs'"
MAX_TEXT_BYTES = 64 << 20  #: size limit of a text file
_FILES = {"question": "questions", "document": "context", "text": "text"}
_PICTURES = (".jpg", ".jpeg", ".png")


class Unusable(Exception):
    """Raised if a task's file or folder cannot be used. Arguments: its path in the task's folder, and the reason."""


class ReleasedFolder:
    """A folder in the released layout. `artifacts` has the pictures of the tasks read so far, by sha256."""

    def __init__(self, path: Path):
        """Raises SpecError if the path is not a folder, or if the folder has no task."""
        self.path = path.expanduser()
        self.artifacts: dict[str, bytes] = {}
        if not self.path.is_dir():
            raise SpecError(f"'{path}' is not a folder. Expected {LAYOUT}.")
        if not any((self.path / str(task.id)).is_dir() for task in TASKS):
            raise SpecError(f"'{path}' has no folder of a task ('0' to '{len(TASKS) - 1}'). Expected {LAYOUT}.")

    def read_task(self, spec: TaskSpec, number: int, samples: int) -> Task | BadRow:
        """Return a task with its first `samples` samples, or a BadRow with the reason why it cannot be read.

        `number` is the position of the task in its split, from 1.
        """
        try:
            return self._read(spec, samples)
        except Unusable as error:
            name, problem = error.args
            return BadRow(number, f"{spec.id}/{name}" if name else str(spec.id), problem)

    def _read(self, spec: TaskSpec, samples: int) -> Task:
        folder = self.path / str(spec.id)
        if not folder.is_dir():
            raise Unusable("", f"no such folder in '{self.path}'")
        files = [(f"inputs/{input_name(spec, channel.slot.name)}", channel.slot.kind) for channel in spec.channels]
        if has_reference(spec):
            files.append((f"outputs/{output_name(spec)}", spec.goal.output))
        file_values = [self._read_values(folder, name, kind) for name, kind in files]
        counts = {name: len(values) for (name, _), values in zip(files, file_values, strict=True)}
        if len(set(counts.values())) > 1:
            counts_text = ", ".join(f"{name} has {count:,}" for name, count in counts.items())
            hint = "; a text of several lines needs JSON lines (.jsonl)" if Kind.TEXT in dict(files).values() else ""
            raise Unusable("", f"its channels differ in their number of samples: {counts_text}{hint}")
        values = [self._load(folder, column[:samples]) for column in file_values]
        *inputs, references = values if has_reference(spec) else (*values, [])
        captions = [] if has_reference(spec) else self._fill_masks(spec, inputs[0])
        origin = {"reader": "the released layout, pictures resized to 256 x 256"}
        return make_task(spec, inputs, references, captions, {}, origin)

    def _read_values(self, folder: Path, name: str, kind: Kind) -> list[str | Path]:
        """Return the samples of a file or folder of the task, in order: texts, or paths of pictures."""
        return [*_list_pictures(folder, name)] if kind is Kind.IMAGE else [*_read_texts(folder, name)]

    def _load(self, folder: Path, values: list[str | Path]) -> list[str]:
        return [sample if isinstance(sample, str) else self._keep(folder, sample) for sample in values]

    def _keep(self, folder: Path, path: Path) -> str:
        try:
            data = read_resized(path)
        except SpecError as error:
            raise Unusable(str(path.relative_to(folder)), str(error)) from None
        digest = hashlib.sha256(data).hexdigest()
        self.artifacts[digest] = data
        return digest

    def _fill_masks(self, spec: TaskSpec, texts: list[str]) -> list[str]:
        """Return the captions without masks, which are read from the folder of the task without augmentations.

        Return [] if that folder is missing, or if a caption differs from its text by more than a word.
        """
        if CLOZED not in spec.channels[0].augmentations:
            return texts
        plain = next(task for task in TASKS if task.category == spec.category and not task.channels[0].augmentations)
        try:
            captions = _read_texts(self.path / str(plain.id), "inputs/captions")[: len(texts)]
        except Unusable:
            return []
        fits = len(captions) == len(texts) and all(map(_differ_by_a_word, texts, captions))
        return captions if fits else []


def input_name(spec: TaskSpec, channel: str) -> str:
    """Return the name of the folder or, without its suffix, of the file with a channel's inputs."""
    if channel == "image":
        return "images"
    return "captions" if spec.category == "text-image" else _FILES[channel]


def has_reference(spec: TaskSpec) -> bool:
    """Return whether the task has outputs: a picture from a text is judged without a reference."""
    return spec.goal.metric != "clip"


def output_name(spec: TaskSpec) -> str:
    """Return the name of the folder or, without its suffix, of the file with the outputs."""
    if spec.goal.output is Kind.IMAGE:
        return "images"
    return "labels" if spec.linear else "answers"


def _list_pictures(folder: Path, name: str) -> list[Path]:
    """Return the pictures of a folder by their numbers, which must run from 0 without a gap."""
    picture_folder = folder / name
    if not picture_folder.is_dir():
        raise Unusable(name, "no such folder")
    pictures = {file.stem: file for file in picture_folder.iterdir() if file.suffix.lower() in _PICTURES}
    if not pictures:
        raise Unusable(name, "no pictures in it: expected 0.jpg, 1.jpg, …")
    for number in range(len(pictures)):
        if str(number) not in pictures:
            raise Unusable(name, f"{len(pictures):,} pictures, but none is called {number}.jpg")
    ordered_files = [pictures[str(number)] for number in range(len(pictures))]
    for file in ordered_files:
        if not file.resolve().is_relative_to(folder.resolve()):
            raise Unusable(f"{name}/{file.name}", "a link that leads out of the task's folder")
    return ordered_files


def _read_texts(folder: Path, name: str) -> list[str]:
    """Return the samples of a text file; if a file of JSON lines is beside it, return the samples of that file."""
    lines_path, json_path = folder / f"{name}.txt", folder / f"{name}.jsonl"
    path = json_path if json_path.is_file() else lines_path
    file_name = f"{name}{path.suffix}"
    try:
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise Unusable(file_name, f"more than {MAX_TEXT_BYTES >> 20} MB")
        text = read_regular(path, folder, MAX_TEXT_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise Unusable(file_name, error.strerror or str(error)) from None
    except UnusableFile as error:
        raise Unusable(file_name, f"it {error.problem}") from None
    except UnicodeDecodeError as error:
        raise Unusable(file_name, f"not UTF-8 (byte {error.start:,})") from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [_read_line(file_name, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(file_name: str, number: int, line: str) -> str:
    if file_name.endswith(".jsonl"):
        try:
            line = json.loads(line)
        except (ValueError, RecursionError):
            raise Unusable(file_name, f"line {number:,} is not JSON") from None
        if not isinstance(line, str):
            raise Unusable(file_name, f"line {number:,} is not a JSON string")
    if not line.strip():
        raise Unusable(file_name, f"line {number:,} is empty: each line is a sample")
    return line.strip()


def _differ_by_a_word(masked_text: str, plain_text: str) -> bool:
    masked_words, plain_words = masked_text.split(" "), plain_text.split(" ")
    return (
        len(masked_words) == len(plain_words)
        and sum(a != b for a, b in zip(masked_words, plain_words, strict=True)) <= 1
    )
