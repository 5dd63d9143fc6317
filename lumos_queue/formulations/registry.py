"""The registry of formulations by name; it imports the module of a formulation at the first use."""

from __future__ import annotations

from lumos_queue.formulations.base import Formulation
from lumos_queue.util.registry import Registry

_ROOM = "lumos_queue.formulations"
FORMULATIONS: Registry[Formulation] = Registry(
    "formulation",
    {
        "iterative": f"{_ROOM}.iterative:FORMULATION",
        "one-pass": f"{_ROOM}.one_pass:FORMULATION",
        "cot": f"{_ROOM}.cot:FORMULATION",
        "direct": f"{_ROOM}.direct:FORMULATION",
        "integrated": f"{_ROOM}.integrated:FORMULATION",
        "caption": f"{_ROOM}.caption:FORMULATION",
        "react": f"{_ROOM}.react:FORMULATION",
        "dfsdt": f"{_ROOM}.dfsdt:FORMULATION",
        "rewoo": f"{_ROOM}.rewoo:FORMULATION",
        "sum2act": f"{_ROOM}.sum2act:FORMULATION",
        "model-synthesis": f"{_ROOM}.model_synthesis:FORMULATION",
        "open-ended": f"{_ROOM}.open_ended:FORMULATION",
        "tooleval": f"{_ROOM}.tooleval:FORMULATION",
        "stored-answer": f"{_ROOM}.stored_answer:FORMULATION",
        "teacher-forced": f"{_ROOM}.teacher_forced:FORMULATION",
    },
    "formulations",
    Formulation,
)


def is_of_episodes(name: str) -> bool:
    """Return whether the tasks of a formulation are stored episodes, which only commands of the project make.

    Lists of jobs ask this, and a list imports no plug-in.
    """
    return FORMULATIONS.is_built_in(name) and FORMULATIONS.load(name).of_episodes


def starter_names() -> tuple[str, ...]:
    """Return the names of the formulations for which the project has a starter model."""
    return tuple(name for name in FORMULATIONS if FORMULATIONS.load(name).starter)


def tool_agent_names() -> tuple[str, ...]:
    """Return the names of the formulations that call functions of the task without a person's approval."""
    return tuple(name for name in FORMULATIONS if FORMULATIONS.load(name).is_tool_agent)


def trainable_names() -> tuple[str, ...]:
    """Return the names of the formulations that can be trained: a gold solution determines their conversations."""
    return tuple(name for name in FORMULATIONS if FORMULATIONS.load(name).trainable)
