"""Processes for which torch seems to have GPUs, or none: a package `torch` that only the question for GPUs meets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

#: The question is asked by `python -c`. Any other process, such as one that trains, gets the real torch.
_PACKAGE = """
import importlib, os, sys, types
if sys.argv[0] == "-c":
{question}
else:
    sys.path.remove(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    del sys.modules["torch"]
    importlib.import_module("torch")
"""
_GPUS = """
    MEMORIES = {memories}
    cuda = types.SimpleNamespace(
        is_available=lambda: bool(MEMORIES),
        device_count=lambda: len(MEMORIES),
        get_device_properties=lambda gpu: types.SimpleNamespace(total_memory=MEMORIES[gpu] * 2**20),
    )
"""


def write_torch(folder: Path, question: str) -> Path:
    """Write a torch that runs `question`, indented statements, when it is imported to ask for GPUs."""
    package = folder / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_PACKAGE.format(question=question), encoding="utf-8")
    return folder


def pretend_gpus(folder: Path, memories: Sequence[int]) -> str:
    """A value of PYTHONPATH with which torch has GPUs with so many MiB each."""
    file = write_torch(folder, _GPUS.format(memories=list(memories)))
    return os.pathsep.join(filter(None, [str(file), os.environ.get("PYTHONPATH", "")]))
