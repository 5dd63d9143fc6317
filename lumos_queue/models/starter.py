"""The starter agent: small models that are part of the project, one for each formulation.

The formulation `iterative` may have two models: an adapter of SmolLM2, which needs its base on this machine, and a
model that was trained from scratch. No model can serve both formulations, because both begin with the same planner
prompt but expect different replies.
"""

from __future__ import annotations

from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.models.adapters import find_base, is_adapter, read_adapter

#: Names for --agent: the larger model where it can run, and always the model that was trained from scratch.
AGENTS = (STARTER, FROM_SCRATCH) = ("starter", "starter-scratch")
_BASE = "smollm2"
_PACKAGE = Path(__file__).resolve().parents[1]
#: The folders of a wheel and of a checkout.
_FOLDERS = (_PACKAGE / "starter", _PACKAGE.parent / "models" / "starter")


def starter_url(formulation: str, agent: str = STARTER) -> str:
    """Return the endpoint URL of the model for planner and grounder. Raises SpecError if this copy has no model."""
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
    """Return a remark for the user if the smaller model is used because the larger cannot run here; '' otherwise."""
    if not (adapter := _find_adapter(formulation)) or not (problem := _find_problem(adapter)):
        return ""
    return f"The small starter model is used, run `lumos models get {_BASE}` for the larger one. {problem}"


def _find_adapter(formulation: str) -> Path | None:
    folders = (folder / f"{_BASE}-{formulation}" for folder in _FOLDERS)
    return next((folder for folder in folders if is_adapter(folder)), None)


def _find_problem(adapter: Path) -> str:
    """Return why the adapter cannot run on this machine; '' if it can."""
    try:
        find_base(read_adapter(adapter))
    except SpecError as error:
        return str(error)
    return ""
