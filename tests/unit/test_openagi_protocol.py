"""What differs between a stored evaluation of plans and the paper's: settings, experts, tasks in prompts; commands."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lumos_queue.benchmarks.openagi.described_tasks import find_described_tasks
from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.evaluation_options import find_row
from lumos_queue.papers.openagi_commands import describe_need, row_commands
from lumos_queue.papers.openagi_matching import find_shown_tasks
from lumos_queue.papers.openagi_protocol import SCHEMAS, list_departures, list_other_experts, paper_settings
from lumos_queue.papers.openagi_results import PLANNER_TABLES, TUNED
from lumos_queue.papers.stored_evaluations import StoredEvaluation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.model_synthesis import SCHEMAS as PROMPTS

ROWS = {row.name: row for table in PLANNER_TABLES.values() for row in table.rows}
RELEASED = {"feasibility": "released"}
PARSED = RELEASED | {"parser": "encoder:/weights/minilm@-1", "duplicates": "dedupe_first"}
DECODED = RELEASED | {"schema": "fine-tuning", "decoding": "constrained", "goal": "free", "candidates": "30"}


def evaluation(settings: dict[str, str], tools: dict[str, str] | None = None, **sampling) -> StoredEvaluation:
    """An evaluation as it is stored, without models."""
    agent = Agent({"planner": "scripted:rules"}, "experts", sampling=Sampling(**sampling), settings=settings).as_json()
    return StoredEvaluation(SimpleNamespace(spec={"infer": {"agent": agent | {"tools": tools or {}}}}), {})


def test_a_description_is_found_whatever_its_case_spaces_and_punctuation():
    for task in TASKS:
        assert find_described_tasks(task.description) == {str(task.id)}
        changed = "  Given\n" + task.description.removeprefix("Given").upper().replace(",", "").replace("?", ".")
        assert find_described_tasks(f"Problem:{changed}\nSolution: Given that") == {str(task.id)}
    assert not find_described_tasks("Given a cake, how to bake it step by step? Given " * 10_000)
    assert find_described_tasks("given " * 100_000 + TASKS[4].description) == {"4"}


@pytest.mark.parametrize("schema", sorted({*PROMPTS} - {"few-shot"}))
def test_a_schema_without_solved_tasks_shows_none(schema):
    assert not find_shown_tasks(evaluation({"schema": schema}))


def test_the_few_shot_prompt_shows_the_labelled_tasks():
    assert find_shown_tasks(evaluation({"schema": "few-shot"})) == {str(task.id) for task in tasks_of("labelled")}


def test_an_evaluation_as_in_the_paper_has_no_departure():
    assert not list_departures(ROWS["GPT-4, few-shot"], evaluation(PARSED | {"schema": "few-shot"}))
    by_model = RELEASED | {"schema": "prompt-1-paper", "parser": "model:http://127.0.0.1:1"}
    assert not list_departures(ROWS["GPT-4, prompt-1"], evaluation(by_model)), "the paper's parser needs no policy"
    for name in ("Flan-T5-Large, fine-tuned", "LLaMA-2-13B, RLTF"):
        assert not list_departures(ROWS[name], evaluation(DECODED, beams=30))
        assert not list_departures(ROWS[name], evaluation(DECODED)), "candidates are the width, if there are no beams"


@pytest.mark.parametrize(
    ("row", "settings", "sampling", "departure"),
    [
        ("GPT-4, prompt-2", {"schema": "prompt-2"}, {}, "schema is prompt-2, not prompt-2-paper"),
        ("GPT-4, zero-shot", {"schema": "zero-shot"}, {}, "schema is zero-shot, not zero-shot-paper"),
        ("GPT-4, zero-shot", {"schema": "zero-shot-released"}, {}, "schema is zero-shot-released, not zero-shot-paper"),
        ("GPT-4, few-shot", {"decoding": "constrained"}, {}, "decoding is constrained, not free"),
        ("GPT-4, few-shot", {"parser": "names"}, {}, "parser is names, not encoder:FOLDER@-1 or model:URL"),
        ("GPT-4, few-shot", {"parser": "encoder:/w@0.4"}, {}, "parser is encoder:/w@0.4, not encoder:FOLDER@-1 or"),
        ("GPT-4, few-shot", {"duplicates": "keep"}, {}, "duplicates is keep, not dedupe_first"),
        ("GPT-4, few-shot", {"feasibility": "types"}, {}, "feasibility is types, not released"),
        ("Vicuna-7B, RLTF", {"feasibility": "types"}, {}, "feasibility is types, not released"),
        ("Vicuna-7B, RLTF", {"decoding": "free"}, {}, "decoding is free, not constrained"),
        ("Vicuna-7B, RLTF", {"goal": "aware"}, {}, "goal is aware, not free"),
        ("Vicuna-7B, RLTF", {}, {"beams": 5}, "planner.beams is 5, not 30"),
        ("Vicuna-7B, RLTF", {"candidates": "2"}, {}, "planner.beams is 2, not 30"),
        ("Vicuna-7B, RLTF", {}, {"temperature": 0.7}, "planner.temperature is 0.7, not 0"),
        ("Vicuna-7B, RLTF", {}, {"epsilon": 0.2}, "planner.epsilon is 0.2, not 0"),
    ],
)
def test_each_difference_from_the_paper_is_a_departure(row, settings, sampling, departure):
    base = DECODED if ROWS[row].schema in TUNED else PARSED | {"schema": SCHEMAS[ROWS[row].schema][0]}
    (line,) = list_departures(ROWS[row], evaluation(base | settings, **sampling))
    assert line.startswith(departure)


def test_a_job_of_an_earlier_version_has_the_rule_of_types():
    assert "feasibility is types, not released" in list_departures(ROWS["GPT-4, few-shot"], evaluation({}))


def test_each_expert_with_another_backend_is_named():
    tools = {"experts": "hf", "experts_sha256": "ab", "image-denoising": "package:opencv"}
    assert list_other_experts(evaluation({}, tools)) == ["image-denoising package:opencv"]
    chat = {"experts": "chat://h:1?model=m", "experts-prompts": "1", "experts-images": "no"}
    assert list_other_experts(evaluation({}, chat)) == ["chat://h:1?model=m"]
    one_expert = {"experts": "hf", "fill-mask": "chat://h:1?model=m"}
    assert list_other_experts(evaluation({}, one_expert)) == ["fill-mask chat://h:1?model=m"]
    assert not list_other_experts(evaluation({}, {"experts": "hf"})) and not list_other_experts(evaluation({}))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_commands_of_a_row_name_what_makes_it_comparable(row):
    *training, command = row_commands(row)
    for words in ("--split heldout ", "--option samples=100 ", "--published ", "--setting feasibility=released "):
        assert words in command
    assert "--split all" not in describe_need(row) and f"--setting schema={SCHEMAS[row.schema][0]} " in command
    decoded = ("--setting decoding=constrained ", "--setting candidates=30 ", "--sampling planner.beams=30 ")
    parsed = ("--setting parser=encoder:FOLDER@-1 ", "--setting duplicates=dedupe_first ")
    for words in decoded:
        assert (words in command) == (row.schema in TUNED)
    for words in parsed:
        assert (words in command) == (row.schema not in TUNED)
    assert [word.split()[1] for word in training] == {
        "fine-tuned": ["convert", "dataset", "train"],
        "RLTF": ["convert", "dataset", "train", "train"],
    }.get(row.schema, [])


def test_run_names_the_commands_of_a_row_of_planners():
    row = ROWS["Flan-T5-Large, RLTF"]
    with pytest.raises(SpecError) as refusal:
        find_row("openagi-2/Flan-T5-Large-RLTF")
    assert all(command in str(refusal.value) for command in row_commands(row))
    with pytest.raises(SpecError, match="GPT-4-few-shot"):
        find_row("openagi-1/GPT-4-fewshot")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_settings_of_a_row_exist(row):
    settings = FORMULATIONS.load("model-synthesis").settings
    for name, value in paper_settings(row).items():
        if name != "parser":  # it needs a folder
            settings[name].read(name, value)
    for schema in SCHEMAS[row.schema]:
        settings["schema"].read("schema", schema)
