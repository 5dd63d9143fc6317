"""The options of tool agents' actions, checked at submission and again in the worker."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from lumos_queue.actions.options import check_option_names
from lumos_queue.actions.tools.answer_source import LIVE, MODES, STRICT
from lumos_queue.actions.tools.answers import SHOWN
from lumos_queue.actions.tools.records import FORMAT, Records, read_records
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import open_regular

DOMAIN = "tools"
OPTIONS = {
    "answers": "; ".join(f"'{name}': {meaning}" for name, meaning in MODES.items()),
    "records": f"a file of {FORMAT}",
    "observation": f"characters of an answer that a model is shown (default {SHOWN:,})",
    "server": "with answers=live: the address of a ToolBench server, to which requests are posted",
}
MAX_OBSERVATION = 200_000


def prepare_tools(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the options with absolute paths and the sha256 of the file of records. Raises SpecError."""
    check_option_names(tools, DOMAIN, OPTIONS)
    mode = tools.get("answers", STRICT)
    if mode not in MODES:
        raise unknown("source of answers", mode, MODES)
    if mode == LIVE:
        _check_server(tools)
    elif "server" in tools:
        raise SpecError("--tool server=… goes with --tool answers=live: give both, or leave server=… out.")
    options = dict(tools)
    if "observation" in tools:
        options["observation"] = str(read_limit(tools))
    if "records" in tools:
        path = from_launch(Path(tools["records"]).expanduser()).absolute()
        read_records(path)
        options |= {"records": str(path), "records_sha256": _sha256(path)}
    return options


def read_limit(tools: Mapping[str, str]) -> int:
    """Return how many characters of an answer are sent to a model, by the option `observation`. Raises SpecError."""
    text = tools.get("observation", str(SHOWN))
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 0 < int(text) <= MAX_OBSERVATION):
        raise SpecError(
            f"--tool observation={text[:20]} cannot be read: expected a whole number from 1 to {MAX_OBSERVATION:,}."
        )
    return int(text)


def open_records(tools: Mapping[str, str]) -> Records:
    """Return the records of prepared options. A process reads the file once. Raises SpecError if it has changed."""
    if "records" not in tools:
        return Records()
    path = from_launch(tools["records"])
    digest, expected_digest = _sha256(path), tools.get("records_sha256", "")
    if expected_digest and digest != expected_digest:
        raise SpecError(
            f"--tool records: '{path}' has sha256 {digest[:12]}…, the job was submitted with {expected_digest[:12]}…: "
            "restore it, or submit again."
        )
    return _read(path, digest)


def _check_server(tools: Mapping[str, str]) -> None:
    try:
        parts = urlsplit(tools.get("server", ""))
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        fits = False
    if not fits:
        raise SpecError("--tool answers=live needs the address of a server: give --tool server=https://HOST/PATH.")
    if "records" in tools:
        raise SpecError("answers=live asks the server and does not use records=PATH: leave one of the two out.")


@lru_cache(maxsize=4)
def _read(path: Path, _sha256: str) -> Records:
    return read_records(path)


def _sha256(path: Path) -> str:
    try:
        state = path.stat()
        return _digest(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}. Expected {FORMAT}.") from error


@lru_cache(maxsize=8)
def _digest(path: Path, _mtime_ns: int, _size: int) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
