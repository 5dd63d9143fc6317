"""The precision that a fit on a CPU is stored with, where nobody names one."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from lumos_queue.settings import Settings
from lumos_queue.training.engine.spec import BF16, FP32

if TYPE_CHECKING:
    import torch

SIZE = 512  #: rows and columns of the matrices that are multiplied
TRIES = 3


def choose_cpu_precision(settings: Settings, device: str) -> str:
    """Return `bf16` where this machine does the work on its CPU and multiplies bfloat16 faster, else `fp32`.

    Most CPUs have no instructions for bfloat16 and take about thirty times as long. With a broker another machine does
    the work.
    """
    return BF16 if device == "cpu" and not settings.broker_url and _bf16_is_faster() else FP32


@functools.cache
def _bf16_is_faster() -> bool:
    """Whether a product with the conversion of both factors, as in a fit, takes less time in bfloat16."""
    import torch

    left, right = torch.ones(SIZE, SIZE), torch.ones(SIZE, SIZE)
    return _seconds(left, right, torch.bfloat16) < _seconds(left, right, torch.float32)


def _seconds(left: torch.Tensor, right: torch.Tensor, dtype: torch.dtype) -> float:
    """Return the seconds of the fastest of some products after the first, which prepares the library."""
    import torch

    times = []
    for _ in range(1 + TRIES):
        began = time.perf_counter()
        torch.matmul(left.to(dtype), right.to(dtype))
        times.append(time.perf_counter() - began)
    return min(times[1:])
