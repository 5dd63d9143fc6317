"""The precision of a fit on a CPU follows from a measurement on the machine that does the work."""

from __future__ import annotations

import pytest

from lumos_queue.settings import Settings
from lumos_queue.submission import fit_precision
from lumos_queue.submission.fit_precision import choose_cpu_precision
from lumos_queue.training.engine.spec import BF16, FP32

HERE = Settings(broker_url="")


@pytest.fixture
def measured(monkeypatch):
    """Set which of the two types is faster; returns the types that were measured."""
    import torch

    seen: list[torch.dtype] = []

    def measure(faster: str) -> list[torch.dtype]:
        def seconds(dtype: torch.dtype) -> float:
            seen.append(dtype)
            return 1.0 if dtype == getattr(torch, faster) else 2.0

        fit_precision.bf16_is_faster.cache_clear()
        monkeypatch.setattr(fit_precision, "_seconds", seconds)
        return seen

    yield measure
    fit_precision.bf16_is_faster.cache_clear()


def test_the_faster_type_is_chosen(measured):
    measured("bfloat16")
    assert choose_cpu_precision(HERE, "cpu") == BF16
    measured("float32")
    assert choose_cpu_precision(HERE, "cpu") == FP32


def test_nothing_is_measured_for_a_gpu_or_where_another_machine_does_the_work(measured):
    seen = measured("bfloat16")
    assert choose_cpu_precision(HERE, "cuda") == FP32
    assert choose_cpu_precision(Settings(broker_url="redis://127.0.0.1:1/0"), "cpu") == FP32
    assert seen == []


def test_real_products_are_measured_once():
    fit_precision.bf16_is_faster.cache_clear()
    assert choose_cpu_precision(HERE, "cpu") == choose_cpu_precision(HERE, "cpu")
    assert fit_precision.bf16_is_faster.cache_info().misses == 1
