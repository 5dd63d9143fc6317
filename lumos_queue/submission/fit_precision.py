"""Choose the precision that is stored in a fit on a CPU if a person chooses none."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from lumos_queue.settings import Settings
from lumos_queue.training.engine.spec import BF16, FP32
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    import torch

SIZE = 512  #: rows and columns of the matrices that are multiplied
TRIES = 5


def choose_cpu_precision(settings: Settings, device: str) -> str:
    """Return `bf16` if this machine does the work on its CPU and bfloat16 is faster there than float32, else `fp32`.

    Most CPUs have no instructions for bfloat16 and take about thirty times as long with it. With a broker, another
    machine does the work.
    """
    return BF16 if device == "cpu" and not settings.broker_url and bf16_is_faster() else FP32


@functools.cache
def bf16_is_faster() -> bool:
    """Return whether a matrix product takes less time in bfloat16; both factors are converted, as in a fit.

    With instructions for bfloat16, the product takes a fifth of the time or less; without them, thirty times as long.
    So other work on the machine does not change the result, which uses one thread and the fastest of several tries.
    """
    with import_libraries("torch"):
        import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds = [(_seconds(torch.bfloat16), _seconds(torch.float32)) for _ in range(1 + TRIES)]
    finally:
        torch.set_num_threads(threads)
    bf16, fp32 = (min(times) for times in zip(*seconds[1:], strict=True))  # the first product prepares the library
    return bf16 < fp32


def _seconds(dtype: torch.dtype) -> float:
    """Return the seconds of one product of two float32 matrices in another type."""
    with import_libraries("torch"):
        import torch

    left, right = torch.ones(SIZE, SIZE), torch.ones(SIZE, SIZE)
    start = time.perf_counter()
    torch.matmul(left.to(dtype), right.to(dtype))
    return time.perf_counter() - start
