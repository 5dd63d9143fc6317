"""Presets: those of OpenAGI's table A.5, and that adapters with a choice of projections change no fit of before."""

from __future__ import annotations

import json

import pytest

from lumos_queue.training.engine.spec import ADAMW, FitSpec, LoraShape
from lumos_queue.training.presets import PRESETS, SMALL, WINDOWS

#: Fine-tuning columns: batch, rate, warm-up; all else is the same.
A_5 = {"flan-t5-large": (8, 1e-5, 0.1), "vicuna-7b": (1, 5e-6, 0.0), "llama-2-13b": (1, 1e-5, 0.0)}


def test_every_preset_has_its_window():
    assert {*PRESETS} == {*WINDOWS} and {*SMALL} <= {*PRESETS}


@pytest.mark.parametrize("name", A_5)
def test_fine_tuning_is_as_in_table_a_5(name):
    batch, rate, warm_up = A_5[name]
    fit = PRESETS[name]
    assert (fit.optimizer, fit.decay, fit.epochs, fit.weight_decay) == (ADAMW, 1.0, 200, 1e-6)
    assert (fit.batch, fit.rate, fit.warm_up) == (batch, rate, warm_up)
    targets = ("q", "v") if "t5" in name else ("q_proj", "v_proj")
    assert fit.lora == LoraShape(rank=8, alpha=16, dropout=0.05, targets=targets)
    assert fit.steps_of(20) == 200 * -(-20 // batch)


def test_a_choice_of_projections_is_part_of_a_fit_and_none_leaves_it_as_it_was():
    plain = FitSpec(lora=LoraShape())
    assert plain.as_json()["lora"] == {"rank": 64, "alpha": 16, "dropout": 0.1}
    assert plain.digest == "ceb61a94815e2f79c547841b319605d62cb64f6159b73cee86b196d257c650d1"
    chosen = FitSpec(lora=LoraShape(targets=("q_proj",)))
    assert chosen.digest != plain.digest
    for one in (plain, chosen, FitSpec()):
        assert FitSpec.from_json(json.loads(json.dumps(one.as_json()))) == one
