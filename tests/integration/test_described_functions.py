"""Descriptions of functions from a stored run on: exported files, rows to train on, trained models, and papers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from db.engine.connection import Database
from db.queries.filters import Filter, Term
from db.queries.jobs import get_job
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.tool_matching import ToolEvaluation
from lumos_queue.papers.tool_results import TOOL_TABLES
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import find_form
from lumos_queue.prompts.tool_agent import NATIVE_POLICY, NATIVE_ROUTER
from lumos_queue.records import Completion, Task
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.searches.answer_export import export_answer_files
from lumos_queue.training.engine.spec import ModelShape
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.sft import sft
from tests.described_api import API, CALL, FUNDS, PLAIN, RECORD
from tests.integration.made_builds import make, rows_in
from tests.integration.test_answer_files import infer
from tests.tool_apis import record
from tests.tool_scripts import call, finish, give_up

SYMBOL, DESK = "Symbol of the fund, as its exchange writes it", "Prices and holdings of funds, a day late."
GIVEN = {
    "react": {"policy": [CALL, finish("Ombry Growth")]},
    "dfsdt": {"policy": [CALL, give_up(), call(FUNDS, "again", symbolid="QX7", kind="fund"), finish("Ombry Growth")]},
    "sum2act": {"router": [CALL, finish("Ombry Growth")], "state_manager": [RECORD]},
    "rewoo": {"planner": [f'Plan: look it up\n#E1 = {FUNDS} {{"symbolid": "QX7"}}'], "solver": ["Ombry Growth"]},
}
TEXT = {"yes": {}, "no": {"descriptions": "no"}}
OPTIONS: dict[str, Any] = {"format": "trl-sft", "formulations": tuple(GIVEN)}


def played(folder: Path, formulation: str, settings: dict[str, str]) -> tuple[Database, str, StoredEpisode]:
    """A stored run about an API with descriptions."""
    folder.mkdir(exist_ok=True)
    names = {"category": "Finance", "tool": "Market Desk"}
    answers = [
        record("Funds", arguments, "Ombry Growth") | names
        for arguments in ({"symbolid": "QX7"}, {"symbolid": "QX7", "kind": "fund"})
    ]
    inputs = {"functions": [API, PLAIN], "answers": answers, "given": GIVEN[formulation]}
    task = Task("toolbench", "d", "7", "Which fund is QX7?", inputs, {"relevant": []})
    database, job = infer(folder, "", formulation, [task], scored=True, split="train", settings=settings)
    (episode,) = stream_episodes(database, Filter((Term("job", "=", job),)))
    assert episode.ending == "answered"
    return database, job, episode


def exported(database: Database, job: str, folder: Path) -> dict[str, Any]:
    export_answer_files(database, job, folder)
    (path,) = folder.iterdir()
    return json.loads(path.read_text())["answer_generation"]


def descriptions_in(schemas: list[dict[str, Any]]) -> list[str]:
    texts = [schema["description"] for schema in schemas]
    return texts + [one["description"] for schema in schemas for one in schema["parameters"]["properties"].values()]


@pytest.mark.parametrize("descriptions", TEXT)
@pytest.mark.parametrize("formulation", GIVEN)
def test_every_description_in_an_exported_file_is_in_the_prompt_that_was_sent(formulation, descriptions, tmp_path):
    database, job, episode = played(tmp_path, formulation, TEXT[descriptions])
    generation = exported(database, job, tmp_path / "out")
    prompts = "\n".join(step.prompt for step in episode.steps if isinstance(step.result, Completion))
    texts = descriptions_in(generation["function"])
    assert [text for text in texts if text not in prompts] == []
    assert (SYMBOL in texts) is (SYMBOL in prompts) is (descriptions == "yes")
    system = generation["train_messages"][0][0]["content"]
    assert (DESK in system) is (DESK in prompts) is (descriptions == "yes")
    assert [line for line in system.split("\n") if line not in prompts] == []
    assert generation["function"][-1]["name"] == FINISH.name


@pytest.mark.parametrize("descriptions", TEXT)
@pytest.mark.parametrize(("formulation", "head"), [("react", NATIVE_POLICY), ("sum2act", NATIVE_ROUTER)])
def test_a_file_of_native_calls_has_the_schemas_that_were_sent(formulation, head, descriptions, tmp_path):
    database, job, episode = played(tmp_path, formulation, {"calls": "native", **TEXT[descriptions]})
    generation = exported(database, job, tmp_path / "out")
    assert any(head in step.prompt for step in episode.steps if step.prompt)
    assert SYMBOL in descriptions_in(generation["function"]), "schemas have descriptions in any case"
    system = generation["train_messages"][0][0]["content"]
    assert (DESK in system) is any(DESK in step.prompt for step in episode.steps) is (descriptions == "yes")


@pytest.mark.parametrize("descriptions", TEXT)
@pytest.mark.parametrize("formulation", ["react", "sum2act"])
def test_rows_of_native_calls_are_those_of_text_calls(formulation, descriptions, tmp_path):
    rows = {}
    for calls in ("text", "native"):
        settings = {"calls": calls, **TEXT[descriptions]}
        database, job, _ = played(tmp_path / calls, formulation, settings)
        build = tmp_path / f"{calls} build"
        manifest = make(database, build, where=f"job={job}", **OPTIONS)
        rows[calls] = {file["file"]: rows_in(build / file["file"]) for file in manifest["files"]}
    assert rows["native"] == rows["text"]
    assert {find_form(row["prompt"]) for row in next(iter(rows["text"].values()))} == {descriptions}


# --- reports


@pytest.mark.parametrize("descriptions", TEXT)
def test_a_report_names_whether_descriptions_were_shown(descriptions, tmp_path):
    database, job, _ = played(tmp_path, "react", TEXT[descriptions])
    with database.engine.connect() as connection:
        row = get_job(connection, job)
        assert as_json(make_report(connection, row))["descriptions"] == descriptions


# --- lumos train


@pytest.mark.parametrize(
    ("data", "expected"),
    [(["yes"], "yes"), (["no"], "no"), (["yes", "no"], "mixed"), ([], None)],
    ids=["yes", "no", "mixed", "none"],
)
def test_a_trained_model_says_whether_its_prompts_had_descriptions(data, expected, tmp_path):
    builds = []
    for descriptions in data:
        database, job, _ = played(tmp_path / descriptions, "react", TEXT[descriptions])
        builds.append(tmp_path / f"build {descriptions}")
        make(database, builds[-1], where=f"job={job}", **OPTIONS)
    if not data:
        builds = [tmp_path / "policy_react.jsonl"]
        builds[0].write_text(json.dumps({"prompt": "<|user|>\nAdd 2.\n<|assistant|>\n", "completion": "4"}) + "\n")
    shape = ModelShape(hidden=16, layers=1, heads=2, feed_forward=16, positions=512)
    recipe = sft(builds, "scratch", tmp_path / "fit", "react", steps=1, batch=1, shape=shape, window=1, max_length=512)
    results = [run_item(recipe, window) for window in recipe.windows()]
    made_from = json.loads((Path(results[-1].models[0].path) / "made-from.json").read_text())
    assert made_from.get("descriptions") == expected


# --- papers


def evaluation_of(version: int, **settings: str) -> ToolEvaluation:
    formulation = FORMULATIONS.load("sum2act")
    agent = Agent({}, "tools", samplings=formulation.samplings, limits=formulation.limits, settings=settings)
    infer = {"formulation_version": version, "agent": agent.as_json()}
    job = SimpleNamespace(id="a", formulation=formulation.name, split="I1-inst", spec={"infer": infer})
    return ToolEvaluation(SimpleNamespace(job=job, infer=infer, tools={}), 0)


@pytest.mark.parametrize(
    ("version", "settings", "departs"),
    [(4, {}, False), (4, {"descriptions": "no"}, True), (3, {}, True), (3, {"descriptions": "yes"}, True)],
)
def test_a_row_of_a_paper_remarks_that_descriptions_are_missing(version, settings, departs):
    method = next(row.method for row in TOOL_TABLES["sum2act-pass"].rows if row.method.formulation == "sum2act")
    lines = evaluation_of(version, **settings).departures(method)
    assert ("descriptions is no, not yes" in lines) is departs
