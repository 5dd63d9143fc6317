"""Write the command that installs optional packages, from the checkout or wheel of lumos-queue and never by its name.

No package index has the name. Anyone could register it there, and `pip install NAME` would then run their code.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from lumos_queue.util.version import RELEASE


def install_command(extras: str) -> str:
    """Return the command that installs extras such as `local,experts`, from the checkout or, without it, the wheel."""
    checkout = Path(__file__).resolve().parents[2]
    editable, source = "", f"lumos_queue-{RELEASE}-py3-none-any.whl"
    if (checkout / "pyproject.toml").is_file():  # the checkout's code must stay in use
        editable, source = "-e ", str(checkout)
    return f"pip install {editable}{shlex.quote(f'{source}[{extras}]')}"
