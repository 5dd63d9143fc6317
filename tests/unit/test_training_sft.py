"""Training on builds: what is read, what is refused, and that it goes on from the weights it was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.endpoints.model_folder import check_folder, identity
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.jobs.train import Train
from lumos_queue.models.merge import merge_adapter
from lumos_queue.prompts.conversations import Conversation, read_conversations, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.settings import Settings
from lumos_queue.training.engine.spec import BF16, FP32, LoraShape, ModelShape
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.sft import REQUEST, Sft, files_of, find_data, sft
from lumos_queue.training.recipes.starter import Starter

SHAPE = ModelShape(hidden=32, layers=2, heads=2, feed_forward=48, positions=64)


def conversation(number: int, text: str = "") -> Conversation:
    asked = Turn("user", text or f"Add {number} and {number + 1}.")
    return Conversation("sums/iterative/planner", f"sums/{number}", (asked, Turn("assistant", f"It is {number}.")))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A folder with a model of random weights and its tokenizer."""
    from lumos_queue.training.engine.export import save_model
    from lumos_queue.training.engine.model import make_model
    from lumos_queue.training.tokenizer import train_tokenizer

    folder = tmp_path_factory.mktemp("model")
    phrases = ["<|user|>\n", "\n<|assistant|>\n"]
    tokenizer = train_tokenizer((conversation(number).text() for number in range(60)), 300, phrases)
    save_model(make_model(SHAPE, tokenizer, 3), tokenizer, folder)
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
    return sft([build], str(model), folder, "iterative", **{"preset": "scratch", "steps": 6, "window": 4, **numbers})


def test_a_jobs_json_form_comes_back_as_the_same_job(build, model, tmp_path):
    one = Train(recipe(build, model, tmp_path / "fit"))
    assert Train.from_json(json.loads(json.dumps(one.as_json()))) == one
    starter = Train(Starter("/d", "/f", steps=5, window=2, fits=("iterative",)))
    assert Train.from_json(json.loads(json.dumps(starter.as_json()))) == starter
    with pytest.raises(SpecError, match=r"'magic'.*sft, starter"):
        Train.from_json({"recipe": "magic"})


def test_the_items_are_a_preparation_the_windows_and_an_export(build, model, tmp_path):
    assert recipe(build, model, tmp_path / "fit").windows() == [
        {"do": "prepare"},
        {"do": "fit", "start": 0, "stop": 4},
        {"do": "fit", "start": 4, "stop": 6},
        {"do": "export"},
    ]


def counts_of(recipe: Sft) -> dict[str, int]:
    return run_item(recipe, {"do": "prepare"}).output["counts"]


def test_only_the_files_of_the_formulation_are_read_and_a_build_given_twice_counts_twice(build, model, tmp_path):
    counts = counts_of(recipe(build, model, tmp_path / "once"))
    assert counts["dev: build/planner_iterative.jsonl"] == counts["dev: conversations"] == 10
    assert counts["train: build/grounder_iterative.jsonl"] == 20
    assert counts["train: build/planner_iterative.jsonl"] == 30
    assert counts["train: conversations"] == 50
    assert counts["train: tokens"] > counts["train: learnt tokens"] > 50 * 4
    twice = sft([build, build], str(model), tmp_path / "twice", "iterative", steps=6, window=4)
    assert counts_of(twice)["train: build/planner_iterative.jsonl"] == 60


def test_one_module_learns_its_own_conversations_alone(build, model, tmp_path):
    planner = recipe(build, model, tmp_path / "planner", module="planner")
    assert planner.conversations == 30 and "train: build/grounder_iterative.jsonl" not in counts_of(planner)
    with pytest.raises(SpecError, match="the grounder of 'one-pass'"):
        sft([build], str(model), tmp_path / "g", "one-pass", module="grounder")
    with pytest.raises(SpecError, match="No module called 'solver'"):
        recipe(build, model, tmp_path / "s", module="solver")


def test_conversations_that_are_cut_off_or_left_out_are_counted(build, model, tmp_path):
    long = conversation(2, "Add. " * 100)
    after = Conversation(long.dataset, "4", (*conversation(1).turns, *long.turns))
    rows = [conversation(1), long, conversation(3, "An answer ends in </s> here."), after]
    write_conversations(rows, build / "planner_iterative.jsonl")
    counts = counts_of(recipe(build, model, tmp_path / "fit", max_length=64))
    assert counts["train: build/planner_iterative.jsonl"] == 2
    assert counts["train: left out, no reply within 64 tokens"] == 1
    assert counts["train: left out, </s> in its text"] == 1
    assert counts["train: cut off at 64 tokens"] == 1
    assert counts["train: conversations"] == 22


def test_single_replies_are_learnt_alone_and_an_end_token_within_them_leaves_them_out(model, tmp_path):
    """As a tool agent's builds have them: a system's turn and earlier replies are of the prompt."""
    from transformers import AutoTokenizer

    from lumos_queue.training.engine.masks import encode

    prompt = (
        "<|system|>\nAdd numbers.\n<|user|>\nAdd 1 and 2.\n<|assistant|>\nIt is 4.</s>\n<|user|>\nNo.\n<|assistant|>\n"
    )
    replies = ("It is 3. ", "It is 3.</s> Or 4.")
    rows = [{"prompt": prompt, "completion": one} for one in replies]
    build = tmp_path / "build"
    build.mkdir()
    (build / "policy_react.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    one = sft([build], str(model), tmp_path / "fit", "react", preset="scratch", steps=2)
    counts = counts_of(one)
    assert counts["train: conversations"] == 1 and counts["train: left out, </s> in its text"] == 1
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "fit" / "tokenizer")
    (first, second) = read_conversations(build / "policy_react.jsonl")
    assert first.text() == f"{prompt}It is 3.</s>" and json.loads(second.as_json()) == rows[1]
    example, _ = encode(first, tokenizer, 64)
    assert example is not None and tokenizer.decode(example.ids[example.learnt]) == "It is 3.</s>"
    assert example.ids[~example.learnt].tolist() == tokenizer(prompt)["input_ids"]


@pytest.mark.parametrize(
    "row", [{"completion": "a"}, {"prompt": " ", "completion": "a"}, {"prompt": "a", "completion": 1}]
)
def test_a_single_reply_without_a_prompt_or_a_text_is_refused(row, tmp_path):
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    with pytest.raises(BadRow, match="expected a text"):
        list(read_conversations(tmp_path / "rows.jsonl"))


def test_fewer_conversations_than_were_submitted_leave_windows_with_nothing_to_do(build, model, tmp_path):
    rows = [conversation(1)] * 3 + [conversation(3, "An answer ends in </s> here.")] * 97
    write_conversations(rows, build / "planner_iterative.jsonl")
    (build / "grounder_iterative.jsonl").unlink()
    made = recipe(build, model, tmp_path / "fit", steps=0, epochs=2, batch=4, window=10)
    windows = made.windows()
    assert [window.get("stop") for window in windows] == [None, 10, 20, 30, 40, 50, None]
    done = [run_item(made, window).output for window in windows]
    assert [one.get("step") for one in done[1:4]] == [2, 2, 2] and "no steps are left" in done[2]["note"]
    check_folder(Path(done[-1]["model"].removeprefix("local:")))


def test_a_bad_row_is_named_with_its_file(build, model, tmp_path):
    with (build / "grounder_iterative.jsonl").open("a") as file:
        file.write('{"prompt": "a", "chosen": "b"}\n')
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
    assert recipe(build, model, tmp_path / "fit").fit.content != made.fit.content


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
    from safetensors.torch import load_file

    made = recipe(build, model, tmp_path / "fit", steps=40, window=20, rate=0.02)
    first, second, third, last = [run_item(made, window) for window in made.windows()]
    assert set(first.output) == {"counts", "estimate"}
    assert third.output["dev_loss"] < second.output["dev_loss"]
    assert [step.step for step in (*second.steps, *third.steps)] == list(range(1, 41))
    exported = Path(last.output["model"].removeprefix("local:"))
    check_folder(exported)
    assert (last.models[0].kind, last.models[0].builds) == ("full", ("build",))
    assert last.models[0].digest == identity(exported)["sha256"]
    assert last.models[0].base == identity(model)["sha256"]
    told = (exported / "made-from.json").read_text()
    assert str(tmp_path) not in told and json.loads(told)["fit"]["content"] == made.fit.content
    still = recipe(build, model, tmp_path / "still", steps=1, window=1, rate=1e-6)
    for window in still.windows():
        run_item(still, window)
    begun, left = (load_file(folder / "model.safetensors") for folder in (model, tmp_path / "still" / "export"))
    assert all((begun[name] - left[name]).abs().max() < 1e-3 for name in begun)


def test_adapters_are_trained_and_exported_with_their_base_named(build, model, tmp_path):
    made = recipe(build, model, tmp_path / "fit", preset="lora", steps=4, window=4, batch=8, lora=LoraShape(rank=2))
    assert made.fit.rate == 1e-4
    exported = [run_item(made, window) for window in made.windows()][-1].models[0]
    assert exported.kind == "adapter" and exported.bytes < 60_000
    folder = Path(exported.path)
    assert json.loads((folder / "made-from.json").read_text())["base"] == {
        "name": model.name,
        "sha256": identity(model)["sha256"],
    }
    assert str(tmp_path) not in (folder / "adapter_config.json").read_text()
    check_folder(merge_adapter(model, folder, tmp_path / "merged"))


def test_the_preset_follows_from_the_start_and_every_value_can_be_given(build, model, tmp_path):
    def fit(start, **values):
        return sft([build], start, tmp_path / "x", "iterative", **values).fit

    paper = fit(str(model))
    assert (paper.epochs, paper.batch, paper.rate, paper.warm_up, paper.max_length) == (2, 128, 2e-5, 0.03, 1024)
    assert (paper.weight_decay, paper.dropout, paper.prompt_weight, paper.lora) == (0, 0, 0, None)
    lora = fit(str(model), preset="lora").lora
    assert (lora.rank, lora.alpha, lora.dropout) == (64, 16, 0.1)
    assert fit("scratch").optimizer == fit("starter").optimizer == "muon"
    assert fit("scratch").rate == 0.02 and fit("starter").rate == 0.005
    assert (fit("scratch", rate=0.01).rate, fit("scratch", rate=0.01).other_rate) == (0.01, 0.002)
    assert (fit(str(model), batch=6).batch, fit(str(model), batch=6).micro_batch) == (6, 6)
    assert fit(str(model), batch=100).micro_batch == 5
    with pytest.raises(SpecError, match="No preset called 'big'"):
        fit(str(model), preset="big")


def test_a_fit_on_a_cpu_is_in_float32_unless_a_precision_is_given(build, model, tmp_path):
    def precision(**values) -> str:
        return sft([build], str(model), tmp_path / "x", "iterative", **values).fit.precision

    assert precision(cpu_precision=BF16) == BF16  # as measured on this machine
    assert (
        precision(cpu_precision=BF16, device="cuda") == BF16 and precision(cpu_precision=BF16, precision=FP32) == FP32
    )
    assert precision(preset="tools", cpu_precision=BF16) == FP32
    for preset in ("paper", "lora", "scratch"):
        assert precision(preset=preset) == precision(preset=preset, device="cpu") == FP32
        assert precision(preset=preset, device="cuda") == BF16
        assert precision(preset=preset, precision=BF16) == BF16
    assert precision(preset="tools", device="cuda") == FP32


def test_a_stored_fit_keeps_its_precision(build, model, tmp_path):
    begun = sft([build], str(model), tmp_path / "x", "iterative", precision=BF16)
    assert Sft.from_json(begun.as_json()).fit.precision == BF16
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / REQUEST).write_text(json.dumps(begun.as_json()))
    assert sft([build], str(model), tmp_path / "x", "iterative") == begun  # the same command, as of an earlier version
    with pytest.raises(SpecError, match="holds something else"):
        sft([build], str(model), tmp_path / "x", "iterative", precision=FP32)
    starter = Starter("/d", "/f", precision=FP32).as_json()
    assert {fit.precision for fit in Starter.from_json(starter).specs().values()} == {FP32}
    del starter["precision"]  # as jobs of earlier versions
    assert {fit.precision for fit in Starter.from_json(starter).specs().values()} == {BF16}


def test_an_empty_build_is_refused(build, model, tmp_path):
    for path in build.glob("*_iterative.jsonl"):
        path.write_text("\n")
    with pytest.raises(SpecError, match="no conversations for iterative"):
        recipe(build, model, tmp_path / "fit")
