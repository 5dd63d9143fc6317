"""Read `--stop`, `--system`, `--prompt` and `--request` into an agent's fields; refuse invalid values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from db.engine.json_columns import is_object
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.solver_prompt import CHOICES, EXAMPLES, QUESTION
from lumos_queue.util.regular_file import read_regular_text
from lumos_queue.util.runtime_types import has_type, is_sequence
from lumos_queue.util.sanitize import storable, storable_json

MAX_TEXT = 100_000  #: characters of a system message, a template, or the fields of requests
MAX_DEPTH = 40  #: of lists and objects in the value of a field; a stored request may have 60 (db/queries/damage.py)
#: Fields that this project sets, or whose replies it could not read.
REFUSED_FIELDS = frozenset(("model", "messages", "prompt", "inputs", "parameters", "n", "stream"))
_ESCAPE = re.compile(r"\\([nt\\])")
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\"}


def unescape_stops(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    r"""Return the stop strings of `--stop`, with `\n`, `\t` and `\\` unescaped; None if there are none."""
    return tuple(_ESCAPE.sub(lambda match: _ESCAPED[match[1]], text) for text in texts) if texts else None


def check_stops(stops: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the stop strings once each; () for `['']`, None for None. Raises SpecError for '' beside others."""
    if stops is None or list(stops) == [""]:
        return None if stops is None else ()
    for stop in stops:
        _check_text("--stop", stop)
        if not stop:
            raise SpecError(
                "--stop '' means no stop strings and excludes other values of --stop: give it alone, or remove it."
            )
    return tuple(dict.fromkeys(stops))


def read_system(text: str | None) -> str | None:
    """Return the text of `--system TEXT|@FILE`; None for None. Raises SpecError for a file that cannot be read."""
    return _read_file("--system", text[1:]) if text is not None and text.startswith("@") else text


def read_template(path: str | Path | None) -> str | None:
    """Return the file of `--prompt` without a final line break; '' and None unchanged. Raises SpecError if it fails."""
    if path is None or path == "":
        return None if path is None else ""
    return _read_file("--prompt", path).removesuffix("\n")


def check_texts(formulation: Formulation, system: str | None, prompt: str, shots: int | None) -> None:
    """Raises SpecError for a system message or a template that is invalid, or that the formulation does not use."""
    for option, text in (("--system", system), ("--prompt", prompt or None)):
        if text is None:
            continue
        if not _has_text(formulation, option):
            choices = ", ".join(name for name in FORMULATIONS if _has_text(FORMULATIONS.load(name), option))
            raise SpecError(
                f"The formulation '{formulation.name}' has no {option}: leave it out, or choose one of: {choices}."
            )
        _check_text(option, text)
    if prompt and QUESTION not in prompt:
        raise SpecError(f"The template of --prompt has no {QUESTION}: write it at the position of the question.")
    if prompt and formulation.templated and (unused := [mark for mark in (EXAMPLES, CHOICES) if mark in prompt]):
        raise SpecError(f"The formulation '{formulation.name}' does not replace {unused[0]}: leave it out of --prompt.")
    if prompt and shots and EXAMPLES not in prompt:
        raise SpecError(
            f"The template of --prompt has no {EXAMPLES}: write it where the examples belong, or leave out --shots."
        )


def _has_text(formulation: Formulation, option: str) -> bool:
    return formulation.instructed or (option == "--prompt" and formulation.templated)


def read_fields(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the values of `--request [ROLE.]NAME=JSON` by role ('': no role named) and name. Empty pairs are ignored.

    Raises SpecError for a malformed pair, a value that is not JSON, and a field that lumos-queue sets itself.
    """
    fields: dict[str, dict[str, Any]] = {}
    for pair in filter(None, pairs):
        name, equals, value = pair.partition("=")
        role, _, field = name.rpartition(".")
        if not (equals and field) or (not role and "." in name):
            raise SpecError(f"--request {pair[:80]} cannot be read: expected --request [ROLE.]NAME=JSON.")
        _check_text("--request", name)
        if field.casefold() in REFUSED_FIELDS:
            raise SpecError(f"--request cannot set the field '{field}', which lumos-queue sets itself: leave it out.")
        if field in fields.setdefault(role, {}):
            raise SpecError(f"--request {name[:80]}=… was given twice.")
        fields[role][field] = _read_json(name, value)
    if sum(map(len, pairs)) > MAX_TEXT:
        raise SpecError(f"The fields of --request have more than {MAX_TEXT:,} characters: choose fewer.")
    return fields


def write_fields(fields: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the fields as texts [ROLE.]NAME=JSON for `--request`. Raises SpecError for values that are not JSON."""
    return [
        f"{role}{'.' if role else ''}{name}={_write_json(name, value)}"
        for role, values in fields.items()
        for name, value in values.items()
    ]


def replace_fields(stored_fields: Mapping[str, Mapping[str, Any]], pairs: Sequence[str]) -> list[str]:
    """Return a stored agent's `--request` pairs, changed by `pairs`; an empty pair drops all stored pairs."""
    changes = read_fields(pairs)
    common = changes.get("", {})
    if "" in pairs:
        stored_fields = {}
    retained_fields = {
        role: {
            name: value for name, value in fields.items() if name not in common and name not in changes.get(role, {})
        }
        for role, fields in stored_fields.items()
    }
    return [*write_fields(retained_fields), *filter(None, pairs)]


def _read_json(name: str, text: str) -> Any:
    try:
        value = orjson.loads(text)
    except ValueError:
        raise SpecError(
            f"--request {name[:80]}={text[:40]} is not JSON: write a text as {name[:80]}='\"{text[:40] or 'low'}\"'."
        ) from None
    _write_json(name, value)
    return value


def _write_json(name: str, value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, ValueError):
        raise SpecError(f"--request {name[:80]} has a value that cannot be written as JSON: {value!r:.80}.") from None
    if _is_deeper(value, MAX_DEPTH):
        raise SpecError(f"--request {name[:80]} nests lists and objects more than {MAX_DEPTH} levels deep: use fewer.")
    if storable_json(value) != value:
        raise SpecError(f"--request {name[:80]} has a value that cannot be stored (NUL, NaN): leave it out.")
    return text


def _is_deeper(value: Any, levels: int) -> bool:
    parts = value.values() if is_object(value) else value if is_sequence(value) else None
    return parts is not None and (levels == 0 or any(_is_deeper(part, levels - 1) for part in parts))


def _read_file(option: str, path: str | Path) -> str:
    try:
        return read_regular_text(Path(path).expanduser())
    except OSError as error:
        raise SpecError(f"{option}: '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SpecError(f"{option}: '{path}' is not UTF-8 text.") from None


def _check_text(option: str, text: str) -> None:
    if not has_type(text, str):
        raise SpecError(f"{option} is {text!r:.80}: expected a text.")
    if len(text) > MAX_TEXT:
        raise SpecError(f"{option} has {len(text):,} characters: at most {MAX_TEXT:,} are sent.")
    if storable(text)[1]:
        raise SpecError(f"{option} has a character that cannot be stored (NUL or a lone surrogate): remove it.")
