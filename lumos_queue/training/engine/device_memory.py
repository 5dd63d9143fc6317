"""Read which GPUs a fit can use here, and how much memory its processes have on them or on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lumos_queue.errors import SpecError
from lumos_queue.util.host_memory import read_available_memory

#: The first compute capability of GPUs with instructions for bfloat16 (Ampere).
_BF16_CAPABILITY = (8, 0)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that this process sees."""

    name: str
    memory: int  #: bytes, those in use included
    capability: tuple[int, int]  #: CUDA compute capability

    @property
    def has_fast_bf16(self) -> bool:
        return self.capability >= _BF16_CAPABILITY


def list_gpus() -> list[Gpu]:
    """Return the visible GPUs; [] if there is none."""
    if not torch.cuda.is_available():
        return []
    devices = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return [Gpu(device.name, device.total_memory, (device.major, device.minor)) for device in devices]


def available_memory(device: str, ranks: int = 1) -> int:
    """Return the bytes for each of `ranks` processes: all of the smallest visible GPU, or a share of this machine's.

    `device` is `cpu` or `cuda`. Raises SpecError for `cuda` if there is no GPU.
    """
    if device == "cpu":
        return read_available_memory() // ranks
    if not (gpus := list_gpus()):
        raise SpecError("This machine has no GPU, so the memory of a GPU cannot be read.")
    return min(gpu.memory for gpu in gpus)
