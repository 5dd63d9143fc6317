"""The starter agent: small models trained from scratch that come with the project, one for each formulation.

Two models, because both formulations begin with the same planner prompt and expect different replies.
"""

from __future__ import annotations

from pathlib import Path

from lumos_queue.errors import SpecError

STARTERS = ("iterative", "one-pass")  #: formulations with a model
_PACKAGE = Path(__file__).resolve().parents[1]
#: In a wheel, then in a checkout.
_FOLDERS = (_PACKAGE / "starter", _PACKAGE.parent / "models" / "starter")


def starter_url(formulation: str) -> str:
    """The endpoint of the model for planner and grounder. Raises SpecError when this copy has no such model."""
    for folder in _FOLDERS:
        if (folder / formulation / "config.json").is_file():
            return f"local:{folder / formulation}"
    raise SpecError(
        f"This copy has no starter model for the formulation '{formulation}'. "
        "Rebuild it with: lumos train starter --help"
    )
