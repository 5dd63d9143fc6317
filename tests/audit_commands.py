"""Run the commands of a labeller on the database of a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from db.engine.connection import Database
from lumos_queue.cli import output
from lumos_queue.cli.main import app


def make_runner(
    database: Database, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Return a function that runs a command of the user `ann`. It returns the JSON, or the text with `--text`."""
    monkeypatch.setenv("LUMOS_HOME", str(home))
    monkeypatch.setenv("LUMOS_DATABASE_URL", database.url.replace("+psycopg", ""))
    monkeypatch.setenv("LUMOS_USER", "ann")
    monkeypatch.setenv("COLUMNS", "150")

    def run(*arguments: str) -> Any:
        is_text = "--text" in arguments
        options = [argument for argument in arguments if argument != "--text"]
        monkeypatch.setattr(output, "as_json", not is_text)
        app(args=[*options, *([] if is_text else ["--json"])], standalone_mode=False)
        text = capsys.readouterr().out
        return text if is_text else json.loads(text)

    return run
