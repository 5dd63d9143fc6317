"""Record commands as a picture of a terminal (SVG): what a person sees who runs them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.conftest import ROOT

COLUMNS = 88
_FONT_FACE = re.compile(r"@font-face \{.*?\}", re.DOTALL)  # refers to another site's file
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def record_terminal(home: Path, commands: Sequence[Sequence[str]], title: str) -> str:
    """Run `lumos` commands in a terminal, and return their lines as SVG. Lines that are redrawn are left out."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    for number, command in enumerate(commands):
        if number:
            console.print()
        shown = " ".join(f"'{word}'" if " " in word else word for word in command)
        console.print(Text.assemble(("$ ", "bold green"), (f"lumos {shown}", "bold")), soft_wrap=True)
        console.print(Text.from_ansi(_run(home, command)), soft_wrap=True)
    svg = console.export_svg(title=title, unique_id="terminal")
    return _COMMENT.sub("", _FONT_FACE.sub("", svg))


def _run(home: Path, command: Sequence[str]) -> str:
    """Return what the command prints on a terminal of COLUMNS columns. Its progress goes to a pipe, and is left out."""
    parent, child = pty.openpty()
    environment = os.environ | {
        "LUMOS_HOME": str(home),
        "LUMOS_USER": "ann@here",
        "COLUMNS": str(COLUMNS),
        "TERM": "xterm-256color",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "lumos_queue.cli.main", *command],
        cwd=ROOT,
        env=environment,
        stdout=child,
        stderr=subprocess.DEVNULL,
    ):
        os.close(child)
        parts = []
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # the command has ended
                break
            if not part:
                break
            parts.append(part)
    os.close(parent)
    return b"".join(parts).decode().replace("\r\n", "\n").rstrip("\n")
