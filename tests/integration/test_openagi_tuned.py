"""Figures of planners that were fitted here, in OpenAGI's tables: told by who wrote their weights."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from db.engine.connection import open_database
from db.models import JobRow
from db.queries.jobs import get_job
from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.cli.main import app
from lumos_queue.papers.openagi_results import PLANNER_TABLES
from lumos_queue.papers.tuned_planners import TunedPlanners
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.settings import Settings
from tests.integration.test_openagi_tables import shown, weights
from tests.tiny_flan_t5 import make_tiny_flan_t5

__all__ = ["weights"]  # pytest finds the fixture here
FINE_TUNED, RLTF = "openagi-2/Flan-T5-Large-fine-tuned", "openagi-2/Flan-T5-Large-RLTF"


def run(home, *command: str) -> dict:
    done = CliRunner().invoke(app, [*command, "--json"], env={"LUMOS_HOME": str(home)})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


def fit(home, name: str, start: str, *more: str) -> str:
    """A job of the recipe sft over three labelled tasks; returns its id."""
    tasks = tasks_of("labelled")[:3]
    turns = [(Turn("user", one.description), Turn("assistant", one.plan.write())) for one in tasks]
    rows = [Conversation("experts", f"openagi/{one.id}", pair) for one, pair in zip(tasks, turns, strict=True)]
    write_conversations(rows, home / "rows.jsonl")
    command = [
        "train",
        "sft",
        "--data",
        str(home / "rows.jsonl"),
        "--from",
        start,
        "--formulation",
        "model-synthesis",
        "--folder",
        str(home / name),
        "--steps",
        "1",
        "--device",
        "cpu",
    ]
    return run(home, *command, *more)["job"]


def evaluate(home, planner: str, schema: str = "fine-tuning") -> str:
    return run(
        home,
        "evaluate",
        "openagi",
        "--split",
        "heldout",
        "--formulation",
        "model-synthesis",
        "--planner",
        planner,
        "--tool",
        "experts=oracle",
        "--option",
        "samples=1",
        "--max-tokens",
        "8",
        "--setting",
        f"schema={schema}",
    )["job"]


@pytest.mark.long
def test_a_planner_counts_as_what_wrote_its_weights(tmp_path, weights):
    job = fit(tmp_path, "small", "scratch", "--preset", "planner")
    (tmp_path / "rules.json").write_text(json.dumps([{"contains": "", "reply": "Image Denoising,"}]))
    evaluate(tmp_path, f"scripted:{tmp_path / 'rules.json'}")
    for row in (FINE_TUNED, RLTF):
        assert all("never released" in one["status"] and "ours" not in one for one in shown(tmp_path, row)), "unknown"
    done = evaluate(tmp_path, f"local:{tmp_path / 'small' / 'export'}")
    found = {one["column"]: one for one in shown(tmp_path, FINE_TUNED)}
    assert {one["ours"]["job"] for one in found.values()} == {done} and {*found} == {"CLIP", "BERT", "ViT", "overall"}
    assert "other weights: planner is fitted from random weights, not Flan-T5-Large" in found["ViT"]["status"]
    assert all("ours" not in one for one in shown(tmp_path, RLTF)), "supervised only"
    with closing(open_database(Settings(home=tmp_path).database)) as database, database.engine.begin() as connection:
        spec = get_job(connection, job).spec
        connection.execute(update(JobRow).where(JobRow.id == job).values(spec=spec | {"recipe": "rltf"}))
    assert all(one["ours"]["job"] == done for one in shown(tmp_path, RLTF))
    assert all("ours" not in one for one in shown(tmp_path, FINE_TUNED))


@pytest.mark.long
def test_the_base_of_a_fit_of_a_fit_is_the_first_one(tmp_path):
    """Adapters of a T5 that is called as in the paper, and a fit of those weights: both began with Flan-T5-Large."""
    base = make_tiny_flan_t5(
        tmp_path / "flan-t5-large", [one.description + one.plan.write() for one in tasks_of("labelled")]
    )
    fit(tmp_path, "one", str(base), "--preset", "paper", "--precision", "fp32")
    fit(tmp_path, "two", str(tmp_path / "one" / "export"), "--preset", "flan-t5-large", "--precision", "fp32")
    found = {"agent": {"roles": {"planner": f"local:{tmp_path / 'two' / 'export'}"}, "weights": {}}}
    with closing(open_database(Settings(home=tmp_path).database)) as database, database.engine.connect() as connection:
        tuned = TunedPlanners.of(connection).find(Stored(found), "planner")
    assert tuned is not None and (tuned.way, tuned.base) == ("fine-tuned", "flan-t5-large")


class Stored:
    """An evaluation, as far as its planner is looked up."""

    def __init__(self, infer: dict):
        self.infer = infer


@pytest.mark.parametrize("key", ["openagi-2", "openagi-4"])
def test_open_planners_have_a_row_for_each_schema(key):
    schemas = {"openagi-2": ["zero-shot", "few-shot", "fine-tuned", "RLTF"], "openagi-4": ["prompt-1", "prompt-2"]}
    rows = [(row.model, row.schema) for row in PLANNER_TABLES[key].rows]
    assert rows == [(model, one) for model in ("Flan-T5-Large", "Vicuna-7B", "LLaMA-2-13B") for one in schemas[key]]
