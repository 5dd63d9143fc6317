"""Planted faults are blamed on the module that made them, and it gets the pairs and labels. Scripted models."""

from __future__ import annotations

import json

import pytest

from lumos_queue.cli.main import app
from lumos_queue.errors import SpecError
from lumos_queue.notation import STOP_PLANNING
from lumos_queue.prompts.gold_replies import GoldSolution, write_at_once, write_stepwise
from lumos_queue.rollouts.blame import fault
from lumos_queue.submission.store import read_rows
from tests.faulty_agent import WRONG_SUBGOAL, WRONG_VALUE, FaultyAgent
from tests.integration.rollout_jobs import WithTasks, command, episodes, evaluate_agent, long_rows, servers

TASKS = 16


@pytest.fixture(scope="module")
def rows():
    return long_rows(3, TASKS)


def planted(rows) -> tuple[dict[str, int], dict[str, int]]:
    """Row to the subgoal at which planner and grounder err: 4 the planner, 5 the grounder, 3 both, 4 nobody."""
    names = [task.row for task in rows.tasks]
    planner = dict(zip(names[:4], (1, 2, 3, 2), strict=True))
    grounder = dict(zip(names[4:9], (1, 2, 3, 1, 2), strict=True))
    return planner | {names[9]: 2, names[10]: 1, names[11]: 3}, grounder | {names[9]: 1, names[10]: 2, names[11]: 2}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_exactly_the_planted_faults_are_found(kind, rows, request, tmp_path, monkeypatch, capsys):
    url = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setenv("LUMOS_DATABASE_URL", url)
    planner, grounder = planted(rows)
    database, job = evaluate_agent(tmp_path, rows, planner, grounder, url=url)
    failed = {one.task.row: one for one in episodes(database, f"job={job} score<1")}
    assert failed.keys() == planner.keys() | grounder.keys(), "every planted fault makes its episode fail"
    with servers(FaultyAgent(rows.benchmark, rows.tasks, planner, grounder)) as (plans, grounds):
        code, found = command(
            app, capsys, "blame", "--where", f"job={job}", "--planner", plans.tgi, "--grounder", grounds.tgi
        )
        asked = plans.count + grounds.count
    assert code == 0 and found["episodes"] == 12 and found["left_out"] == {"its answer is right": 4}
    pairs, labels = tmp_path / "pairs.jsonl", tmp_path / "labels.jsonl"
    code, report = command(app, capsys, "blame", "report", *found["jobs"][::-1], "--pairs", pairs, "--labels", labels)
    assert code == 0 and report["jobs"] == found["jobs"] and report["episodes"] == 12
    assert report["faults"] == {"planner": 4, "grounder": 5, "both": 3, "neither": 0, "not finished": 0}
    by_row = {one.task.row: report["blamed"][one.name] for one in failed.values()}
    assert by_row == {
        row: "both" if row in planner and row in grounder else "planner" if row in planner else "grounder"
        for row in by_row
    }
    made = episodes(database, f"job={found['jobs'][0]}") + episodes(database, f"job={found['jobs'][1]}")
    assert sum(one.totals.calls for one in made) == asked, "given replies are no model calls"
    check_pairs(rows, failed, planner, grounder, [json.loads(line) for line in pairs.read_text().splitlines()])
    check_labels(failed, [json.loads(line) for line in labels.read_text().splitlines()])
    database.close()


def check_pairs(rows, failed, planner, grounder, pairs) -> None:
    """Each module at fault has the pair of the place at which it erred first; the prompt is the one it was sent."""
    tasks = {task.row: task for task in rows.tasks}
    found = {(pair["module"], pair["id"].removeprefix("wordmath/")): pair for pair in pairs}
    assert len(found) == len(pairs)
    both = planner.keys() & grounder.keys()
    for row in planner.keys() - both:
        pair, number = found.pop(("planner", row)), planner[row]
        gold = write_stepwise(GoldSolution(rows.benchmark.gold(tasks[row]), "maths"))["planner"]
        assert pair["chosen"] == gold[number - 1] and pair["rejected"].endswith(WRONG_SUBGOAL)
        check_sent(failed[row], pair)
    for row in grounder.keys() - both:
        pair, number = found.pop(("grounder", row)), grounder[row]
        gold = write_stepwise(GoldSolution(rows.benchmark.gold(tasks[row]), "maths"))["grounder"]
        assert pair["chosen"] == gold[number - 1] and str(WRONG_VALUE) in pair["rejected"]
        check_sent(failed[row], pair)
    # Where both erred, only the one that erred first did so after a prompt that the gold solution has as well.
    first = {("planner" if planner[row] < grounder[row] else "grounder", row) for row in both}
    assert first <= found.keys() <= {(module, row) for module in ("planner", "grounder") for row in both}
    assert all(pair["fault"] == "both" and pair["chosen"] != pair["rejected"] for pair in found.values())


def check_sent(episode, pair) -> None:
    assert (pair["prompt"], pair["rejected"]) in [
        (step.prompt, step.result.text) for step in episode.steps if step.role
    ]
    assert pair["episode"] == episode.name and pair["licence"] == "MIT" and pair["split"] == "familiar"
    assert pair["chosen_by"] == "gold" and pair["fault"] == pair["module"]


def check_labels(failed, labels) -> None:
    assert labels
    for row in labels:
        said = [
            step.result.text for step in failed[row["id"].removeprefix("wordmath/")].steps if step.role == row["module"]
        ]
        assert row["completions"] == said[: len(row["completions"])]
        assert row["labels"] == [True] * (len(said[: len(row["completions"])]) - 1) + [False]


def test_a_planner_that_stops_too_early_or_too_late_is_at_fault(rows, tmp_path, monkeypatch, capsys):
    """By subgoals of the gold plan in the gold words, and no wrong value: what is wrong is where it stops."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    early, late = rows.tasks[0].row, rows.tasks[1].row

    class Stopping(FaultyAgent):
        def plan(self, prompt):
            task, gold = self._find(prompt)
            number = prompt.count("<|assistant|>\n")
            if task.row == early and number == 2:
                return STOP_PLANNING
            if task.row == late and number == len(gold.steps) + 1:
                return f"No, I will keep planning. Subgoal {number}: Go on."
            return STOP_PLANNING if number > len(gold.steps) else super().plan(prompt)

        def ground(self, prompt):
            return "R9 = Calculator(1)" if ": Go on." in prompt else super().ground(prompt)

    database, job = evaluate_agent(tmp_path, rows, {}, {}, kind=Stopping)
    assert {one.task.row for one in episodes(database, f"job={job} score<1")} == {early, late}
    with servers(Stopping(rows.benchmark, rows.tasks, {}, {})) as (plans, grounds):
        _, found = command(
            app, capsys, "blame", "--where", f"job={job}", "--planner", plans.tgi, "--grounder", grounds.tgi
        )
    _, report = command(app, capsys, "blame", "report", *found["jobs"])
    assert report["faults"] | {"planner": 0} == dict.fromkeys(report["faults"], 0) and report["faults"]["planner"] == 2
    database.close()


def test_a_right_subgoal_in_other_words_is_no_fault(rows, tmp_path, monkeypatch, capsys):
    """What it came to is the gold value: the step is kept, and the first wrong one is the grounder's."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    row = rows.tasks[0].row

    class Wordy(FaultyAgent):
        def plan(self, prompt):
            return "Subgoal 1: In other words." if prompt.count("<|assistant|>\n") == 1 else super().plan(prompt)

    database, job = evaluate_agent(tmp_path, rows, {}, {row: 2}, kind=Wordy)
    with servers(Wordy(rows.benchmark, rows.tasks, {}, {row: 2})) as (plans, grounds):
        _, found = command(
            app, capsys, "blame", "--where", f"job={job}", "--planner", plans.tgi, "--grounder", grounds.tgi
        )
    _, report = command(app, capsys, "blame", "report", *found["jobs"], "--pairs", tmp_path / "pairs.jsonl")
    assert report["faults"]["grounder"] == report["episodes"] == 1 and report["pairs"]["grounder"] == 1
    database.close()


def test_one_pass_episodes_are_blamed_by_whole_replies(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    bad_plan, bad_actions = rows.tasks[0].row, rows.tasks[1].row

    class OnePass(FaultyAgent):
        def plan(self, prompt):
            task, gold = self._find(prompt)
            [plan] = write_at_once(GoldSolution(gold, "maths"))["planner"]
            return f"Subgoal 1: {WRONG_SUBGOAL}" if task.row == bad_plan else plan

        def ground(self, prompt):
            task, gold = self._find(prompt)
            wrong = WRONG_SUBGOAL in prompt or task.row == bad_actions
            [actions] = write_at_once(GoldSolution(gold, "maths"))["grounder"]
            return f"R1 = Calculator({WRONG_VALUE})" if wrong else actions

    database, job = evaluate_agent(tmp_path, rows, {}, {}, "one-pass", kind=OnePass)
    with servers(OnePass(rows.benchmark, rows.tasks, {}, {})) as (plans, grounds):
        _, found = command(
            app, capsys, "blame", "--where", f"job={job}", "--planner", plans.tgi, "--grounder", grounds.tgi
        )
    _, report = command(app, capsys, "blame", "report", *found["jobs"], "--pairs", tmp_path / "pairs.jsonl")
    by_row = {one.task.row: report["blamed"][one.name] for one in episodes(database, f"job={job} score<1")}
    assert by_row == {bad_plan: "planner", bad_actions: "grounder"}
    assert report["pairs"] == {"planner": 1, "grounder": 1}
    database.close()


def test_pairs_of_a_test_split_are_written_only_if_allowed_and_licences_are_told(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    bound = WithTasks(rows.benchmark, rows.tasks[:3])
    bound.licence = "CC BY-NC 4.0"
    held_out = read_rows(bound, None, "test", False)
    wrong = {rows.tasks[0].row: 1, rows.tasks[1].row: 2}
    database, job = evaluate_agent(tmp_path, held_out, {}, wrong)
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {}, wrong)) as (plans, grounds):
        _, found = command(
            app, capsys, "blame", "--where", f"job={job} score<1", "--planner", plans.tgi, "--grounder", grounds.tgi
        )
    files = tmp_path / "pairs.jsonl", tmp_path / "labels.jsonl"
    _, report = command(app, capsys, "blame", "report", *found["jobs"], "--pairs", files[0], "--labels", files[1])
    assert report["faults"]["grounder"] == 2 == report["of_test_split"] and report["warning"] == ""
    assert report["pairs"] == {"planner": 0, "grounder": 0} and [file.read_text() for file in files] == ["", ""]
    allowed = tmp_path / "allowed.jsonl"
    _, report = command(app, capsys, "blame", "report", *found["jobs"], "--pairs", allowed, "--allow-test")
    assert report["of_test_split"] == 0 and report["pairs"]["grounder"] == len(allowed.read_text().splitlines()) == 2
    assert report["warning"] == "2 of 2 rows are licensed for non-commercial use only: wordmath (CC BY-NC 4.0)."
    database.close()


def test_jobs_that_are_no_pair_are_refused(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    database, job = evaluate_agent(tmp_path, rows, {rows.tasks[0].row: 1}, {})
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {rows.tasks[0].row: 1}, {})) as (plans, grounds):
        _, found = command(
            app, capsys, "blame", "--where", f"job={job}", "--planner", plans.tgi, "--grounder", grounds.tgi
        )
    with pytest.raises(SpecError, match="not derived from episodes"):
        command(app, capsys, "blame", "report", job, found["jobs"][0])
    with pytest.raises(SpecError, match="Name the two jobs"):
        command(app, capsys, "blame", "report", found["jobs"][0], found["jobs"][0])
    (tmp_path / "there").write_text("mine")
    with pytest.raises(SpecError, match="exists already"):
        command(app, capsys, "blame", "report", *found["jobs"], "--pairs", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"
    database.close()


def test_whose_fault_it_is_by_what_each_replacement_came_to():
    assert [fault(*one) for one in ((True, False), (False, True), (False, False), (True, True), (None, True))] == [
        "planner",
        "grounder",
        "both",
        "neither",
        "not finished",
    ]
