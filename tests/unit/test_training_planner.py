"""The preset `planner`: a small model that learns plans of experts by heart, and writes each name as one token."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.errors import SpecError
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn, render
from lumos_queue.training.engine.spec import FP32
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.sft import Sft, sft

LABELLED = tasks_of("labelled")


@pytest.fixture
def build(tmp_path) -> Path:
    """The labelled tasks, as `lumos dataset build` writes them."""
    (folder := tmp_path / "plans").mkdir()
    rows = [
        Conversation(
            "experts", f"openagi/{one.id}", (Turn("user", one.description), Turn("assistant", one.plan.write()))
        )
        for one in LABELLED
    ]
    write_conversations(rows, folder / "planner_model-synthesis.jsonl")
    return folder


def recipe(build: Path, folder: Path, **values) -> Sft:
    return sft([build], "scratch", folder, "model-synthesis", preset="planner", **values)


def carry_out(made: Sft) -> Path:
    for window in made.windows():
        run_item(made, window)
    return Path(made.folder) / "export"


def test_the_fit_is_one_window_of_a_small_model(build, tmp_path):
    made = recipe(build, tmp_path / "fit")
    assert made.windows() == [{"do": "prepare"}, {"do": "fit", "start": 0, "stop": 200}, {"do": "export"}]
    assert (made.fit.threads, made.fit.precision, made.fit.prompt_weight) == (1, FP32, 0.0)


def test_names_are_tokens_and_what_the_tasks_do_not_say_can_be_written(build, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = carry_out(recipe(build, tmp_path / "fit", steps=2))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert 0.3e6 < sum(one.numel() for one in model.parameters()) < 0.4e6
    assert "Text Generation" in PLANNABLE, "no task needs it, so that it stands in no plan of the build"
    for name in PLANNABLE:
        ids = tokenizer(f"(){name},", add_special_tokens=False)["input_ids"]
        assert [tokenizer.decode([one]) for one in ids] == ["(", ")", name, ","]
    for text in ("Given clozed English text, how to return the sentiment in English?", "Zürich 北京 🙂"):
        assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) == text


def test_only_plans_of_experts_bring_their_names():
    from lumos_queue.training.scratch import symbols

    assert symbols("model-synthesis") == (*PLANNABLE, "(", ")", ",")
    assert symbols("iterative") == symbols("no such formulation") == ()


def test_an_unknown_preset_is_refused_in_one_line(build, tmp_path):
    with pytest.raises(SpecError, match=r"No preset called 'planer'. .*planner"):
        sft([build], "scratch", tmp_path / "fit", "model-synthesis", preset="planer")


@pytest.mark.long
def test_the_labelled_tasks_are_learnt_by_heart(build, tmp_path):
    """And many that it was not shown are planned as gold plans them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = carry_out(recipe(build, tmp_path / "fit"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)

    def plan(description: str) -> str:
        ids = tokenizer(render([Turn("user", description)], "train"), return_tensors="pt")["input_ids"]
        done = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=40, do_sample=False)
        return tokenizer.decode(done[0][ids.shape[1] :], skip_special_tokens=True)

    assert all(plan(one.description) == one.plan.write() for one in LABELLED)
    assert sum(plan(one.description) == one.plan.write() for one in tasks_of("heldout")) >= 10
