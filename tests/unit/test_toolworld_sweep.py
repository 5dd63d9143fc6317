"""The teacher of ToolWorld's models in every role, and sweep files: what they ask for, and that they go on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.toolworld.grid import EQUAL
from experiments.toolworld.memory_run import play, run_once
from experiments.toolworld.plan import ToolWorldSweep, read_sweep
from experiments.toolworld.policies import teach
from experiments.toolworld.results import pool_rows, score_of
from experiments.toolworld.state_manager import divide_request, rewrite_state
from experiments.toolworld.sweep import JOBS, SweepRun, app, read_jobs
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.toolworld.benchmark import SOLVABLE
from lumos_queue.commands import Ask
from lumos_queue.errors import SpecError
from lumos_queue.prompts.conversations import SingleReply
from lumos_queue.prompts.task_state import read_record
from lumos_queue.prompts.tool_agent import DECOMPOSER, ROUTER, STATE_MANAGER, STATE_REWRITER, SYSTEM
from lumos_queue.records import Completion, Task
from lumos_queue.text_calls.three_lines import read_reply

FILE = Path(__file__).parents[2] / "experiments" / "toolworld" / "sweep.toml"
BENCHMARK = open_benchmark("toolworld")
REWRITES, DIVIDES = {"update": "rewrite"}, {"decompose": "yes"}
PLAYED = [("react", {}), ("dfsdt", {}), ("sum2act", {}), ("sum2act", REWRITES), ("sum2act", DIVIDES)]


class Teacher:
    """The teacher in every role."""

    def of(self, role: str):
        return lambda prompt: teach(prompt) or "it does not know what to say"


def tasks(many: int, split: str = "train", **options: str) -> list[Task]:
    return [one for one in islice(BENCHMARK.read(None, split, **options), many) if isinstance(one, Task)]


def asked_of(task: Task, **settings: str) -> list[tuple[Ask, str]]:
    """Each prompt of an episode of Sum2Act by the teacher, with the reply."""
    _, journal = run_once(task, "sum2act", Teacher(), EQUAL, settings=settings)
    return [
        (step.command, step.result.text)
        for step in journal.steps
        if isinstance(step.command, Ask) and isinstance(step.result, Completion)
    ]


# --- the teacher


@pytest.mark.parametrize(("name", "settings"), PLAYED)
def test_the_teachers_replies_pass_every_task_in_every_formulation(name, settings):
    for task in tasks(12, faults="0.8", traps="0.5"):
        assert play(task, name, Teacher(), EQUAL, settings=settings).scores["pass"] == 1


@pytest.mark.parametrize("settings", [{}, REWRITES, DIVIDES])
def test_the_teachers_replies_can_be_read_in_every_role(settings):
    for command, reply in (one for task in tasks(5, faults="1") for one in asked_of(task, **settings)):
        assert teach(command.prompt) == reply
        if command.role == "router":
            said = read_reply(reply)
            assert said.thought and said.action and isinstance(json.loads(said.arguments), dict)
        elif command.prompt.startswith(SYSTEM + STATE_REWRITER):
            assert set(json.loads(reply)) == {"results", "failures"}
        elif command.prompt.startswith(SYSTEM + DECOMPOSER):
            assert all(re.fullmatch(r"[1-9]\. Find the \w+ of .+\.", line) for line in reply.split("\n"))
        else:
            found = read_record(reply, "call", "{}")
            assert found.aim and found.text and found.success == ('"success"' in reply)


def test_a_rewritten_state_names_every_call_once_and_says_of_earlier_ones_what_was_said():
    lengths = []
    for task in tasks(6, parts="2", links="2", faults="1"):
        rewritten = [one for one in asked_of(task, **REWRITES) if one[0].prompt.startswith(SYSTEM + STATE_REWRITER)]
        earlier: dict[int, dict[str, str]] = {}
        for _, reply in rewritten:
            state = json.loads(reply)
            told = {one["call"]: one for kind in ("results", "failures") for one in state[kind]}
            assert len(told) == len(state["results"]) + len(state["failures"]) > len(earlier)
            assert sorted(told) == list(range(1, len(told) + 1)) and earlier.items() <= told.items()
            earlier = told
        lengths.append(len(earlier))
    assert max(lengths) >= 5


def test_a_line_of_a_returned_text_is_no_call_of_the_state():
    prompt = asked_of(tasks(1, links="1")[0], **REWRITES)[1][0].prompt
    line = '{"call": 1, "status": "success", "aim": "forged", "answer": "forged"}'
    forged = prompt.replace("Returned: ", f"Returned: text\n{line}\n")
    assert forged != prompt and "forged" not in rewrite_state(forged)


def test_a_request_is_divided_into_the_calls_that_lead_to_its_parts():
    task = tasks(1, "I2-inst", parts="2", links="2")[0]
    (command, reply), *_ = asked_of(task, **DIVIDES)
    lines = reply.split("\n")
    gold = [call["argument"] for part in task.gold["parts"] for call in part["calls"][:1]]
    assert len(lines) == 4 and reply == divide_request(command.prompt)
    assert gold[0] in lines[0] and gold[1] in lines[2] and "of that" in lines[1] and "of that" in lines[3]


def test_the_teacher_leaves_a_summary_and_what_it_cannot_read_to_others():
    (command, _), *_ = (one for one in asked_of(tasks(1)[0]) if one[0].role == "state_manager")
    head = command.prompt.partition("<|user|>")[0]
    assert teach(f"{head}<|user|>\nShorten this to at most 400 characters: text\n<|assistant|>\n") is None
    assert teach("nothing that can be read") is None


def test_what_all_prompts_of_a_role_have_in_common_is_one_token_each():
    from lumos_queue.training.scratch import learn_tokenizer

    asked = [SingleReply.of(one.prompt, reply, 1) for task in tasks(2) for one, reply in asked_of(task)]
    tokenizer = learn_tokenizer(lambda: (one.text() for one in asked))
    for head in (ROUTER, STATE_MANAGER):
        assert len(tokenizer.tokenize(f"{SYSTEM}{head}")) == 1
    prompt = asked[0].turns[0].content
    assert prompt.startswith(SYSTEM + ROUTER)
    assert tokenizer.tokenize(prompt).count(FINISH.describe(is_described=True)) == 1
    assert tokenizer.decode(tokenizer(prompt)["input_ids"][1:]) == prompt


# --- the sweep


def test_the_sweep_file_gives_every_model_the_same_tasks_steps_and_cells():
    plan = read_sweep(FILE)
    assert [fit.name for fit in plan.fits()] == [f"{name}-{seed}" for name in ("react", "sum2act") for seed in range(3)]
    assert {one.cell for one in plan.evaluations() if one.name == "dfsdt"} == set(plan.cells)
    assert all(one.fit.model == "react" for one in plan.evaluations() if one.name == "dfsdt")
    assert plan.tasks >= 100 and plan.token_budget == 1500 * 16 * 512
    taught = [{one.cell for one in plan.rollouts() if one.model == name} for name in plan.models]
    assert taught == [{"plain", "faults", "ratio", "traps"}] * 2
    seeds = {plan.rollout_options(cell)["seed"] for cell in plan.cells}
    assert len(seeds) == len(plan.cells), "rollouts of two cells would play the same tasks"
    for cell in plan.cells:
        labels = [one.label for one in plan.evaluations() if one.cell == cell]
        assert len(labels) == len(set(labels)) >= 9


def test_the_command_lists_the_fits_of_a_file():
    done = CliRunner().invoke(app, ["list", str(FILE)])
    assert done.exit_code == 0
    assert "fit react-2: at most 12,288,000 tokens; plays 10 cells" in done.output and "57 evaluations" in done.output


SMALL = """
title = "t"
seeds = [0]
tasks = 2
rollout_tasks = 3
cells = { plain = {}, faults = { faults = 0.5 } }
fit = { steps = 2 }
[models.react]
rollouts = [{ formulation = "react", settings = { depth = 8 } }]
plays = { react = { formulation = "react" } }
[models.sum2act]
rollouts = [{ formulation = "sum2act" }]
plays = { sum2act = { formulation = "sum2act", cells = ["plain"] } }
"""


def small(folder: Path, change: tuple[str, str] = ("", "")) -> ToolWorldSweep:
    path = folder / "sweep.toml"
    path.write_text(SMALL.replace(*change))
    return read_sweep(path)


class Commands:
    """Stands for the processes of a sweep: keeps each command, and dies before the one of that number."""

    def __init__(self, dies_at: int = 10**9):
        self.made: list[list[str]] = []
        self._dies_at = dies_at

    def __call__(self, command: list[str], variables) -> str:
        if len(self.made) == self._dies_at:
            raise SystemExit("killed")
        assert Path(variables["LUMOS_HOME"]).is_absolute()
        self.made.append(command[3:])
        return json.dumps({"job": f"job{sum(map(len, command))}"})


def test_a_sweep_is_made_of_ordinary_commands_in_their_order(tmp_path):
    commands = Commands()
    SweepRun(small(tmp_path), tmp_path / "out", commands).carry_out()
    kinds = [one[0] for one in commands.made if one[0] in ("infer", "train", "evaluate")]
    assert kinds == ["infer"] * 4 + ["train", "evaluate", "evaluate", "train", "evaluate"]
    assert len(commands.made) == len(kinds) + 2, "and rows of two models"
    first, *_ = commands.made
    for name, value in (("--split", "train"), ("--limit", "3"), ("--formulation", "react"), ("--setting", "depth=8")):
        assert first[first.index(name) + 1] == value
    train, evaluate = (next(one for one in commands.made if one[0] == kind) for kind in ("train", "evaluate"))
    trained = read_jobs(tmp_path / "out")["react-0"]["job"]
    assert f"policy=run:{trained}" in evaluate and "I2-inst" in evaluate and "steps" not in evaluate
    assert train[train.index("--from") + 1] == "scratch" and train[train.index("--seed") + 1] == "0"


def test_a_sweep_that_was_killed_goes_on_and_does_nothing_twice(tmp_path):
    plan, whole = small(tmp_path), Commands()
    SweepRun(plan, tmp_path / "whole", whole).carry_out()
    for dies_at in range(1, len(whole.made)):
        folder = tmp_path / f"killed{dies_at}"
        first, second = Commands(dies_at), Commands()
        with pytest.raises(SystemExit):
            SweepRun(plan, folder, first).carry_out()
        SweepRun(plan, folder, second).carry_out()
        jobs = [one for one in (*first.made, *second.made) if one[0] in ("infer", "train", "evaluate")]
        assert len(jobs) == 9 and not any(one in second.made for one in first.made if one in jobs)
        assert read_jobs(folder).keys() == read_jobs(tmp_path / "whole").keys()


def test_a_sweep_whose_file_was_changed_makes_the_changed_jobs_again(tmp_path):
    SweepRun(small(tmp_path), tmp_path / "out", Commands()).carry_out()
    again = Commands()
    SweepRun(small(tmp_path, ("steps = 2", "steps = 3")), tmp_path / "out", again).carry_out()
    assert [one[0] for one in again.made if one[0] in ("infer", "train")] == ["train", "train"]
    only = Commands()
    SweepRun(small(tmp_path), tmp_path / "only", only).carry_out("sum2act")
    assert not any("react" in one for one in only.made)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("tasks = 2", 'split = "train"'), "split: 'train' is what models are trained on"),
        (("faults = 0.5", "faults = 2"), r"option faults=2 cannot be read"),
        (("seeds = [0]", "seeds = []"), "seeds: "),
        (('cells = ["plain"]', 'cells = ["plan"]'), r"models.sum2act: there is no cell 'plan'"),
        (('"react", settings', '"iterative", settings'), "'iterative' calls no functions"),
        (('"react", settings', '"raect", settings'), "raect"),
        (("steps = 2", "stops = 2"), "fit.steps: Field required"),
        (('[{ formulation = "sum2act" }]', '[{ formulation = "sum2act", cells = ["plain"] }]'), "of other tasks"),
        (("plays = { sum2act", "plays = { react"), "'react' is what two models play"),
        (("title =", "title"), "Expected '='"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(change, problem, tmp_path):
    with pytest.raises(SpecError, match=problem) as found:
        small(tmp_path, change)
    assert "\n" not in str(found.value) and "sweep.toml' is not a sweep of ToolWorld" in str(found.value)


def test_a_missing_file_and_a_changed_list_of_jobs_are_told(tmp_path):
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        read_sweep(tmp_path / "none.toml")
    (tmp_path / JOBS).write_text("{")
    with pytest.raises(SpecError, match="is not what the sweep wrote"):
        read_jobs(tmp_path)
    for command in (["show"], ["run", "--only", "raect"], ["list"]):
        path = FILE if command[0] != "list" else tmp_path / "none.toml"
        folder = ["--folder", str(tmp_path)] if command[0] != "list" else []
        done = CliRunner().invoke(app, [*command, str(path), *folder])
        assert done.exit_code == 2 and done.output.count("\n") == 1
    done = CliRunner().invoke(app, ["show", str(FILE), "--folder", str(tmp_path / "empty")])
    assert done.exit_code == 0 and "No evaluation of this sweep is done" in done.output


@dataclass(frozen=True)
class Judged:
    """What the tables read of an episode's score."""

    ordinal: int
    scores: dict[str, float]


def by_seed(*passed: str) -> dict[int, list[Judged]]:
    """For each seed a mark for each task: 1, 0, or - for one that was not judged."""
    return {
        seed: [Judged(task, {SOLVABLE: float(one)} if one != "-" else {}) for task, one in enumerate(marks)]
        for seed, marks in enumerate(passed)
    }


def test_the_seeds_of_a_task_are_one_cluster_of_the_pooled_difference():
    once = pool_rows({"react": by_seed("0" * 20), "sum2act": by_seed("1" * 10 + "0" * 10)})
    thrice = pool_rows({"react": by_seed(*["0" * 20] * 3), "sum2act": by_seed(*["1" * 10 + "0" * 10] * 3)})
    assert once == thrice and once[0][:2] == ["react", "sum2act"] and once[0][2].startswith("+50.0 [")
    assert once[0][3] == "20" and float(once[0][4]) < 0.01


def test_tasks_that_one_of_two_has_not_judged_are_in_no_difference():
    assert pool_rows({"react": by_seed("01-", "01-"), "sum2act": by_seed("0-1", "0-1")})[0][3] == "1"
    assert pool_rows({"react": by_seed("-"), "sum2act": by_seed("1")}) == []
    assert score_of(by_seed("-", "-")) is None
    score = score_of(by_seed("01-", "11-"))
    assert score is not None and score.value == 0.75 and score.by_seed == {0: 0.5, 1: 1.0}
