"""Builds of plans of experts: from the labelled tasks by rule, and from what planners wrote."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.cli.main import app
from lumos_queue.errors import SpecError
from lumos_queue.experts.plans import Plan

LABELLED = {f"openagi/{one.id}": one for one in tasks_of("labelled")}


def run(folder, *command: str):
    return CliRunner().invoke(app, [*command, "--json"], env={"LUMOS_HOME": str(folder)})


def result_of(folder, *command: str) -> dict:
    done = run(folder, *command)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


def refusal(folder, *command: str) -> str:
    done = run(folder, *command)
    assert isinstance(done.exception, SpecError), done.output
    return str(done.exception)


def rows_of(folder, name: str, part: str = "planner_model-synthesis.jsonl") -> dict[str, list[str]]:
    lines = (folder / "builds" / name / part).read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == len({row["id"] for row in rows})
    return {row["id"]: [message["content"] for message in row["messages"]] for row in rows}


def build(folder, name: str, where: str, *more: str) -> dict:
    return result_of(folder, "dataset", "build", name, "--where", where, "--formulations", "model-synthesis", *more)


def evaluate(folder, split: str, plan_of, seed: int = 0, *more: str) -> str:
    """A job whose planner writes the plan of each task that `plan_of` gives, in wire form."""
    rules = [
        {"contains": f"<|user|>\n{one.description}\n<|assistant|>", "reply": plan_of(one)} for one in tasks_of(split)
    ]
    path = folder / f"rules-{split}-{seed}.json"
    path.write_text(json.dumps(rules))
    command = [
        "evaluate",
        "openagi",
        "--split",
        split,
        "--formulation",
        "model-synthesis",
        "--planner",
        f"scripted:{path}",
        "--tool",
        "experts=oracle",
        "--option",
        "samples=1",
        "--setting",
        "schema=fine-tuning",
        "--seed",
        str(seed),
        *more,
    ]
    return result_of(folder, *command)["job"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with the labelled tasks converted."""
    folder = tmp_path_factory.mktemp("home")
    result_of(folder, "convert", "openagi", "--deterministic", "--split", "labelled", "--option", "samples=1")
    return folder


def test_the_labelled_tasks_give_their_plans(home):
    made = build(home, "gold", "origin=converted benchmark=openagi")
    assert (made["rows"], made["levels"], made["origins"]) == (20, {"format": 20}, {"converted": 20})
    assert "openagi" not in made["contamination"], "its rows say which tasks are for testing"
    assert rows_of(home, "gold") == {name: [one.description, one.plan.write()] for name, one in LABELLED.items()}
    text = result_of(
        home,
        "dataset",
        "build",
        "gold-trl",
        "--where",
        "origin=converted benchmark=openagi",
        "--format",
        "trl-sft",
        "--formulations",
        "model-synthesis",
    )
    assert text["rows"] == 20
    row = json.loads((home / "builds" / "gold-trl" / "planner_model-synthesis.jsonl").read_text().splitlines()[0])
    assert row["prompt"].endswith("\n<|assistant|>\n") and row["completion"].endswith(",")


def test_other_formulations_are_not_written_of_plans_and_plans_not_of_other_domains(home):
    refused = refusal(home, "dataset", "build", "no", "--where", "benchmark=openagi", "--formulations", "iterative")
    assert "its actions are runs of expert models" in refused
    result_of(home, "convert", "wordmath", "--deterministic", "--limit", "2")
    refused = refusal(
        home, "dataset", "build", "no", "--where", "benchmark=wordmath", "--formulations", "model-synthesis"
    )
    assert "its actions are not runs of expert models" in refused


def test_only_labelled_tasks_are_converted_and_only_by_rule(home):
    for split in ("heldout", "feedback", "all"):
        refused = refusal(home, "convert", "openagi", "--deterministic", "--split", split)
        assert f"No split called '{split}'. Choose one of: labelled." in refused
    refused = refusal(home, "convert", "openagi", "--teacher", "scripted:x", "--split", "labelled")
    assert "'openagi' is converted by rule: give --deterministic" in refused


def test_what_a_planner_wrote_is_learnt_where_it_ran_and_held_out_tasks_are_left_out(home):
    """Written as a list of steps, in another order than gold, and not feasible: the plan that ran is the target."""
    chosen = {name: one for name, one in LABELLED.items() if one.linear}
    turned = {one.id for one in chosen.values() if one.plan.tail[:2] == ("Image Denoising", "Colorization")}
    assert turned

    def plan(one):
        if one.id in turned:
            names = (one.plan.tail[1], one.plan.tail[0], *one.plan.tail[2:])
            return "".join(f"Step {number}: {name}\n" for number, name in enumerate(names, start=1))
        return one.plan.write() if one.category != "text-text" else "Image Denoising,"

    job = evaluate(home, "labelled", plan)
    made = build(home, "kept", f"job={job} metric:feasible=1")
    assert made["episodes"]["read"] == 19 and made["levels"] == {"executed": 19}
    rows = rows_of(home, "kept")
    for name, (description, reply) in rows.items():
        one = LABELLED[name]
        assert description == one.description
        names = one.plan.names
        assert reply == (Plan((), (names[1], names[0], *names[2:])) if one.id in turned else one.plan).write()
    good = build(home, "good", f"job={job} metric:plan_exact=1")
    assert good["rows"] == 19 - len(turned)
    everything = build(home, "both", "benchmark=openagi origin!=derived")
    assert everything["rows"] == 20 + len(turned), "a plan that is the gold one is kept once"
    tests = evaluate(home, "heldout", lambda one: one.plan.write())
    refused = refusal(home, "dataset", "build", "t", "--where", f"job={tests}", "--formulations", "model-synthesis")
    assert "55 read; 55 of a test split" in refused
    again = build(home, "gold-again", "origin=converted benchmark=openagi")
    assert again["rows"] == 20, "a held-out task that differs in its language alone does not exclude a labelled one"


def test_rows_say_which_tasks_are_held_out_whatever_split_they_are_stored_as(tmp_path):
    home = tmp_path  # other tests count all rows of theirs
    job = evaluate(home, "all", lambda one: one.plan.write(), 0, "--limit", "12")
    heldout = {one.id for one in tasks_of("heldout")}
    made = build(home, "all", f"job={job}")
    assert {*rows_of(home, "all")} == {f"openagi/{one.id}" for one in TASKS[:12] if one.id not in heldout}
    assert made["episodes"]["left_out"] == {"of a test split": 12 - made["rows"]}
