"""Recognise texts that must never be trained on: with numbers and names masked, they equal a held-out problem."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from xml.etree import ElementTree

from lumos_queue.benchmarks.wordmath.words import FEMALE, MALE
from lumos_queue.builds.augment import NAMES
from lumos_queue.util.regular_file import open_regular, open_regular_text, read_regular_text

_NUMBER = re.compile(r"number[0-9]+|[0-9][0-9.,]*")
_APOSTROPHE = re.compile(r"(?:(?<!\s)\s++)?['’`]\s*")
_WORD = re.compile(r"[A-Za-z#]+")
#: A capitalised word in the middle of a sentence.
_NAMED_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
_IN_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand a an"
)
_NUMBER_WORDS = frozenset(_IN_WORDS.split())
KNOWN_NAMES = frozenset().union(FEMALE, MALE, *NAMES)


def mask(text: str) -> str:
    """Return the letters of a text in lower case, with `#` for each number or number word, and `@` for each name.

    Spaces and punctuation are removed: `did n't` equals `didn't`.
    """
    return "".join(mask_words(text))


def mask_words(text: str) -> list[str]:
    """Return the masked words, which `mask` joins; an empty list for a text without Latin letters and numbers.

    White space does not count: a name is also recognised after several spaces or a line break.
    """
    text = _APOSTROPHE.sub("", _NUMBER.sub(" # ", " ".join(text.split())))
    names = KNOWN_NAMES.union(_NAMED_INSIDE.findall(text))
    return [_mask_word(word, names) for word in _WORD.findall(text)]


def _mask_word(word: str, names: Set[str]) -> str:
    if {word, word.removesuffix("s"), word.title(), word.title().removesuffix("s")} & names:  # Toms: no apostrophe
        return "@"
    word = word.lower()
    return "#" if word in _NUMBER_WORDS else word


class HeldOutTexts:
    """The masked texts of held-out problems."""

    def __init__(self, texts: Iterable[str]):
        self.masked = {mask(text) for text in texts}

    def __contains__(self, text: str) -> bool:
        return mask(text) in self.masked


def asdiv_texts(folder: Path) -> Iterator[str]:
    """Yield every problem of the ASDiv files in the folder, also those that the reader cannot use."""
    for file in sorted(folder.glob("*.xml")):
        with open_regular(file) as xml:
            for problem in ElementTree.parse(xml).iter("Problem"):
                yield f"{problem.findtext('Body') or ''} {problem.findtext('Question') or ''}"
    yield from _table_texts(folder.glob("*.csv"))


def svamp_texts(folder: Path) -> Iterator[str]:
    """Yield every problem of the SVAMP files in the folder."""
    for file in sorted(folder.glob("*.json")):
        for row in json.loads(read_regular_text(file)):
            yield f"{row['Body']} {row['Question']}"
    yield from _table_texts(folder.glob("*/*.csv"))


def _table_texts(files: Iterable[Path]) -> Iterator[str]:
    for file in sorted(files):
        with open_regular_text(file, newline="") as lines:
            for row in csv.DictReader(lines):
                yield row["Question"]
