"""Each format read back by the library it is for: datasets, and TRL's trainers with a tiny Llama."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from lumos_queue.builds.build import build
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.prompts.dialogue import render
from tests.fake_endpoint import FakeEndpoint
from tests.stored_rows import run_embedded
from tests.tiny_model import make_tiny_model
from tests.wordmath_rows import read_training_rows

ROWS = 12


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with one build of each format."""
    folder = tmp_path_factory.mktemp("builds")
    rows = read_training_rows()
    run_embedded(folder, Convert("wordmath", rows.digest, "train", limit=ROWS), rows)[0].close()
    answers = {task.question: task.gold["answer"] for task in rows.tasks[:2]}
    for number, wrong in enumerate((False, True)):  # planners that say the same, grounders that do not

        def reply(prompt: str, wrong: bool = wrong) -> str:
            if "Should we stop" in prompt:
                return "Yes, I will stop planning."
            if "ground the given subgoal" not in prompt:
                return "Subgoal 1: Find the answer."
            answer = next(answer for question, answer in answers.items() if question in prompt)
            return f"R1 = Calculator({answer} + {int(wrong)})"

        with FakeEndpoint(reply) as server:
            agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
            job = Evaluate(Infer("wordmath", rows.digest, "train", "iterative", agent, limit=2, seed=number))
            database, _ = run_embedded(folder, job, rows)
    for format, where in (
        ("lumos", "origin=converted"),
        ("parquet", "origin=converted"),
        ("trl-sft", "origin=converted"),
        ("trl-preference", "origin=run"),
    ):
        options = BuildOptions(where, format, dev_share=0.0 if format == "trl-preference" else 0.3)
        build(stream_episodes(database, parse_where(where)), format, folder / format, options, KnownBenchmarks())
    database.close()
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model")
    make_tiny_model(folder, hidden=32, layers=1, context=4096)
    return str(folder)


def test_datasets_reads_the_parquet_folder_by_its_card(made, tmp_path):
    import datasets

    folder = str(made / "parquet")
    assert datasets.get_dataset_config_names(folder, cache_dir=str(tmp_path)) == [
        "grounder_iterative",
        "planner_iterative",
    ]
    loaded = datasets.load_dataset(folder, "planner_iterative", cache_dir=str(tmp_path))
    assert {name: part.num_rows for name, part in loaded.items()} == {
        split: _rows(made / "parquet", file)
        for split, file in (("train", "planner_iterative.parquet"), ("validation", "dev/planner_iterative.parquet"))
    }
    told = {
        one.id: [turn.content for turn in one.turns]
        for one in read_conversations(made / "lumos" / "planner_iterative.jsonl")
    }
    for row in loaded["train"]:
        assert [turn["content"] for turn in row["messages"]] == told[row["id"]]
        assert row["licence"] == "MIT" and row["module"] == "planner" and row["formulation"] == "iterative"
        assert json.loads(row["gold"])["answer"] == row["answer"] and row["question"] in row["messages"][0]["content"]
    assert loaded["train"].column_names == loaded["validation"].column_names


def test_datasets_reads_the_messages_of_the_lumos_format(made, tmp_path):
    import datasets

    loaded = datasets.load_dataset(str(made / "lumos"), "grounder_iterative", cache_dir=str(tmp_path))
    assert loaded["train"].num_rows == _rows(made / "lumos", "grounder_iterative.jsonl")
    assert {turn["role"] for turn in loaded["train"][0]["messages"]} == {"user", "assistant"}


def _rows(folder: Path, file: str) -> int:
    manifest = json.loads((folder / "manifest.json").read_text())
    return next(one["rows"] for one in manifest["files"] if one["file"] == file)


def test_trl_learns_each_reply_once_in_the_text_of_inference(made, model, tmp_path):
    import datasets
    import trl
    from transformers import AutoTokenizer

    rows = datasets.load_dataset(
        "json", data_files=str(made / "trl-sft" / "planner_iterative.jsonl"), split="train", cache_dir=str(tmp_path)
    )
    conversations = list(read_conversations(made / "lumos" / "planner_iterative.jsonl"))
    wanted = [
        (render(one.turns[:place], "train"), one.turns[place].content)
        for one in conversations
        for place in range(1, len(one.turns), 2)
    ]
    assert [(row["prompt"], row["completion"]) for row in rows] == wanted
    arguments = trl.SFTConfig(
        str(tmp_path / "sft"),
        max_steps=1,
        per_device_train_batch_size=2,
        use_cpu=True,
        report_to=[],
        max_length=4096,
        bf16=False,
        save_strategy="no",
    )
    trainer = trl.SFTTrainer(model, arguments, train_dataset=rows)
    tokenizer = AutoTokenizer.from_pretrained(model)
    batch = trainer.data_collator([trainer.train_dataset[0]])
    learnt = batch["labels"][0][batch["labels"][0] != -100]
    assert tokenizer.decode(learnt) == wanted[0][1] + "</s>"
    assert (
        tokenizer.decode(batch["input_ids"][0], skip_special_tokens=False).removeprefix("<s>").startswith(wanted[0][0])
    )
    assert trainer.train().training_loss > 0


def test_trl_prefers_the_chosen_reply(made, model, tmp_path):
    import datasets
    import trl

    rows = datasets.load_dataset(
        "json",
        data_files=str(made / "trl-preference" / "grounder_preference.jsonl"),
        split="train",
        cache_dir=str(tmp_path),
    )
    assert rows.num_rows == 2 and all(
        row["chosen"].endswith("+ 0)") and row["rejected"].endswith("+ 1)") for row in rows
    )
    arguments = trl.DPOConfig(
        str(tmp_path / "dpo"),
        max_steps=1,
        per_device_train_batch_size=2,
        use_cpu=True,
        report_to=[],
        max_length=4096,
        bf16=False,
        save_strategy="no",
    )
    trainer = trl.DPOTrainer(model, args=arguments, train_dataset=rows)
    assert trainer.train().training_loss == pytest.approx(0.693, abs=0.01)  # model and reference are still the same
