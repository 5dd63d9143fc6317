"""The released layout: a folder for each task, named by its id; an invented one:

    0/inputs/images/0.jpg …       0/outputs/images/0.jpg …
    105/inputs/captions.txt       (no outputs: a picture from text is judged without a reference)
    177/inputs/context.txt        177/inputs/questions.txt      177/outputs/answers.txt

Pictures are numbered from 0. A text file has a sample in each line. Texts of several lines need JSON lines: a file of
the same name ending in .jsonl, each line a JSON string.
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
MAX_TEXT_BYTES = 64 << 20  #: of a text file
_FILES = {"question": "questions", "document": "context", "text": "text"}
_PICTURES = (".jpg", ".jpeg", ".png")


class Unusable(Exception):
    """Raised when a file or a folder of a task cannot be used: its name below the task's folder, and why."""


class ReleasedFolder:
    """A folder in the released layout. `artifacts` has the pictures of the tasks read so far, by sha256."""

    def __init__(self, path: Path):
        """Raises SpecError for what is no folder, or holds no task."""
        self.path = path.expanduser()
        self.artifacts: dict[str, bytes] = {}
        if not self.path.is_dir():
            raise SpecError(f"'{path}' is not a folder. Expected {LAYOUT}.")
        if not any((self.path / str(one.id)).is_dir() for one in TASKS):
            raise SpecError(f"'{path}' has no folder of a task ('0' to '{len(TASKS) - 1}'). Expected {LAYOUT}.")

    def read_task(self, spec: TaskSpec, place: int, samples: int) -> Task | BadRow:
        """The first samples of a task; or why it cannot be read. `place`: of the task in its split, from 1."""
        try:
            return self._read(spec, samples)
        except Unusable as error:
            name, problem = error.args
            return BadRow(place, f"{spec.id}/{name}" if name else str(spec.id), problem)

    def _read(self, spec: TaskSpec, samples: int) -> Task:
        folder = self.path / str(spec.id)
        if not folder.is_dir():
            raise Unusable("", f"no such folder in '{self.path}'")
        files = [(f"inputs/{self._input_name(spec, one.slot.name)}", one.slot.kind) for one in spec.channels]
        if has_reference := spec.wanted.metric != "clip":
            files.append((f"outputs/{_output_name(spec)}", spec.wanted.output))
        found = [self._read_values(folder, name, kind) for name, kind in files]
        counts = {name: len(values) for (name, _), values in zip(files, found, strict=True)}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count:,}" for name, count in counts.items())
            hint = "; a text of several lines needs JSON lines (.jsonl)" if Kind.TEXT in dict(files).values() else ""
            raise Unusable("", f"its channels differ in their number of samples: {said}{hint}")
        values = [self._load(folder, one[:samples]) for one in found]
        *inputs, references = values if has_reference else (*values, [])
        captions = [] if has_reference else self._fill_masks(spec, inputs[0])
        origin = {"reader": "the released layout, pictures resized to 256 x 256"}
        return make_task(spec, inputs, references, captions, {}, origin)

    def _input_name(self, spec: TaskSpec, channel: str) -> str:
        if channel == "image":
            return "images"
        return "captions" if spec.category == "text-image" else _FILES[channel]

    def _read_values(self, folder: Path, name: str, kind: Kind) -> list[str | Path]:
        """Texts, or the files of pictures, in their order."""
        return [*_list_pictures(folder, name)] if kind is Kind.IMAGE else [*_read_texts(folder, name)]

    def _load(self, folder: Path, values: list[str | Path]) -> list[str]:
        return [one if isinstance(one, str) else self._keep(folder, one) for one in values]

    def _keep(self, folder: Path, path: Path) -> str:
        try:
            data = read_resized(path)
        except SpecError as error:
            raise Unusable(str(path.relative_to(folder)), str(error)) from None
        digest = hashlib.sha256(data).hexdigest()
        self.artifacts[digest] = data
        return digest

    def _fill_masks(self, spec: TaskSpec, texts: list[str]) -> list[str]:
        """The captions as they were before a word was masked: those of the task without masks, if it is there.

        Empty where it is not, or has others: its captions must be these but for one word each.
        """
        if CLOZED not in spec.channels[0].augmentations:
            return texts
        plain = next(one for one in TASKS if one.category == spec.category and not one.channels[0].augmentations)
        try:
            found = _read_texts(self.path / str(plain.id), "inputs/captions")[: len(texts)]
        except Unusable:
            return []
        fits = len(found) == len(texts) and all(map(_differ_by_a_word, texts, found))
        return found if fits else []


def _output_name(spec: TaskSpec) -> str:
    if spec.wanted.output is Kind.IMAGE:
        return "images"
    return "labels" if spec.linear else "answers"


def _list_pictures(folder: Path, name: str) -> list[Path]:
    """The pictures of a folder by their numbers, which must run from 0 without a gap."""
    place = folder / name
    if not place.is_dir():
        raise Unusable(name, "no such folder")
    found = {one.stem: one for one in place.iterdir() if one.suffix.lower() in _PICTURES}
    if not found:
        raise Unusable(name, "no pictures in it: expected 0.jpg, 1.jpg, …")
    for number in range(len(found)):
        if str(number) not in found:
            raise Unusable(name, f"{len(found):,} pictures, but none is called {number}.jpg")
    ordered = [found[str(number)] for number in range(len(found))]
    for one in ordered:
        if not one.resolve().is_relative_to(folder.resolve()):
            raise Unusable(f"{name}/{one.name}", "a link that leads out of the task's folder")
    return ordered


def _read_texts(folder: Path, name: str) -> list[str]:
    """The samples of a text file, or of the JSON lines beside it."""
    lines_path, json_path = folder / f"{name}.txt", folder / f"{name}.jsonl"
    path = json_path if json_path.is_file() else lines_path
    shown = f"{name}{path.suffix}"
    try:
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise Unusable(shown, f"more than {MAX_TEXT_BYTES >> 20} MB")
        text = read_regular(path, folder, MAX_TEXT_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise Unusable(shown, error.strerror or str(error)) from None
    except UnusableFile as error:
        raise Unusable(shown, f"it {error.problem}") from None
    except UnicodeDecodeError as error:
        raise Unusable(shown, f"not UTF-8 (byte {error.start:,})") from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [_read_line(shown, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(shown: str, number: int, line: str) -> str:
    if shown.endswith(".jsonl"):
        try:
            line = json.loads(line)
        except (ValueError, RecursionError):
            raise Unusable(shown, f"line {number:,} is not JSON") from None
        if not isinstance(line, str):
            raise Unusable(shown, f"line {number:,} is not a JSON string")
    if not line.strip():
        raise Unusable(shown, f"line {number:,} is empty: each line is a sample")
    return line.strip()


def _differ_by_a_word(masked: str, plain: str) -> bool:
    one, other = masked.split(" "), plain.split(" ")
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= 1
