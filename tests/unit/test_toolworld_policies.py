"""ToolWorld with scripted policies: what each must reach, and the grid of the dials, which goes on where it was."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice, product
from statistics import fmean

import pytest

from experiments.toolworld import grid
from experiments.toolworld.grid import EQUAL, Cell, Run, all_cells, measure, read_lines, work
from experiments.toolworld.judges import JUDGES, KNOWING, METRICS, compare
from experiments.toolworld.memory_run import NAMES, Models, break_all, play, run_once
from experiments.toolworld.policies import Policies, RandomPolicy, oracle
from experiments.toolworld.reading import WorldView
from experiments.toolworld.state_manager import manage
from lumos_queue.actions.tools.world import FAULTS
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import SpecError
from lumos_queue.limits import Limits
from lumos_queue.records import Ending, Execution, Task
from lumos_queue.text_calls.three_lines import read_reply

BENCHMARK = open_benchmark("toolworld")
HARDEST = {"faults": "1", "traps": "1"}
RUN = Run(tasks=3, seed=0, noise=0.1, unsolvable=0.1)


def tasks(many: int, split: str = "I3-inst", **options: str) -> list[Task]:
    return [one for one in islice(BENCHMARK.read(None, split, **options), many) if isinstance(one, Task)]


def share(found: list[Task], name: str, models: Models, metric: str = "verified_pass", limits: Limits = EQUAL) -> float:
    scores = [play(one, name, models, limits).scores for one in found]
    values = [one[metric] for one in scores if metric in one]
    return sum(values) / len(values)


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_passes_every_task_it_can_and_refuses_every_part_it_cannot(name):
    for split in ("I1-inst", "I2-cat", "I3-inst"):
        found = tasks(25, split, **HARDEST, unsolvable="0.2")
        assert share(found, name, Policies(0, 0.0), "pass") == 1
    assert share(tasks(25, "I2-inst", **HARDEST, digits="3"), name, Policies(0, 0.0), "pass") == 1


def test_a_policy_that_invents_calls_functions_that_do_not_exist_and_goes_on_behind_them():
    found = tasks(40, "train", unsolvable="0")
    told = []
    for task in found:
        run, _ = run_once(task, "react", Policies(0, 0.3, invents=True), EQUAL)
        told += [done.result for _, done in run.actions if isinstance(done, Execution)]
    assert sum("there is no function" in one for one in told) > 10
    assert share(found, "react", Policies(0, 0.3, invents=True)) > 0.8


@pytest.mark.parametrize("name", NAMES)
def test_a_random_policy_passes_at_most_one_task_in_twenty(name):
    assert share(tasks(150, "train"), name, RandomPolicy(0)) <= 0.05


@pytest.mark.parametrize("name", NAMES)
def test_nothing_passes_where_all_tools_fail(name):
    found = [break_all(one) for one in tasks(30, unsolvable="0")]
    assert share(found, name, Policies(0, 0.1)) == 0
    assert share(found, name, Policies(0, 0.0), "false_finish") == 0


def test_the_oracle_meets_and_overcomes_every_fault():
    met = set()
    for task in tasks(40, **HARDEST, unsolvable="0"):
        run, _ = run_once(task, "react", Policies(0, 0.0), EQUAL)
        called = {action.name.rpartition("_for_")[0] for action, _ in run.actions}
        apis = [one for part in task.inputs["world"]["parts"] for link in part for one in link["apis"]]
        met |= {one["fault"] for one in apis if one["api"] in called and one.get("fault")}
    assert met == set(FAULTS)


def with_fault(fault: str) -> Task:
    """A task with one link, both of whose APIs have the same fault."""
    task = tasks(1, parts="1", links="1", unsolvable="0")[0]
    world, documents = json.loads(json.dumps([task.inputs["world"], task.inputs["functions"]]))
    link = world["parts"][0][0]
    for one in link["apis"]:
        one |= {"fault": fault, "parameter": f"{link['of']}_id"}
    for one in documents if fault == "misspelt" else ():
        one["required_parameters"][0]["name"] = "idd"
    return replace(task, inputs={"world": world, "functions": documents})


def test_a_rate_limit_is_met_again_where_nothing_else_is_left():
    """ReAct repeats one of the two calls; Sum2Act's guard against equal calls forbids it."""
    limited, models = with_fault("rate_limited"), Policies(0, 0.0)
    assert [play(limited, name, models, EQUAL).scores["pass"] for name in NAMES] == [1, 1, 0]
    free = {"repeat_guard": "no"}
    assert play(limited, "sum2act", models, EQUAL, settings=free).scores["pass"] == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelt_argument_is_corrected_by_what_the_error_tells(name):
    found = play(with_fault("misspelt"), name, Policies(0, 0.0), EQUAL)
    assert found.scores["pass"] == 1 and found.actions == 3, "the wrong name, the right name, Finish"


def test_where_a_part_is_locked_a_search_goes_back_and_nothing_else_passes():
    found = tasks(50, "I2-inst", parts="2", links="3", unsolvable="0", traps="1")
    passed: dict[str, list[float]] = {}
    for name in NAMES:
        for task in found:
            run, _ = run_once(task, name, Policies(0, 0.1), EQUAL)
            if any("is locked" in done.result for _, done in run.actions):
                score = BENCHMARK.score(task, EpisodeResult(run.outcome.answer))[0].value
                passed.setdefault(name, []).append(score)
    assert min(map(len, passed.values())) > 5
    assert set(passed["react"]) == set(passed["sum2act"]) == {0} and fmean(passed["dfsdt"]) > 0.6


def test_a_transcript_longer_than_the_context_separates_a_state_from_transcripts():
    found = tasks(12, "I2-inst", parts="2", links="3", unsolvable="0", ratio="1.2", context="12000")
    results = {name: [play(one, name, Policies(0, 0.0), EQUAL, 12_000) for one in found] for name in NAMES}
    assert [sum(one.scores["pass"] for one in results[name]) for name in NAMES] == [0, 0, 12]
    assert {one.ending for one in results["react"]} == {Ending.LIMIT}
    assert all(one.longest <= 12_000 for several in results.values() for one in several)


def test_a_policy_that_cannot_tell_look_alikes_apart_runs_into_traps_more_often():
    found = tasks(25, "I2-inst", parts="2", links="3", unsolvable="0", traps="0.3")
    assert share(found, "react", Policies(0, 0.1, apart=False)) < share(found, "react", Policies(0, 0.1)) - 0.2


def test_a_prompt_has_one_reply_whatever_was_asked_before():
    task = tasks(1)[0]
    _, journal = run_once(task, "sum2act", Policies(0, 0.3), EQUAL)
    asked = [(step.command, step.result) for step in journal.steps if hasattr(step.command, "prompt")]
    for command, result in reversed(asked):
        assert Policies(0, 0.3).of(command.role)(command.prompt) == result.text


def test_the_oracle_answers_every_role_as_an_endpoint():
    _, journal = run_once(tasks(1)[0], "sum2act", Policies(0, 0.0), EQUAL)
    asked = {step.command.role: step.command.prompt for step in journal.steps if hasattr(step.command, "prompt")}
    assert read_reply(oracle(asked["router"])).action
    assert json.loads(oracle(asked["state_manager"]))["status"] in ("success", "failure")
    assert "not in sight" in oracle("nothing that can be read")
    assert json.loads(manage("nothing that can be read"))["status"] == "failure"


def test_a_prompt_that_was_cut_is_read_as_far_as_it_goes():
    _, journal = run_once(tasks(1, **HARDEST)[0], "react", Policies(0, 0.0), EQUAL)
    prompt = next(step.command.prompt for step in reversed(journal.steps) if hasattr(step.command, "prompt"))
    for end in range(0, len(prompt), 61):
        view = WorldView(prompt[:end])
        assert len(view.functions) <= len(WorldView(prompt).functions) and len(view.seen) <= 30
        assert Policies(0, 0.5).of("policy")(prompt[:end])


def test_a_state_managers_verdicts_are_compared_with_what_calls_held():
    found = [play(one, "sum2act", Policies(0, 0.1), EQUAL) for one in tasks(10, **HARDEST)]
    verdicts = [one for result in found for one in result.verdicts]
    assert len(verdicts) > 30 and {true for _, true in verdicts} == {True, False}
    assert sum(said != true for said, true in verdicts) / len(verdicts) < 0.05


def test_judges_are_compared_with_the_checker_on_the_same_episodes():
    found = {
        (one.judge, one.metric): one
        for one in compare(tasks(20, "I2-inst", parts="1", unsolvable="0"), (Policies(0, 0.0), RandomPolicy(0)))
    }
    assert list(found) == list(product([*JUDGES, KNOWING], METRICS))
    trusting, comparing = found["trusting", "pass"], found["comparing", "pass"]
    for one in (trusting, comparing):
        assert len(one.pairs) == 40 and one.count(True, True) >= 20 and one.count(True, False) == 0
        assert one.kappa() is not None and one.share == 1 - one.count(False, True) / 40
    assert found[KNOWING, "pass"].share == 1
    assert 0 < comparing.count(False, True) < trusting.count(False, True)


def test_toolevals_judge_fails_a_right_refusal_where_it_holds_the_task_for_solvable():
    found = compare(tasks(10, "I1-inst", parts="1", unsolvable="1"), (Policies(0, 0.0),))
    assert all(one.count(True, False) == 10 and one.kappa() == pytest.approx((0, 0, 0)) for one in found)


# --- the grid


def test_every_cell_has_its_own_label_and_the_same_questions():
    cells = all_cells()
    assert len({one.label for one in cells}) == len(cells) == 44
    questions = {
        one.world: {tuple(task.question for task in each.tasks(2, 0.1)) for each in cells if each.world == one.world}
        for one in cells
    }
    assert all(len(several) == 1 for several in questions.values())


def test_a_cell_has_a_row_for_each_method_at_both_limits_and_their_differences():
    line = measure(RUN, Cell("1-4 links", faults=0.5))
    assert [(one["limits"], one["method"]) for one in line["rows"]] == [
        (kind, name) for kind in ("papers", "equal") for name in NAMES
    ]
    assert len(line["pairs"]) == 6 and all(one["low"] <= one["difference"] <= one["high"] for one in line["pairs"])
    for row in line["rows"]:
        assert row["pass"]["low"] <= row["pass"]["share"] <= row["pass"]["high"]
        assert sum(row["endings"].values()) == RUN.tasks and row["calls"] > 0


def test_the_grid_goes_on_cell_by_cell_and_works_out_none_twice(tmp_path, monkeypatch):
    cells, path, told = all_cells()[:3], tmp_path / "build" / "grid.jsonl", list[str]()
    first = work(RUN, cells[:2], path, told.append)
    path.write_text(path.read_text() + '{"key": {"tas')  # as where the process was killed while it wrote
    again = work(RUN, cells, path, told.append)
    assert told == [one.label for one in cells] and again[:2] == first
    monkeypatch.setattr(grid, "measure", None)
    assert work(RUN, cells, path, told.append) == again == list(read_lines(path))
    with pytest.raises(TypeError):
        work(replace(RUN, seed=1), cells, path, told.append)


def test_a_file_that_is_no_grid_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("notes\nmore notes\n")
    with pytest.raises(SpecError, match=r"txt', line 1, is not a cell of this grid: give another file with --out"):
        work(RUN, all_cells()[:1], path, print)
    assert path.read_text() == "notes\nmore notes\n"
