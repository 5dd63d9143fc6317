"""`lumos doctor` describes what a fit would use here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lumos_queue.cli.doctor_training import describe_gpus

if TYPE_CHECKING:
    from lumos_queue.training.engine.device_memory import Gpu

SUBJECTS = ("training device", "training memory", "bfloat16")
CORES = len(os.sched_getaffinity(0))


@pytest.fixture
def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def test_the_device_its_memory_and_bfloat16_are_described(lumos, has_gpu):
    findings = {finding["what"]: finding for finding in json.loads(lumos("doctor", "--json").out)["findings"]}
    device, memory, bf16 = (findings[subject]["found"] for subject in SUBJECTS)
    if not has_gpu:
        assert device == f"CPU, {CORES} core{'s' if CORES > 1 else ''}; no GPU"
        assert re.fullmatch(r"[\d,]+\.\d (MB|GB) available", memory)
    assert findings["bfloat16"]["fine"] in (True, None)
    assert bf16.startswith("faster than" if findings["bfloat16"]["fine"] else "slower than")
    text = lumos("doctor").out
    assert all(subject in text for subject in SUBJECTS) and device in text


def gpu(name: str, gigabytes: int, capability: tuple[int, int]) -> Gpu:
    from lumos_queue.training.engine.device_memory import Gpu

    return Gpu(name, gigabytes * 10**9, capability)


def test_each_gpu_is_described_and_the_smallest_and_oldest_decide():
    new, old = gpu("NVIDIA H200", 150, (9, 0)), gpu("Tesla T4", 16, (7, 5))
    assert list(describe_gpus([new])) == [
        ("training device", True, "1 GPU: NVIDIA H200 (150.0 GB)"),
        ("training memory", True, "150.0 GB"),
        ("bfloat16", True, "faster than float32 here"),
    ]
    assert list(describe_gpus([new, old])) == [
        ("training device", True, "2 GPUs: NVIDIA H200 (150.0 GB), Tesla T4 (16.0 GB)"),
        ("training memory", True, "16.0 GB on the smallest GPU"),
        ("bfloat16", None, "slower than float32 here: train with --precision fp32"),
    ]


def test_without_torch_a_line_says_what_to_install(tmp_path):
    """The process cannot import torch and peft, as where only the core is installed."""
    code = """
import sys
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in ("torch", "peft") else real(name, package)
sys.modules["torch"] = sys.modules["peft"] = None
from lumos_queue.cli.main import main
sys.exit(main(["doctor", "--json"]))
"""
    environment = {**os.environ, "LUMOS_HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    findings = json.loads(ran.stdout)["findings"]
    assert findings[-1]["what"] == "training" and findings[-1]["fine"] is None
    assert findings[-1]["found"].startswith("torch, peft missing: pip install ")
    assert findings[-1]["found"].endswith("[train]'") and not set(SUBJECTS) & {finding["what"] for finding in findings}
    assert ran.returncode == 0, ran.stderr
