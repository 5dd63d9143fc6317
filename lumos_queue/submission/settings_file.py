"""A TOML file that describes a person's own rows: the options of `lumos evaluate FILE`, and where the rows are.

data = "questions.csv"      # relative to this file
question = "prompt"
answer = ["short", "long"]
scorer = "f1"
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError, unknown
from lumos_queue.submission.file_options import FIELDS, FileOptions, read_file_options
from lumos_queue.util.regular_file import read_regular_text

ENDING = ".toml"
DATA, SPLIT = "data", "split"
KEYS = (DATA, SPLIT, *(one.name for one in fields(FileOptions)))


def read_settings_file(path: Path, options: FileOptions, split: str) -> tuple[Path, FileOptions, str]:
    """Return the data file that a settings file names, its options and its split; those that are stated come first.

    Raises SpecError, naming what is there instead, for a file that is not TOML, a key that is unknown, a value that is
    not a text, and where no data are named.
    """
    values = _read(path)
    for key in values:
        if key not in KEYS:
            raise unknown(f"setting in '{path}'", key, KEYS)
    data, own_split = values.pop(DATA, ""), values.pop(SPLIT, "")
    for name, value in ((DATA, data), (SPLIT, own_split)):
        if not isinstance(value, str):
            raise SpecError(f"'{path}': {name} is {value!r:.80}: expected a text.")
    if not data:
        raise SpecError(f"'{path}' names no data: expected a line such as data = \"questions.csv\".")
    try:
        own = read_file_options(
            {name: value for name, value in values.items() if name in FIELDS},
            {name: value for name, value in values.items() if name not in FIELDS},
        )
    except SpecError as error:
        raise SpecError(f"'{path}': {error}") from None
    stated = {name: value for name, value in asdict(options).items() if value}
    title = {} if own.title or "title" in stated else {"title": path.name.removesuffix(ENDING)}
    return path.absolute().parent / Path(data).expanduser(), replace(own, **title, **stated), split or own_split


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular_text(path))
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"'{path}' is not TOML: not UTF-8 at byte {error.start}.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(f"'{path}' is not TOML: {error}.") from error
