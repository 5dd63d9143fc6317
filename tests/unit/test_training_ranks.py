"""Two processes of this machine, over gloo: the losses of one."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest

from lumos_queue.errors import DivergedFit, InfrastructureError, SpecError
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.spec import ADAMW
from tests.tiny_fits import own_tokenizer, small_spec, write_fit


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_fit(folder, own_tokenizer())
    return small_spec(folder, optimizer=ADAMW, rate=1e-3, dropout=0.0, prompt_weight=0.0, micro_batch=2)


@pytest.mark.parametrize("first", [1, pytest.param(2, marks=pytest.mark.long)])
def test_two_ranks_give_the_losses_of_one(first, spec, tmp_path):
    """`first`: the ranks of the first window. The second one resumes from its checkpoint, in the middle of an epoch."""
    from safetensors.torch import load_file

    from lumos_queue.training.engine.window import run_window

    one = [run_window(spec, tmp_path / "one", WindowPlan(*ends)) for ends in ((0, 7), (7, 15))]
    two = [
        run_window(spec, tmp_path / "two", WindowPlan(0, 7), ranks=first),
        run_window(spec, tmp_path / "two", WindowPlan(7, 15), ranks=2),
    ]
    for alone, shared in zip((s for w in one for s in w.steps), (s for w in two for s in w.steps), strict=True):
        assert shared.loss == pytest.approx(alone.loss, abs=1e-5)
        assert shared.tokens == alone.tokens and shared.rate == alone.rate
    weights = [load_file(done[-1].checkpoint / "model.safetensors") for done in (one, two)]
    for name, value in weights[0].items():
        assert (weights[1][name] - value).abs().max() < 1e-4, name
    assert [done.ranks for done in two] == [first, 2]


@pytest.mark.long
def test_what_a_rank_raises_is_raised_here(spec, tmp_path):
    from lumos_queue.training.engine.window import run_window

    with pytest.raises(DivergedFit, match="norm nan"):
        run_window(replace(spec, rate=1e30), tmp_path / "diverged", WindowPlan(0, 10), ranks=2)
    with pytest.raises(SpecError, match="No encoded conversations"):
        run_window(replace(spec, data=str(tmp_path)), tmp_path / "missing", WindowPlan(0, 10), ranks=2)


def running_ranks() -> list[psutil.Process]:
    """The ranks among the processes that descend from this one; some may end while they are listed."""
    ranks = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "engine.ranks" in " ".join(process.cmdline()):
                ranks.append(process)
    return ranks


def test_a_killed_rank_leaves_no_process_and_no_checkpoint(spec, tmp_path):
    from lumos_queue.training.engine.window import run_window

    def kill_rank() -> None:
        while len(ranks := running_ranks()) < 2:
            time.sleep(0.05)
        os.kill(ranks[0].pid, signal.SIGKILL)

    threading.Thread(target=kill_rank, daemon=True).start()
    with pytest.raises(InfrastructureError, match="exit code -9"):
        run_window(replace(spec, steps=100_000), tmp_path, WindowPlan(0, 100_000), ranks=2)
    assert not list(tmp_path.glob("step-*"))
    assert not running_ranks()
    # Ctrl-C still raises KeyboardInterrupt in this process.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_worker_says_how_many_ranks_it_has(spec, monkeypatch):
    from lumos_queue.training.engine.window import available_ranks

    assert available_ranks(spec) == 1
    monkeypatch.setenv("LUMOS_TRAIN_RANKS", "2")
    assert available_ranks(spec) == 2
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(SpecError, match="this machine has none"):
            available_ranks(replace(spec, device="cuda"))
