"""The starter agent: small models that come with the project, one for each formulation.

For `iterative` there may be two: an adapter of SmolLM2, which needs its base on this machine, and a model trained from
scratch, which needs nothing. One model cannot serve both formulations: they begin with the same planner prompt and
expect different replies.
"""

from __future__ import annotations

from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.models.adapters import find_base, is_adapter, read_adapter

STARTERS = ("iterative", "one-pass")  #: formulations with a model
#: Names that --agent takes: the larger model where it can run, or the one from scratch in any case.
AGENTS = (STARTER, FROM_SCRATCH) = ("starter", "starter-scratch")
_BASE = "smollm2"
_PACKAGE = Path(__file__).resolve().parents[1]
#: In a wheel, then in a checkout.
_FOLDERS = (_PACKAGE / "starter", _PACKAGE.parent / "models" / "starter")


def starter_url(formulation: str, agent: str = STARTER) -> str:
    """The endpoint of the model for planner and grounder. Raises SpecError when this copy has no such model."""
    if agent == STARTER and (adapter := _find_adapter(formulation)) and not _find_problem(adapter):
        return f"local:{adapter}"
    for folder in _FOLDERS:
        if (folder / formulation / "config.json").is_file():
            return f"local:{folder / formulation}"
    raise SpecError(
        f"This copy has no starter model for the formulation '{formulation}'. "
        "Rebuild it with: lumos train starter --help"
    )


def remark_on_starter(formulation: str) -> str:
    """One line for people when the smaller model is used, as the larger one cannot run here; '' otherwise."""
    if not (adapter := _find_adapter(formulation)) or not (problem := _find_problem(adapter)):
        return ""
    return f"The small starter model is used, run `lumos models get {_BASE}` for the larger one. {problem}"


def _find_adapter(formulation: str) -> Path | None:
    found = (folder / f"{_BASE}-{formulation}" for folder in _FOLDERS)
    return next((folder for folder in found if is_adapter(folder)), None)


def _find_problem(adapter: Path) -> str:
    """Why the adapter cannot run here; '' when it can."""
    try:
        find_base(read_adapter(adapter))
    except SpecError as error:
        return str(error)
    return ""
