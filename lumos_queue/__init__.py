"""lumos-queue: a distributed job queue for language agents that plan, ground and execute.

Programs may use the names of this module (docs/python_api.md). Each name is imported at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lumos_queue.actions.session import ActionSession, action
    from lumos_queue.api.board import board
    from lumos_queue.api.convert import convert
    from lumos_queue.api.episodes import Episodes, episodes
    from lumos_queue.api.evaluate import evaluate, infer
    from lumos_queue.api.jobs import JobHandle, get_job, list_jobs
    from lumos_queue.api.results import BoardResult, Comparison, Report
    from lumos_queue.api.train import train
    from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
    from lumos_queue.commands import Ask, Do, Note
    from lumos_queue.domains.base import Demonstration, Domain
    from lumos_queue.endpoints.schemes import EndpointScheme
    from lumos_queue.endpoints.simple import SimpleEndpoint
    from lumos_queue.errors import (
        ActionError,
        BadRow,
        EndpointDown,
        InfrastructureError,
        LumosError,
        NeedsAttention,
        SpecError,
    )
    from lumos_queue.formulations.base import Formulation, formulation
    from lumos_queue.notation import read_actions
    from lumos_queue.records import (
        Action,
        AnnotatedSubgoal,
        Annotation,
        Completion,
        Ending,
        Execution,
        Outcome,
        Score,
        Subgoal,
        Task,
    )
    from lumos_queue.review.scorers.base import Scorer, scorer
    from lumos_queue.scoring.answer_kinds import AnswerKind
    from lumos_queue.settings import Settings
    from lumos_queue.util.version import RELEASE as __version__

#: Module to the names that it has.
_NAMES = {
    "actions.session": ("ActionSession", "action"),
    "api.board": ("board",),
    "api.convert": ("convert",),
    "api.episodes": ("Episodes", "episodes"),
    "api.evaluate": ("evaluate", "infer"),
    "api.jobs": ("JobHandle", "get_job", "list_jobs"),
    "api.results": ("BoardResult", "Comparison", "Report"),
    "api.train": ("train",),
    "benchmarks.base": ("Benchmark", "EpisodeResult"),
    "commands": ("Ask", "Do", "Note"),
    "domains.base": ("Demonstration", "Domain"),
    "endpoints.schemes": ("EndpointScheme",),
    "endpoints.simple": ("SimpleEndpoint",),
    "errors": (
        "ActionError",
        "BadRow",
        "EndpointDown",
        "InfrastructureError",
        "LumosError",
        "NeedsAttention",
        "SpecError",
    ),
    "formulations.base": ("Formulation", "formulation"),
    "notation": ("read_actions",),
    "records": (
        "Action",
        "AnnotatedSubgoal",
        "Annotation",
        "Completion",
        "Ending",
        "Execution",
        "Outcome",
        "Score",
        "Subgoal",
        "Task",
    ),
    "review.scorers.base": ("Scorer", "scorer"),
    "scoring.answer_kinds": ("AnswerKind",),
    "settings": ("Settings",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Action",
    "ActionError",
    "ActionSession",
    "AnnotatedSubgoal",
    "Annotation",
    "AnswerKind",
    "Ask",
    "BadRow",
    "Benchmark",
    "BoardResult",
    "Comparison",
    "Completion",
    "Demonstration",
    "Do",
    "Domain",
    "Ending",
    "EndpointDown",
    "EndpointScheme",
    "EpisodeResult",
    "Episodes",
    "Execution",
    "Formulation",
    "InfrastructureError",
    "JobHandle",
    "LumosError",
    "NeedsAttention",
    "Note",
    "Outcome",
    "Report",
    "Score",
    "Scorer",
    "Settings",
    "SimpleEndpoint",
    "SpecError",
    "Subgoal",
    "Task",
    "__version__",
    "action",
    "board",
    "convert",
    "episodes",
    "evaluate",
    "formulation",
    "get_job",
    "infer",
    "list_jobs",
    "read_actions",
    "scorer",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("lumos_queue.util.version").RELEASE
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return member


def __dir__() -> list[str]:
    return list(__all__)
