"""Training on builds: what is read, what is refused, and that it goes on from the weights it was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.errors import SpecError
from lumos_queue.jobs.train import Train
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.settings import Settings
from lumos_queue.training.model import ModelSpec, export, make_model
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.sft import Sft, files_of, find_data, sft
from lumos_queue.training.recipes.starter import Starter
from lumos_queue.training.shape import shape_of
from lumos_queue.training.tokenizer import train_tokenizer

SHAPE = ModelSpec(hidden=32, layers=2, heads=2, feed_forward=48, positions=64)


def conversation(number: int, text: str = "") -> Conversation:
    asked = Turn("user", text or f"Add {number} and {number + 1}.")
    return Conversation("sums/iterative/planner", f"sums/{number}", (asked, Turn("assistant", f"It is {number}.")))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A folder with a model of random weights and its tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    phrases = ["<|user|>\n", "\n<|assistant|>\n"]
    tokenizer = train_tokenizer((conversation(number).text() for number in range(60)), 300, phrases)
    export(make_model(SHAPE, tokenizer, 3), tokenizer, folder)
    return folder


@pytest.fixture
def build(tmp_path) -> Path:
    """A build with planner and grounder rows, rows of another formulation, and a part kept for development."""
    folder = tmp_path / "build"
    (folder / "dev").mkdir(parents=True)
    rows = [conversation(number) for number in range(40)]
    write_conversations(rows[:30], folder / "planner_iterative.jsonl")
    write_conversations(rows[:20], folder / "grounder_iterative.jsonl")
    write_conversations(rows[:10], folder / "planner_one-pass.jsonl")
    write_conversations(rows[30:], folder / "dev" / "planner_iterative.jsonl")
    return folder


def recipe(build: Path, model: Path, folder: Path, **numbers) -> Sft:
    return sft([build], str(model), folder, "iterative", **{"steps": 6, "window": 4, **numbers})


def test_a_jobs_json_form_comes_back_as_the_same_job(build, model, tmp_path):
    one = Train(recipe(build, model, tmp_path / "fit"))
    assert Train.from_json(json.loads(json.dumps(one.as_json()))) == one
    # As jobs of earlier versions are stored.
    stored = {"recipe": "starter", "data": "/d", "folder": "/f", "steps": 5, "one_pass_steps": 2, "window": 2,
              "generated": 9}  # fmt: skip
    assert Train.from_json(stored) == Train(Starter("/d", "/f", 5, 2, 2, 9))
    assert Train.from_json(stored).as_json() == stored
    with pytest.raises(SpecError, match=r"'magic'.*sft, starter"):
        Train.from_json({"recipe": "magic"})


def test_the_items_are_a_preparation_the_windows_and_an_export(build, model, tmp_path):
    assert recipe(build, model, tmp_path / "fit").windows() == [
        {"do": "prepare"},
        {"do": "fit", "start": 0, "stop": 4},
        {"do": "fit", "start": 4, "stop": 6},
        {"do": "export"},
    ]


def test_only_the_files_of_the_formulation_are_read_and_a_build_given_twice_counts_twice(build, model, tmp_path):
    once = recipe(build, model, tmp_path / "once")
    assert run_item(once, {"do": "prepare"}).output["counts"] == {
        "dev: build/planner_iterative.jsonl": 10,
        "dev: tokens": 190,
        "train: build/grounder_iterative.jsonl": 20,
        "train: build/planner_iterative.jsonl": 30,
        "train: tokens": pytest.approx(1000, rel=0.3),
    }
    twice = sft([build, build], str(model), tmp_path / "twice", "iterative", steps=6, window=4)
    assert run_item(twice, {"do": "prepare"}).output["counts"]["train: build/planner_iterative.jsonl"] == 60


def test_conversations_that_the_model_cannot_hold_are_counted_and_left_out(build, model, tmp_path):
    rows = [conversation(1), conversation(2, "Add. " * 100), conversation(3, "An answer ends in </s> here.")]
    write_conversations(rows, build / "planner_iterative.jsonl")
    made = recipe(build, model, tmp_path / "fit")
    counts = run_item(made, {"do": "prepare"}).output["counts"]
    assert counts["train: build/planner_iterative.jsonl"] == 1
    assert counts["refused, longer than 64 tokens"] == 1
    assert counts["refused, </s> in its text"] == 1
    assert len((tmp_path / "fit" / "train.jsonl").read_text().splitlines()) == 21


def test_a_bad_row_is_named_with_its_file(build, model, tmp_path):
    with (build / "grounder_iterative.jsonl").open("a") as file:
        file.write('{"prompt": "a", "completion": "b"}\n')
    with pytest.raises(SpecError, match=r"grounder_iterative\.jsonl: row 21, field 'messages'"):
        run_item(recipe(build, model, tmp_path / "fit"), {"do": "prepare"})


def test_what_is_not_there_is_named(build, model, tmp_path):
    with pytest.raises(SpecError, match="no build 'nonesuch'"):
        find_data(Settings(home=tmp_path), "nonesuch")
    with pytest.raises(SpecError, match=r"'cot'.*planner_iterative\.jsonl"):
        sft([build], str(model), tmp_path / "fit", "cot", steps=1, window=1)
    (build / "cot.jsonl").write_text(conversation(1).as_json() + "\n")
    assert files_of(build, "cot") == [build / "cot.jsonl"]
    with pytest.raises(SpecError, match="No folder"):
        recipe(build, tmp_path / "no-model", tmp_path / "fit")


def test_a_build_that_changed_after_the_job_was_asked_for_is_refused(build, model, tmp_path):
    made = recipe(build, model, tmp_path / "fit")
    write_conversations([conversation(5)], build / "planner_iterative.jsonl")
    with pytest.raises(SpecError, match="changed"):
        run_item(made, {"do": "prepare"})
    assert not (tmp_path / "fit").exists()
    assert recipe(build, model, tmp_path / "fit").content != made.content


def test_a_folder_that_holds_something_else_is_refused_and_the_same_request_may_go_on(build, model, tmp_path):
    run_item(recipe(build, model, tmp_path / "fit"), {"do": "prepare"})
    run_item(recipe(build, model, tmp_path / "fit"), {"do": "prepare"})
    with pytest.raises(SpecError, match="something else"):
        recipe(build, model, tmp_path / "fit", seed=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(SpecError, match="something else"):
        recipe(build, model, tmp_path / "full")
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match="something else"):
        recipe(build, model, tmp_path / "file")


def test_the_fit_goes_on_from_the_model_it_was_given_and_learns(build, model, tmp_path):
    made = recipe(build, model, tmp_path / "fit", steps=40, window=20, rate=0.02)
    first, second, third, last = [run_item(made, window).output for window in made.windows()]
    assert set(first) == {"counts"}
    assert third["dev_loss"] < second["dev_loss"] < second["dev_loss_before"]
    assert "dev_loss_before" not in third
    exported = Path(last["model"].removeprefix("local:"))
    check_folder(exported)
    assert shape_of(exported) == SHAPE
    assert str(tmp_path) not in (exported / "made-from.json").read_text()
    assert json.loads((exported / "made-from.json").read_text())["content"] == made.content
    still = recipe(build, model, tmp_path / "still", steps=1, window=1, rate=1e-6)
    for window in still.windows():
        run_item(still, window)
    begun, left = (load_file(folder / "model.safetensors") for folder in (model, tmp_path / "still" / "export"))
    assert all((begun[name] - left[name]).abs().max() < 1e-3 for name in begun)


def test_a_model_of_another_kind_is_refused_by_name(model, tmp_path):
    for path in model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_key_value_heads": 1}))
    with pytest.raises(SpecError, match="num_key_value_heads is 1, not 2"):
        shape_of(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SpecError, match="does not describe a Llama"):
        shape_of(tmp_path)
