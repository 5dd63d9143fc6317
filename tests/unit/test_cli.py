"""The command line, called in this process: what it refuses, what it reports, what it shows."""

import json
import re
import sqlite3
from dataclasses import replace
from types import SimpleNamespace

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.episode_list import print_episodes
from lumos_queue.cli.output import escape
from lumos_queue.cli.trajectory import with_markup
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Task
from lumos_queue.reports.episode_list import EpisodeLine
from lumos_queue.reports.episode_values import Step
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.lanes import plan_rows
from lumos_queue.reports.scores import scores
from lumos_queue.reports.trajectory import gold_text
from lumos_queue.scoring.statistics import wilson
from tests.fake_endpoint import FakeEndpoint


@pytest.fixture
def agent(tmp_path):
    """Options for a scripted agent that solves the first `right` test tasks of wordmath in one pass."""

    def write(right: int, otherwise: str | None = "R1 = Calculator(0 - 1)") -> list[str]:
        benchmark = open_benchmark("wordmath")
        rules = []
        for _, task in zip(range(right), benchmark.read(None, "test"), strict=False):
            actions = [action for step in benchmark.gold(task).steps for action in step.actions]
            reply = "; ".join(f"{', '.join(one.variables)} = {one.name}({one.arguments})" for one in actions)
            rules.append({"contains": task.question, "reply": reply})
        if otherwise is not None:
            rules.append({"contains": "", "reply": otherwise})
        (tmp_path / "planner.json").write_text('[{"contains": "", "reply": "Subgoal 1: Solve it."}]')
        (tmp_path / "grounder.json").write_text(json.dumps(rules))
        urls = {role: f"scripted:{tmp_path / role}.json" for role in ("planner", "grounder")}
        return ["--planner", urls["planner"], "--grounder", urls["grounder"], "--formulation", "one-pass"]

    return write


def result(ran) -> dict:
    """The last line of standard output, which must be its only one."""
    assert len(ran.lines) == 1
    return json.loads(ran.lines[0])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["evaluate", "nope", "--agent", "starter"], "No benchmark called 'nope'. Choose one of: aokvqa, asdiv"),
        (["evaluate", "wordmath", "--agent", "nope"], "No agent called 'nope'. Choose one of: starter, starter-s"),
        (["evaluate", "wordmath", "--agent", "starter", "--formulation", "nope"], "Choose one of: caption, cot"),
        (["evaluate", "wordmath", "--agent", "starter", "--framing", "nope"], "Choose one of: eval, train."),
        (
            ["evaluate", "wordmath", "--agent", "starter", "--split", "nope"],
            "Choose one of: dev, familiar, test, train.",
        ),
        (["evaluate", "wordmath", "--planner", "nope://h", "--grounder", "tgi://h"], "No endpoint scheme called"),
        (["evaluate", "wordmath", "--planner", "tgi://h:1"], "needs --planner URL and --grounder URL"),
        (["evaluate", "wordmath", "--planner", "tgi://127.0.0.1:9", "--grounder", "tgi://h"], "nothing answers"),
        (["evaluate", "gsm8k", "--planner", "tgi://h:1", "--grounder", "tgi://h:1"], "get gsm8k/test.jsonl; or"),
        (
            ["evaluate", "wordmath", "--limit", "many"],
            "--limit is 'many': expected a whole number from 0 to 2,147,483,647.",
        ),
        (["evaluate", "wordmath", "--nope"], "No such option: --nope"),
        (["evaluate"], "Missing argument 'BENCHMARK|FILE'"),
        (["nope"], "No such command: nope"),
        (["convert", "wordmath"], "--deterministic"),
        (["worker", "--pools", "nope"], "No pool called 'nope'. Choose one of: cpu, gpu, llm."),
        (["show", "nope"], "expected JOB-NUMBER"),
        (["jobs"], "There is no database at"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2_and_leaves_nothing_behind(lumos, arguments, told):
    ran = lumos(*arguments)
    assert ran.code == 2
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""
    assert not lumos.home.exists()


def test_a_secret_in_a_url_is_refused_and_not_repeated(lumos):
    ran = lumos("evaluate", "wordmath", "--planner", "tgi://me:hunter2@host:80", "--grounder", "tgi://host:80")
    assert ran.code == 2
    assert "LUMOS_API_KEYS" in ran.err
    assert "hunter2" not in ran.err


def test_with_json_an_error_is_an_object_on_the_last_line(lumos):
    ran = lumos("report", "nope", "--json")
    assert ran.code == 2
    assert "There is no database" in result(ran)["error"]
    assert "There is no database" in ran.err


def test_an_evaluation_reports_what_it_must(lumos, agent):
    report = result(lumos("evaluate", "wordmath", "--limit", "10", "--json", *agent(7)))
    assert {"job", "seconds", "tokens", "endings"} <= report.keys()
    assert (report["n"], report["correct"], report["value"], report["complete"]) == (10, 7, 0.7, True)
    assert report["ci95"] == pytest.approx(wilson(7, 10), abs=1e-6)
    assert report["endings"] == {"answered": 10}
    assert report["calls"] == 20
    assert report["calls_as_expected"] == {"episodes": 10, "as_expected": 10}
    assert 0 < report["baselines"]["best constant"]["value"] < 1
    assert report["metrics"]["strict"]["of"] == 10


def test_the_same_request_again_shows_the_job_that_was_made_before(lumos, agent):
    options = ["evaluate", "wordmath", "--limit", "3", "--json", *agent(3)]
    first, second, third = result(lumos(*options)), lumos(*options), result(lumos(*options, "--again"))
    assert result(second) == first
    assert "the same request" in second.err
    assert third["job"] != first["job"]
    assert len(result(lumos("jobs", "--json"))["jobs"]) == 2


def test_infrastructure_failures_leave_a_report_incomplete_between_both_bounds(lumos, agent):
    """No rule fits the last three prompts: the endpoint is at fault, not the agent."""
    report = result(lumos("evaluate", "wordmath", "--limit", "10", "--json", *agent(7, otherwise=None)))
    assert report["endings"] == {"answered": 7, "infra_error": 3}
    assert (report["complete"], report["bounds"]) == (False, [0.7, 1.0])
    assert report["ci95"] == pytest.approx([wilson(7, 10)[0], 1.0], abs=1e-6)
    assert "incomplete: 70.0 to 100.0 %" in lumos("report", report["job"]).out


def test_samples_of_one_task_do_not_narrow_the_interval(lumos, agent):
    report = result(lumos("evaluate", "wordmath", "--limit", "10", "--samples", "4", "--json", *agent(7)))
    assert (report["n"], report["correct"]) == (40, 28)
    assert report["ci95"] == pytest.approx(wilson(7, 10), abs=1e-6)


def test_the_interval_counts_what_is_missing_as_wrong_and_as_right():
    def interval(judged, tasks, samples=1):
        job = SimpleNamespace(items=tasks * samples, spec={"samples": samples})
        keyed = {key: Task("b", "d", str(key), "q") for key in range(1, tasks + 1)}
        found = as_json(scores(job, {"accuracy": [(task, value, 1) for task, value in judged]}, ("accuracy",), keyed))
        return found["ci95"]

    def near(low, high):
        return pytest.approx([low, high], abs=1e-6)

    wrong, mixed = [(1, 0.0), (1, 0.0), (2, 0.0), (2, 0.0)], [(1, 1.0), (1, 0.0), (2, 0.0), (2, 1.0)]
    assert interval([], 2, 2) == near(wilson(0, 2)[0], wilson(2, 2)[1])
    assert interval(wrong, 2, 2) == near(*wilson(0, 2))
    assert interval(mixed, 2, 2)[0] > wilson(1, 2)[0], "samples that differ within a task say a little more"
    assert interval([(1, 1.0)], 4) == near(wilson(1, 4)[0], wilson(4, 4)[1])


def test_an_unfinished_metric_has_bounds_and_a_main_metric_alone_is_required():
    job = SimpleNamespace(items=3, spec={})
    keyed = {key: Task("b", "d", str(key), "q") for key in (1, 2, 3)}
    values = {"step_success": [(1, 0.5, 2), (2, 1.0, 6)], "task_success": [(2, 1.0, 1)]}
    found = as_json(scores(job, values, ("step_success", "task_success", "never_given"), keyed))
    assert found["metric"] == "step_success" and not found["complete"] and "correct" not in found
    assert found["bounds"] == pytest.approx([7 / 12, 11 / 12], abs=1e-6), "what is owed is as heavy as what is judged"
    assert found["metrics"]["task_success"]["of"] == 2 and list(found["metrics"]) == ["step_success", "task_success"]


@pytest.mark.parametrize(
    ("formulation", "subgoals", "calls"),
    [("one-pass", 0, 2), ("one-pass", 5, 2), ("iterative", 0, 1), ("iterative", 3, 7), ("iterative", 8, 16)],
)
def test_expected_calls(formulation, subgoals, calls):
    assert FORMULATIONS.load(formulation).expected_calls(subgoals, 8) == calls


def test_every_report_names_what_an_answer_at_the_limit_is_worth(lumos, agent):
    options = ["evaluate", "wordmath", "--limit", "2", *agent(2), "--formulation", "iterative", "--json"]
    counted, wrong = result(lumos(*options)), result(lumos(*options, "--at-limit", "wrong"))
    for report, at_limit, correct in [(counted, "conclude", 2), (wrong, "wrong", 0)]:
        assert report["endings"] == {"limit": 2} and report["correct"] == correct
        assert report["scoring"] == {"at_limit": at_limit, "versions": {"accuracy": {"3": 2}, "strict": {"1": 2}}}
        assert report["formulation_version"] == 4
    assert counted["job"] != wrong["job"], "it is part of the agent"
    shown = lumos("report", counted["job"], wrong["job"], "--all").out
    assert re.findall(r"^answer at the limit +(\S+)$", shown, re.M) == ["conclude", "wrong"]
    assert re.findall(r"^scorer of accuracy +(.+)$", shown, re.M) == ["3 (2 episodes)"] * 2
    assert re.findall(r"^formulation +(.+)$", shown, re.M) == ["iterative version 4"] * 2
    assert "--at-limit must be one of wrong, conclude, not 'nope'." in lumos(*options, "--at-limit", "nope").err
    assert "has no limit of subgoals" in lumos(*options, "--formulation", "one-pass", "--at-limit", "conclude").err


def test_reports_of_two_formulations_stand_side_by_side_and_others_apart(lumos, agent):
    options = agent(2)
    one_pass = result(lumos("evaluate", "wordmath", "--limit", "2", "--json", *options))["job"]
    iterative = result(lumos("evaluate", "wordmath", "--limit", "2", "--json", *options, "--formulation", "iterative"))
    converted = result(lumos("convert", "wordmath", "--split", "dev", "--deterministic", "--limit", "5", "--json"))
    assert iterative["endings"] == {"limit": 2}
    assert iterative["calls_as_expected"] == {"episodes": 2, "as_expected": 2}
    assert (converted["metric"], converted["value"]) == ("executed", 1.0)
    shown = lumos("report", one_pass, iterative["job"], converted["job"]).out
    assert "evaluate wordmath (test)" in shown
    assert "convert wordmath (dev)" in shown
    assert shown.count("best rule without a model") == 1
    whole = lumos("report", one_pass, iterative["job"], converted["job"], "--all").out
    assert re.search(r"^rule: best constant +\d", whole, re.M)
    assert re.search(r" episodes with expected calls: 2 of 2$", whole, re.M)


def test_inference_keeps_answers_without_judging_them(lumos, agent):
    report = result(lumos("infer", "wordmath", "--limit", "2", "--json", *agent(2)))
    assert report["endings"] == {"answered": 2}
    assert "accuracy" not in report


def test_wrong_episodes_can_be_found_and_shown(lumos, agent):
    job = result(lumos("evaluate", "wordmath", "--limit", "4", "--json", *agent(3)))["job"]
    wrong = result(lumos("episodes", job, "--where", "score<1", "--json"))["episodes"]
    assert [one["episode"] for one in wrong] == [f"{job}-3"]
    shown = lumos("show", f"{job}-3")
    assert "Subgoal 1: Solve it." in shown.out
    assert "R1 = Calculator(0 - 1)" in shown.out
    assert "Please ground" not in shown.out
    assert "Please ground" in lumos("show", f"{job[:6]}-3", "--prompts").out


def test_one_pass_puts_each_action_beside_a_subgoal_and_iterative_beside_its_own():
    def steps(*parts: str) -> list[Step]:
        texts = [part.split("|") for part in parts]
        return [Step(at=str(at), who=who, what=what, result=result) for at, (who, what, result) in enumerate(texts)]

    def lanes(parts: list[Step]) -> list[list[str]]:
        return [with_markup(row) for _, row in plan_rows(parts)]

    one_pass = steps("planner|P|", "subgoal|S1|", "subgoal|S2|", "grounder|G|", "tool|A1|1", "tool|A2|2", "tool|A3|3")
    assert lanes(one_pass) == [["S1", "A1", "1"], ["S2", "A2", "2"], ["", "A3", "3"]]
    iterative = steps(
        "planner|P|",
        "subgoal|S1|",
        "grounder|G|",
        "tool|A1|1",
        "planner|P|",
        "subgoal|S2|",
        "grounder|unread|",
        "planner|stop|",
    )
    assert lanes(iterative) == [["S1", "A1", "1"], ["S2", "", ""], ["", "[dim]unread[/]", ""], ["[dim]stop[/]", "", ""]]


def test_an_episode_without_steps_shows_why(lumos, tmp_path):
    """No rule converts the second row: all that is stored of it is why."""
    file = tmp_path / "rows.jsonl"
    rows = ("#### 5", "It is <<2+3=6>>6\n#### 6", "It is <<2+3=5>>5\n#### 5")
    records = ({"question": f"2 and 3. How many, [b]{row[-1]}?", "answer": row} for row in rows)
    file.write_text("\n".join(map(json.dumps, records)))
    report = result(lumos("convert", "gsm8k", "--data", str(file), "--deterministic", "--json"))
    name = f"{report['job']}-0"
    shown = result(lumos("show", name, "--json"))
    assert (shown["steps"], shown["ending"], shown["answer"]) == ([], "unreadable", None)
    assert {(one["module"], one["name"]) for one in shown["verdicts"]} == {
        ("planner", "no_mark"),
        ("grounder", "no_mark"),
    }
    told = lumos("show", name).out
    assert "How many, [b]5?" in told
    assert "no steps are stored" in told
    assert "unreadable  answer none  gold 5" in told
    assert "rejects the planner's row: no_mark" in told
    listed = result(lumos("episodes", report["job"], "--json"))["episodes"]
    assert [one["level"] != "" for one in listed] == [False, False, True]


def shown_episode(name: str, **others) -> EpisodeLine:
    usual = EpisodeLine(
        episode=name,
        gold="5",
        score=1.0,
        ending="answered",
        answer="5",
        calls=2,
        question="How many?",
        benchmark="gsm8k",
        formulation="iterative",
        sample=0,
        origin="run",
        level="",
    )
    return replace(usual, **others)


def test_a_list_of_episodes_leaves_out_what_says_nothing_and_keeps_to_the_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = {"question": "How many " * 30, "answer": "x" * 60, "score": None, "gold": None, "level": "perturbed"}
    print_episodes([shown_episode("k3f9a2cd-1"), shown_episode("k3f9a2cd-22", **long)], one_job=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["episode", "benchmark", "level", "score", "ending", "answer", "gold", "calls"]
    assert lines[1].split() == ["k3f9a2cd-1", "gsm8k", "1", "answered", "5", "5", "2"]
    assert lines[2] == "  How many?"
    assert lines[3].split() == ["k3f9a2cd-22", "gsm8k", "perturbed", "answered", "x" * 23 + "…", "2"]
    assert lines[4].endswith("…")
    assert len(lines[4]) <= 80
    assert len(lines) == 5
    print_episodes([shown_episode("k3f9a2cd-1", calls=0, gold=None, score=None)], one_job=True)
    assert capsys.readouterr().out.splitlines()[0].split() == ["episode", "ending", "answer"]


def test_a_gold_answer_that_is_not_known_is_empty():
    assert [gold_text(one) for one in (None, {"answer": None}, {"answer": 0}, "yes", {"a": 1})] == [
        "",
        "",
        "0",
        "yes",
        "{'a': 1}",
    ]


def test_text_of_a_model_cannot_command_the_terminal():
    assert escape("a\x1b[31mb\x9b\n[bold]c") == "a\ufffd\\[31mb\ufffd\n\\[bold]c"


def test_bad_rows_stop_a_job_or_are_left_out_and_counted(lumos, agent, tmp_path):
    file = tmp_path / "rows.jsonl"
    good = '{"question": "How many are 2 and 3?", "answer": "It is <<2+3=5>>5\\n#### 5"}\n'
    file.write_text(good + '{"question": 7, "answer": "#### 1"}\n' * 7 + "no json\n")
    options = ["evaluate", "gsm8k", "--data", str(file), *agent(0)]
    refused = lumos(*options)
    assert refused.code == 2
    assert "8 rows (row 2, field 'question'" in refused.err
    assert "and 3 more" in refused.err
    assert not lumos.home.exists()
    ran = lumos(*options, "--skip-bad-rows", "--json")
    assert result(ran)["n"] == 1
    assert "skipped 8 bad rows of 9" in ran.err


def test_a_file_of_bad_rows_only_names_the_first(lumos, agent, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"question": 7, "answer": "#### 1"}\n')
    ran = lumos("evaluate", "gsm8k", "--data", str(file), "--skip-bad-rows", *agent(0))
    assert ran.code == 2
    assert "no row can be read: 1 row (row 1, field 'question'" in ran.err


def test_a_database_of_another_revision_is_refused_until_it_is_upgraded(lumos, agent):
    lumos.home.mkdir()
    with sqlite3.connect(lumos.home / "lumos.db") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('0000')")
    connection.close()
    ran = lumos("evaluate", "wordmath", "--limit", "1", *agent(0))
    assert ran.code == 2
    assert "Run: lumos db upgrade" in ran.err


def test_a_file_that_is_no_database_is_one_line(lumos):
    lumos.home.mkdir()
    (lumos.home / "lumos.db").write_text("not a database at all")
    assert lumos("jobs").err == "lumos: The database failed: file is not a database. Check it with: lumos doctor\n"
    assert "file is not a database" in lumos("doctor").out


def test_db_upgrade_makes_the_tables_and_doctor_finds_them(lumos):
    assert result(lumos("db", "upgrade", "--json"))["before"] is None
    assert result(lumos("jobs", "--json")) == {"jobs": [], "more": False, "endpoints": []}
    findings = {one["what"]: one for one in result(lumos("doctor", "--json"))["findings"]}
    assert findings["database"]["fine"] is True
    assert findings["broker"]["fine"] is None


def test_framing_eval_sends_no_bos_and_the_report_names_who_puts_it_there_all_the_same(lumos, tmp_path):
    with FakeEndpoint(lambda prompt: "Yes, I will stop planning.", keep_bodies=True) as server:
        for url, field, told in (
            (server.openai, False, "none"),
            (
                server.tgi,
                None,
                f"none, but {server.tgi} decides itself whether <s> precedes a prompt, also with --framing eval",
            ),
        ):
            options = ["--limit", "1", "--planner", url, "--grounder", url, "--json"]
            report = result(lumos("evaluate", "wordmath", "--framing", "eval", *options))
            assert server.bodies[-1].get("add_special_tokens") is field
            assert report["tools"]["<s>"] == told
            assert "<s>" not in result(lumos("evaluate", "wordmath", *options))["tools"]
            assert server.bodies[-1].get("add_special_tokens") is None
        found = [
            result(lumos("doctor", "--planner", url, "--json"))["findings"][-2]["found"]
            for url in (server.openai, server.tgi)
        ]
    assert ["decides itself whether <s>" in one for one in found] == [False, True]


def test_doctor_fails_for_an_endpoint_that_does_not_answer(lumos):
    ran = lumos("doctor", "--planner", "tgi://127.0.0.1:9", "--json")
    assert ran.code == 1
    assert "nothing answers" in result(ran)["findings"][-1]["found"]


def test_a_finished_job_can_be_removed_with_all_it_stored(lumos, agent):
    job = result(lumos("evaluate", "wordmath", "--limit", "2", "--json", *agent(1)))["job"]
    assert result(lumos("resume", job, "--json"))["state"] == "done"
    assert result(lumos("rm", job, "--yes", "--json")) == {"job": job, "removed": True}
    assert f"No job has an id that starts with '{job}'" in lumos("report", job).err


def test_a_deployment_stores_the_job_and_leaves_it_to_others(lumos, agent, monkeypatch):
    lumos.set(LUMOS_BROKER_URL="redis://127.0.0.1:9/0")
    ran = lumos("evaluate", "wordmath", "--limit", "2", *agent(1))
    job = ran.out.strip()
    assert ran.code == 0
    assert f"lumos report {job}" in ran.err
    assert result(lumos("job", job, "--json"))["items"] == {"owed": 2}
    report = result(lumos("report", job, "--json"))
    assert (report["complete"], report["bounds"]) == (False, [0.0, 1.0])
    assert result(lumos("cancel", job, "--json"))["state"] == "cancelled"
    monkeypatch.delenv("LUMOS_BROKER_URL")
    assert result(lumos("resume", job, "--json"))["correct"] == 1
