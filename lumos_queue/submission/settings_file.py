"""A TOML file that describes a person's own rows: the options of `lumos evaluate FILE`, and where the rows are.

data = "questions.csv"      # relative to this file
question = "prompt"
answer = ["short", "long"]
scorer = "f1"
"""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from lumos_queue.errors import SpecError, unknown
from lumos_queue.submission.file_options import FIELDS, FileOptions, read_file_options, read_judge_options
from lumos_queue.submission.judge_options import JudgeOptions
from lumos_queue.util.regular_file import read_regular_text

ENDING = ".toml"
Stated = TypeVar("Stated", FileOptions, JudgeOptions)
DATA, SPLIT = "data", "split"
JUDGE_KEYS = ("judge", "rubric", "grades", "votes")
KEYS = (DATA, SPLIT, *(field.name for field in fields(FileOptions) if field.name != "judge"), *JUDGE_KEYS)


def read_settings_file(path: Path, options: FileOptions, split: str) -> tuple[Path, FileOptions, str]:
    """Return the data file, the options and the split of a settings file; arguments override the file's values.

    Raises SpecError if the file is not TOML or names no data, for an unknown key, and for a value of a wrong type.
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
    folder = path.absolute().parent
    rubric = values.pop("rubric", "")
    try:
        judge = read_judge_options(
            values.pop("judge", ""),
            folder / Path(rubric).expanduser() if rubric and isinstance(rubric, str) else rubric,
            values.pop("grades", 0),
            values.pop("votes", 0),
        )
        file_options = read_file_options(
            {name: value for name, value in values.items() if name in FIELDS},
            {name: value for name, value in values.items() if name not in FIELDS},
            judge,
        )
    except SpecError as error:
        raise SpecError(f"'{path}': {error}") from None
    if not (file_options.title or options.title):
        file_options = replace(file_options, title=path.name.removesuffix(ENDING))
    judge = _override(file_options.judge, options.judge)
    return folder / Path(data).expanduser(), replace(_override(file_options, options), judge=judge), split or own_split


def _override(file_options: Stated, options: Stated) -> Stated:
    """Return the file's options, replaced by the options in `options` that have a value."""
    replacements = {field.name: value for field in fields(options) if (value := getattr(options, field.name))}
    return replace(file_options, **replacements)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular_text(path))
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"'{path}' is not TOML: not UTF-8 at byte {error.start}.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(f"'{path}' is not TOML: {error}.") from error
