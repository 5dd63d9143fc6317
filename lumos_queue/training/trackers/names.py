"""The names of the trackers, and the checks of a request that names some."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from lumos_queue.errors import SpecError, unknown
from lumos_queue.training.trackers.environment import missing_setting
from lumos_queue.util.extras import install_command

TRACKERS = ("tensorboard", "wandb", "mlflow", "trackio")  #: each is also the name of its Python module


def check_trackers(names: Sequence[str], is_local: bool) -> None:
    """Check the trackers that a request names. Raises SpecError with one line that contains the remedy.

    `is_local`: whether the work will be done with the packages and the environment of this process. Otherwise only the
    names are checked, and a problem is a warning of the worker.
    """
    for name in names:
        if name not in TRACKERS:
            raise unknown("tracker", name, TRACKERS)
        if is_local and (problem := find_problem(name)):
            raise SpecError(problem)


def find_problem(name: str) -> str:
    """Return why a tracker cannot work in this process, in one line with the remedy, or ''."""
    if importlib.util.find_spec(name) is None:
        return f"The tracker '{name}' needs the Python package {name}: {install_command('trackers')}"
    return missing_setting(name)
