"""A fit that is stopped within a window continues there, also from an earlier checkpoint if the newest is damaged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lumos_queue.errors import FitInterrupted
from lumos_queue.models.tokens import prepare_tokenizer
from lumos_queue.records import TrainingStep
from lumos_queue.training.engine.checkpoints import SEAL, checkpoint_of, read_facts, remove_old
from lumos_queue.training.engine.control import LAST, FitControl
from lumos_queue.training.engine.kept import choose_checkpoint
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.progress import STOP, Reporter
from lumos_queue.training.engine.spec import ADAMW, FitSpec, LoraShape
from tests.tiny_fits import own_tokenizer, small_spec, write_fit
from tests.tiny_llama import make_tiny_llama

if TYPE_CHECKING:
    from lumos_queue.training.engine.window import FitWindow

ENGINE = Path(__file__).parents[2] / "lumos_queue" / "training" / "engine"
PLAN = WindowPlan(0, 6, steps=6, window=6)


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> FitSpec:
    folder = tmp_path_factory.mktemp("data")
    write_fit(folder, own_tokenizer())
    return small_spec(folder)  # with dropout


@pytest.fixture(scope="module")
def undisturbed(spec, tmp_path_factory) -> FitWindow:
    from lumos_queue.training.engine.window import run_window

    return run_window(spec, tmp_path_factory.mktemp("whole"), PLAN)


class StoppedReporter(Reporter):
    """Requests a stop during a step, as a worker does."""

    def __init__(self, folder: Path, step: int):
        super().__init__(folder)
        self._last_step = step

    def report_step(self, step: TrainingStep, **changes: Any) -> None:
        super().report_step(step, **changes)
        if step.step == self._last_step - 1 and self.folder:  # the next step is the last one
            (self.folder / STOP).touch()


def stop_at(spec: FitSpec, folder: Path, channel: Path, step: int) -> None:
    """Continue the fit and stop it at the step."""
    from lumos_queue.training.engine.window import run_window

    (channel / STOP).unlink(missing_ok=True)
    with pytest.raises(FitInterrupted, match=f"after step {step}"):
        run_window(spec, folder, PLAN, reporter=StoppedReporter(channel, step))


def contents(window: FitWindow) -> tuple[bytes, list[tuple[float, ...]]]:
    weights = (window.checkpoint / "model.safetensors").read_bytes()
    return weights, [(step.step, step.loss, step.rate, step.grad_norm, step.tokens) for step in window.steps]


@pytest.fixture
def stopped_twice(spec, tmp_path) -> Path:
    """The folder of a fit that was stopped at the steps 2 and 4 of a window."""
    folder, channel = tmp_path / "fit", tmp_path / "channel"
    channel.mkdir()
    stop_at(spec, folder, channel, 2)
    stop_at(spec, folder, channel, 4)
    return folder


def test_a_stop_request_loses_no_step(spec, undisturbed, stopped_twice):
    from lumos_queue.training.engine.window import run_window

    assert [step["step"] for step in read_facts(checkpoint_of(stopped_twice, 4))["steps"]] == [1, 2, 3, 4]
    window = run_window(spec, stopped_twice, PLAN)
    assert contents(window) == contents(undisturbed)
    assert window.notes == ()
    reporter = Reporter()
    assert contents(run_window(spec, stopped_twice, PLAN, reporter=reporter)) == contents(undisturbed)
    assert (reporter.progress.start_step, reporter.progress.step) == (6, 6), "another process has ended the window"


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "rng_state.pth", SEAL])
def test_a_checkpoint_that_was_damaged_in_a_window_is_replaced_by_the_earlier_one(
    spec, undisturbed, stopped_twice, name
):
    from lumos_queue.training.engine.window import run_window

    damaged = checkpoint_of(stopped_twice, 4) / name
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 0x80
    damaged.write_bytes(content)
    window = run_window(spec, stopped_twice, PLAN)
    assert contents(window) == contents(undisturbed)
    assert window.notes[-1] == "Its steps are done again from step 2."


def test_each_checkpoint_of_adapters_holds_the_same_tensors(tmp_path):
    """Also the second one of a process, with a new row of the embeddings."""
    from safetensors.torch import load_file

    from lumos_queue.training.engine.export import ADAPTER, ADAPTER_CONFIG
    from lumos_queue.training.engine.window import run_window

    make_tiny_llama(tmp_path / "base")
    prepared = prepare_tokenizer(tmp_path / "base")
    write_fit(tmp_path, prepared.tokenizer)
    adapters = LoraShape(rank=4, alpha=8, dropout=0.1)
    base = {"base": str(tmp_path / "base"), "lora": adapters, "optimizer": ADAMW, "rate": 0.01}
    spec = small_spec(tmp_path, **base, dropout=0.0, prompt_weight=0.0, decay=1.0)
    run_window(spec, tmp_path / "fit", WindowPlan(0, 3, steps=3, window=1))
    once = run_window(spec, tmp_path / "once", WindowPlan(0, 3, steps=3, window=3))
    first, second = (load_file(checkpoint_of(tmp_path / "fit", step) / ADAPTER) for step in (2, 3))
    assert first.keys() == second.keys() and not any("base_layer" in name for name in second)
    assert (checkpoint_of(tmp_path / "fit", 3) / ADAPTER).read_bytes() == (once.checkpoint / ADAPTER).read_bytes()
    config = json.loads((checkpoint_of(tmp_path / "fit", 3) / ADAPTER_CONFIG).read_text())
    assert not config["base_model_name_or_path"]


def test_a_fit_of_the_former_version_continues_and_exports_its_last_weights(spec, undisturbed, tmp_path):
    from lumos_queue.training.engine.window import run_window

    window = run_window(spec, tmp_path, WindowPlan(0, 3))
    seal = json.loads((window.checkpoint / SEAL).read_text())
    del seal["dev"]
    (window.checkpoint / SEAL).write_text(json.dumps(seal | {"dev_loss": 0.1, "best_dev_loss": None}))
    window = run_window(spec, tmp_path, WindowPlan.of(FitControl.from_json({}), 3, 6, 6, 3))
    assert contents(window)[0] == contents(undisturbed)[0]
    assert contents(window)[1] == contents(undisturbed)[1][3:]
    assert window.best_dev_loss == 0.1
    kept = choose_checkpoint(spec, tmp_path, FitControl.from_json({}).keep, 6)
    assert (kept.step, kept.keep) == (6, LAST)


def test_a_process_that_another_one_has_overtaken_keeps_the_best_checkpoint_of_that_one(tmp_path):
    for step, best in ((2, 2), (4, 4), (6, 4), (8, 4)):
        folder = checkpoint_of(tmp_path, step)
        folder.mkdir()
        dev = {"evaluations": [], "best": [best, 1.0], "best_before": None, "stale_windows": 0}
        (folder / SEAL).write_text(json.dumps({"step": step, "files": {}, "dev": dev}))
    remove_old(tmp_path, keep=2)  # of the process that was overtaken
    assert {path.name for path in tmp_path.iterdir()} == {f"step-{step:06d}" for step in (2, 4, 6, 8)}
    remove_old(tmp_path, keep=4)
    assert {path.name for path in tmp_path.iterdir()} == {f"step-{step:06d}" for step in (4, 6, 8)}


def test_no_step_and_no_checkpoint_depends_on_the_clock_of_the_machine():
    """A clock that is set back changes nothing: durations are monotonic, and only the age of a folder is not."""
    clock = re.compile(r"\btime\.time\(|\btime\.time_ns\(|datetime")
    users = {path.name: len(clock.findall(path.read_text())) for path in ENGINE.glob("*.py")}
    assert {name: count for name, count in users.items() if count} == {"checkpoints.py": 1}
