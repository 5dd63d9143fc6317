"""Read a file or a folder as pages: text files, JSON lines, or a dump of Wikipedia. Unreadable parts are skipped.

- a folder: each `.txt` and `.md` file is a page, blank lines between its paragraphs; the title is its name without the
  ending, or its path in the folder if another file has the same name
- `.jsonl`: objects with `title` and `text` (also called `paragraph_text` or `contents`, a text or a list of texts)
- `.xml`, `.xml.bz2`: the pages-articles file of a Wikipedia (dump.py)
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.actions.qa.dump import dump_pages
from lumos_queue.actions.qa.pages import TextPage
from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import UnusableFile, open_regular
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json
from lumos_queue.util.wording import format_bytes

FORMATS = "a folder of .txt and .md files, a .jsonl file with 'title' and 'text', or a Wikipedia dump (.xml, .xml.bz2)"
TEXT_FIELDS = ("text", "paragraph_text", "contents")
ENDINGS = (".txt", ".md")
MAX_LINE = 16 * 2**20  #: bytes of a JSON line, or of a text file
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n)++")
_SHOWN = 10  #: broken parts that are named


@dataclass(frozen=True, slots=True)
class UnreadablePart:
    """A part of a corpus that could not be read."""

    where: str  #: 'line 7', 'notes/a.txt'
    problem: str


class CorpusReader:
    """Iterates over the pages of a corpus, and counts the pages and the parts that cannot be read."""

    def __init__(self, path: Path):
        self.path = path
        self.pages = self.broken = 0
        self.examples: list[UnreadablePart] = []

    def __iter__(self) -> Iterator[TextPage]:
        for item in _read(self.path):
            if isinstance(item, TextPage):
                self.pages += 1
                yield item
                continue
            self.broken += 1
            if len(self.examples) < _SHOWN:
                self.examples.append(item)

    @property
    def warning(self) -> str:
        """A line that names the first parts that cannot be read; '' if all can be read."""
        if not self.broken:
            return ""
        examples = "; ".join(f"{part.where}: {part.problem}" for part in self.examples)
        suffix = f"; and {self.broken - len(self.examples):,} more" if self.broken > len(self.examples) else ""
        return (
            f"{self.broken:,} places of '{self.path}' could not be read, {self.pages:,} pages could: {examples}{suffix}"
        )


def digest_of(path: Path) -> str:
    """Return the sha256 of a corpus: of the file's bytes, or of a folder's file names and digests. Raises SpecError."""
    if not path.is_dir():
        return _digest_of_file(path)
    hasher = hashlib.sha256()
    for file in _text_files(path):
        hasher.update(
            f"{_digest_of_file(file)}  {file.relative_to(path).as_posix()}\n".encode(errors="surrogateescape")
        )
    return hasher.hexdigest()


def check_form(path: Path) -> None:
    """Raise SpecError unless the path is a folder with text files, or a file with the ending of a corpus."""
    if not path.exists():
        raise SpecError(f"No corpus at '{path}'. Expected {FORMATS}.")
    if path.is_dir():
        if next(iter(_text_files(path)), None) is None:
            raise SpecError(f"The folder '{path}' has no .txt or .md file. Expected {FORMATS}.")
    elif not path.name.endswith((".jsonl", ".xml", ".xml.bz2")):
        raise SpecError(f"'{path}' does not have the ending of a corpus. Expected {FORMATS}.")


def _digest_of_file(path: Path) -> str:
    try:
        with open_regular(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}. Expected {FORMATS}.") from error


def _text_files(folder: Path) -> list[Path]:
    """Return the text files in the order of their names, without links to files outside the folder."""
    root = folder.resolve()
    files = (file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())
    return sorted(file for file in files if file.resolve().is_relative_to(root))


def _read(path: Path) -> Iterator[TextPage | UnreadablePart]:
    check_form(path)
    if path.is_dir():
        return _files(path)
    if path.suffix == ".jsonl":
        return _lines(path)
    return (UnreadablePart("file", item) if isinstance(item, str) else item for item in dump_pages(path))


def _files(folder: Path) -> Iterator[TextPage | UnreadablePart]:
    files = _text_files(folder)
    names = Counter(file.stem.casefold() for file in files)
    for file in files:
        where = storable(file.relative_to(folder).as_posix())[0]
        try:
            with open_regular(file, folder) as stream:
                data = stream.read(MAX_LINE + 1)
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            yield UnreadablePart(where, f"no UTF-8 at byte {error.start}")
        except OSError as error:
            yield UnreadablePart(where, error.strerror or "cannot be read")
        except UnusableFile as error:
            yield UnreadablePart(where, error.problem)
        else:
            if len(data) > MAX_LINE:
                yield UnreadablePart(where, f"longer than {format_bytes(MAX_LINE)}")
            else:
                title = storable(file.stem)[0] if names[file.stem.casefold()] == 1 else where
                yield TextPage(title, _BLANK_LINES.split(storable(text)[0]))


def _lines(path: Path) -> Iterator[TextPage | UnreadablePart]:
    with open_regular(path) as stream:
        number = 0
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MAX_LINE)
                yield UnreadablePart(f"line {number}", f"longer than {format_bytes(MAX_LINE)}")
            elif line.strip():
                page = _page(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                yield UnreadablePart(f"line {number}", page) if isinstance(page, str) else page


def _page(line: bytes) -> TextPage | str:
    try:
        record = read_json(line.decode())
    except UnicodeDecodeError as error:
        return f"no UTF-8 at byte {error.start}"
    except ValueError:
        return "no JSON"
    return record_page(record)


def record_page(record: object) -> TextPage | str:
    """Return the page of a JSON object with a title and a text, or a line that describes what is wrong with it."""
    if not isinstance(record, Mapping):
        return "expected an object"
    if not isinstance(record.get("title"), str) or not record["title"].strip():
        return "no 'title'"
    content: Any = next((record[name] for name in TEXT_FIELDS if name in record), None)
    texts: Iterable[Any] = [content] if isinstance(content, str) else content if isinstance(content, list) else ()
    paragraphs = [storable(text)[0] for text in texts if isinstance(text, str) and text.strip()]
    if not paragraphs:
        return f"no text in any of {', '.join(TEXT_FIELDS)}"
    return TextPage(storable(record["title"])[0], paragraphs)
