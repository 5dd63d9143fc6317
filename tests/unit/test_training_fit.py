"""Windows of optimizer steps: resumable, and the same weights however they are cut."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lumos_queue.errors import SpecError
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.training.batches import Batches
from lumos_queue.training.checkpoints import load_weights, read_checkpoint, save_checkpoint
from lumos_queue.training.fit import FitSpec, fit_window, load_tokenizer, make_optimizers, set_rates
from lumos_queue.training.masks import Example
from lumos_queue.training.model import ModelSpec, export, make_model
from lumos_queue.training.tokenizer import train_tokenizer

SHAPE = ModelSpec(hidden=32, layers=2, heads=2, feed_forward=48, positions=128)


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> FitSpec:
    """A tiny fit: forty conversations about adding."""
    folder = tmp_path_factory.mktemp("fit")
    rows = [
        Conversation(
            f"{'even' if number % 2 == 0 else 'odd'}/planner",
            str(number),
            (
                Turn("user", f"Add {number} and {'one ' * (number % 7)}{number + 1}."),
                Turn("assistant", f"It is {2 * number + 1}."),
            ),
        )
        for number in range(40)
    ]
    write_conversations(rows, folder / "rows.jsonl")
    train_tokenizer((row.text() for row in rows), 300, ["<|user|>\n", "\n<|assistant|>\n"]).save_pretrained(
        folder / "t"
    )
    return FitSpec(
        data=(str(folder / "rows.jsonl"),),
        tokenizer=str(folder / "t"),
        steps=10,
        window=5,
        tokens=200,
        model=SHAPE,
        warm_up=2,
        shares={"even/": 0.75, "odd/": 0.25},
        prompt_weight=0.1,
        dropout=0.1,
    )


def weights(checkpoint: Path) -> bytes:
    return (checkpoint / "model.safetensors").read_bytes()


def test_two_windows_of_five_steps_give_the_weights_of_one_of_ten_bit_for_bit(spec, tmp_path):
    whole = fit_window(spec, 0, 10, None, tmp_path / "whole")
    half = fit_window(spec, 0, 5, None, tmp_path / "halves")
    rest = fit_window(spec, 5, 10, half.path, tmp_path / "halves")
    assert weights(rest.path) == weights(whole.path)
    assert weights(half.path) != weights(whole.path)
    assert rest.tokens + half.tokens == whole.tokens


def test_a_window_that_is_run_again_replaces_its_checkpoint_by_the_same_one(spec, tmp_path):
    first = fit_window(spec, 0, 3, None, tmp_path)
    before = weights(first.path)
    torch.manual_seed(99)  # whatever ran in between
    assert weights(fit_window(spec, 0, 3, None, tmp_path).path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["step-000003"]


def test_a_fit_learns_and_reports_the_loss_of_the_replies(spec, tmp_path):
    long = replace(spec, steps=60, window=30, dropout=0.0)
    first = fit_window(long, 0, 30, None, tmp_path)
    second = fit_window(long, 30, 60, first.path, tmp_path)
    assert second.loss < first.loss - 0.5
    assert second.tokens_per_second > 0


def test_a_checkpoint_of_another_step_or_spec_is_refused(spec, tmp_path):
    done = fit_window(spec, 0, 2, None, tmp_path)
    with pytest.raises(SpecError, match="step 2"):
        fit_window(spec, 5, 10, done.path, tmp_path)
    with pytest.raises(SpecError, match="step 2"):
        fit_window(replace(spec, seed=1), 2, 4, done.path, tmp_path)
    with pytest.raises(SpecError, match="needs the checkpoint"):
        fit_window(spec, 5, 10, None, tmp_path)
    with pytest.raises(SpecError, match="not a checkpoint"):
        read_checkpoint(tmp_path)


def test_a_failed_save_leaves_nothing_behind_and_keeps_the_old_checkpoint(spec, tmp_path):
    done = fit_window(spec, 0, 1, None, tmp_path)
    before = weights(done.path)
    model = make_model(SHAPE, load_tokenizer(spec.tokenizer), 1)

    class Broken:
        def state_dict(self):
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        save_checkpoint(done, model, [Broken()])
    assert weights(done.path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_a_pickle_in_place_of_the_optimizer_state_is_not_run(spec, tmp_path):
    done = fit_window(spec, 0, 1, None, tmp_path)
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return (Path.touch, (ran,))

    torch.save([Evil()], done.path / "optimizer.pt")
    with pytest.raises(Exception, match=r"[Ww]eights.only"):
        fit_window(spec, 1, 2, done.path, tmp_path)
    assert not ran.exists()


def test_a_spec_survives_json_and_its_digest_follows_every_field(spec):
    again = FitSpec.from_json(json.loads(json.dumps(spec.as_json())))
    assert again == spec
    assert again.digest == spec.digest
    assert replace(spec, seed=5).digest != spec.digest
    assert replace(spec, model=replace(SHAPE, layers=3)).digest != spec.digest


def test_the_windows_cover_every_step_once():
    spec = FitSpec(data=(), tokenizer="", steps=11, window=4)
    assert spec.windows() == [(0, 4), (4, 8), (8, 11)]


def test_the_rates_rise_stay_and_fall_to_nearly_nought(spec):
    plan = replace(spec, steps=100, warm_up=10, decay=0.5)
    optimizers = make_optimizers(plan, make_model(SHAPE, load_tokenizer(spec.tokenizer), 1))
    rates = []
    for step in range(100):
        set_rates(plan, optimizers, step)
        rates.append(optimizers[0].param_groups[0]["lr"])
    assert rates[0] == pytest.approx(plan.matrix_rate / 10)
    assert rates[9] == rates[49] == plan.matrix_rate
    assert rates[75] == pytest.approx(plan.matrix_rate / 2)
    assert 0 < rates[99] < plan.matrix_rate / 40


def test_every_weight_has_exactly_one_optimizer(spec):
    model = make_model(SHAPE, load_tokenizer(spec.tokenizer), 1)
    held = Counter(
        id(value) for one in make_optimizers(spec, model) for group in one.param_groups for value in group["params"]
    )
    assert held == Counter(id(value) for value in model.parameters())


def examples(count: int) -> list[Example]:
    return [
        Example(np.arange(5 + number % 30, dtype=np.int32), np.ones(5 + number % 30, bool)) for number in range(count)
    ]


def test_a_steps_batch_depends_on_seed_and_step_alone():
    one, other = (Batches(examples(90), ["a"] * 90, {}, 120) for _ in range(2))
    drawn = [tuple(map(id, one.draw(3, step))) for step in range(20)]
    assert len(set(drawn)) > 15
    for step in reversed(range(20)):
        assert [example.ids.tolist() for example in other.draw(3, step)] == [
            example.ids.tolist() for example in one.draw(3, step)
        ]


def test_a_batch_holds_no_more_tokens_than_asked_for_padding_included():
    batches = Batches(examples(90), ["a"] * 90, {}, 120)
    for step in range(50):
        drawn = batches.draw(0, step)
        assert len(drawn) * max(len(example.ids) for example in drawn) <= 120
    assert len(Batches(examples(90), ["a"] * 90, {}, 1).draw(0, 0)) == 1


def test_data_sets_get_their_shares_of_the_tokens():
    names = ["big"] * 600 + ["small"] * 60
    batches = Batches(examples(660), names, {"big": 0.25, "small": 0.75}, 400)
    owner = {id(example): name for example, name in zip(batches.examples, names, strict=True)}
    tokens = Counter()
    for step in range(400):
        for example in batches.draw(1, step):
            tokens[owner[id(example)]] += len(example.ids)
    assert tokens["small"] / sum(tokens.values()) == pytest.approx(0.75, abs=0.03)


def test_a_data_set_without_a_share_and_no_data_at_all_are_refused():
    with pytest.raises(SpecError, match="'other'"):
        Batches(examples(2), ["a", "other"], {"a": 1.0}, 100)
    with pytest.raises(SpecError, match="no conversations"):
        Batches([], [], {}, 100)


def test_an_exported_model_is_loaded_by_transformers_and_computes_the_same(spec, tmp_path):
    tokenizer = load_tokenizer(spec.tokenizer)
    done = fit_window(spec, 0, 3, None, tmp_path / "c")
    model = make_model(SHAPE, tokenizer, 0)
    load_weights(done.path, model)
    export(model, tokenizer, tmp_path / "out")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float32)
    assert AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab() == tokenizer.get_vocab()
    ids = torch.tensor([tokenizer("Add 3 and 4.")["input_ids"]])
    with torch.no_grad():
        difference = (loaded(ids).logits - model.eval()(ids).logits).abs().max()
    assert difference < 0.1  # the weights were rounded to bfloat16
    assert loaded.generation_config.eos_token_id == tokenizer.eos_token_id
    assert loaded.generation_config.do_sample is False
    with pytest.raises(SpecError, match="another shape"):
        load_weights(tmp_path / "out", make_model(replace(SHAPE, layers=1), tokenizer, 0))
