"""How optional packages are installed: from what lumos-queue itself came from, and never by its name.

The name is in no package index: anyone could register it there, and `pip install NAME` would run their code.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from lumos_queue.util.version import RELEASE


def install_command(extras: str) -> str:
    """The command that installs these extras, `local` or `local,experts`: of the checkout, or else of the wheel."""
    checkout = Path(__file__).resolve().parents[2]
    editable, source = "", f"lumos_queue-{RELEASE}-py3-none-any.whl"
    if (checkout / "pyproject.toml").is_file():  # the code that runs is that of the checkout, and is to stay so
        editable, source = "-e ", str(checkout)
    return f"pip install {editable}{shlex.quote(f'{source}[{extras}]')}"
