"""The `lumos` command, called in the process of the test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lumos_queue.cli import output
from lumos_queue.cli.main import main


@dataclass(frozen=True)
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The value that `--json` prints, on the only line of standard output; the command must have succeeded."""
        assert self.code == 0, self.err or self.out
        assert len(self.lines) == 1, self.out
        return json.loads(self.out)


class CommandLine:
    """Calls `lumos`; the variables of its environment are LUMOS_HOME, COLUMNS and what `set` adds."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self.home = home
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.set(LUMOS_HOME=home, COLUMNS=100)

    def set(self, **variables: object) -> None:
        """Set variables of the environment for the rest of the test: `lumos.set(LUMOS_DATABASE_URL=url)`."""
        for name, value in variables.items():
            self._monkeypatch.setenv(name, str(value))

    def __call__(self, *arguments: object) -> Result:
        """Run a command as a shell would; a bug raises its exception here."""
        self._capsys.readouterr()  # what the test itself printed is not the command's output
        self._monkeypatch.setattr(output, "as_json", False)
        code = main([str(argument) for argument in arguments])
        printed_text = self._capsys.readouterr()
        return Result(code, printed_text.out, printed_text.err)
