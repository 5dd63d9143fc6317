"""Answer the windows after the early end of a fit. This needs no training process, whose start takes seconds."""

from __future__ import annotations

from lumos_queue.errors import SpecError
from lumos_queue.training.engine.checkpoints import read_facts
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.recipes.base import Window, WindowResult
from lumos_queue.training.recipes.sft import Sft


def skip_window(recipe: Sft, window: Window) -> WindowResult | None:
    """Return the result of a window of a fit that has ended before it; None if the window has to be carried out."""
    checkpoint = max(recipe.checkpoints().glob("step-*"), default=None)
    if window["do"] != "fit" or not recipe.control.patience or checkpoint is None:
        return None
    try:
        facts = read_facts(checkpoint)
    except SpecError:  # the training process describes the damage
        return None
    step, record = facts["step"], DevRecord.from_seal(facts)
    plan = WindowPlan.of(recipe.control, window["start"], window["stop"], 0, recipe.window)
    is_own = facts.get("spec") == recipe.fit.digest and step <= plan.start
    if not (is_own and plan.ends_window(step) and plan.is_stopped_early(record.stale_windows)):
        return None
    output = {"fit": "", "checkpoint": str(checkpoint), "step": step, "loss": None, "tokens": 0}
    output |= {"tokens_per_second": 0.0, "seconds": 0.0, "stopped_early": True}
    if record.best is not None:
        output["best"] = {"step": record.best[0], "dev_loss": round(record.best[1], 4)}
    return WindowResult(output)
