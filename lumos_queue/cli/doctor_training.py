"""Describe for `lumos doctor` what a fit would use here: the device, its memory, and whether bfloat16 is fast there."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lumos_queue.util.extras import install_command
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.wording import format_bytes, plural

if TYPE_CHECKING:
    from lumos_queue.training.engine.device_memory import Gpu

#: Large packages that a fit imports.
_PACKAGES = ("torch", "transformers", "peft", "accelerate")
#: A subject, whether it is fine (None: it is worse than elsewhere, and nothing fails), and its description.
Description = tuple[str, bool | None, str]


def check_training() -> Iterator[Description]:
    """Yield the descriptions for training on this machine; of its GPUs if it has some, else of its CPU."""
    missing_names = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing_names:
        yield "training", None, f"{', '.join(missing_names)} missing: {install_command('train')}"
        return
    with import_libraries():
        from lumos_queue.training.engine.device_memory import available_memory, list_gpus
    if gpus := list_gpus():
        yield from describe_gpus(gpus)
        return
    from lumos_queue.submission.fit_precision import bf16_is_faster

    yield "training device", True, f"CPU, {plural(len(os.sched_getaffinity(0)), 'core')}; no GPU"
    yield "training memory", True, f"{format_bytes(available_memory('cpu'))} available"
    yield _describe_bf16(bf16_is_faster())


def describe_gpus(gpus: Sequence[Gpu]) -> Iterator[Description]:
    """Yield the descriptions of one or more GPUs, which one fit uses together."""
    names = ", ".join(f"{gpu.name} ({format_bytes(gpu.memory)})" for gpu in gpus)
    smallest = min(gpu.memory for gpu in gpus)
    yield "training device", True, f"{plural(len(gpus), 'GPU')}: {names}"
    yield "training memory", True, f"{format_bytes(smallest)}" + (" on the smallest GPU" if len(gpus) > 1 else "")
    yield _describe_bf16(all(gpu.has_fast_bf16 for gpu in gpus))


def _describe_bf16(is_fast: bool) -> Description:
    if is_fast:
        return "bfloat16", True, "faster than float32 here"
    return "bfloat16", None, "slower than float32 here: train with --precision fp32"
