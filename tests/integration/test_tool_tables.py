"""`lumos papers` on stored jobs of tool agents: small jobs over HTTP, judged, each figure made again from its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from lumos_queue.benchmarks.toolbench.rows import FILES
from lumos_queue.cli.main import app, main
from lumos_queue.settings import read_settings
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import command
from tests.parcel_agents import judge, policy, state_agent, write_queries, write_records

CHATGPT, JUDGE = "gpt-3.5-turbo", "gpt-3.5-turbo-16k"


class Jobs:
    """Submits jobs on the small data set through the command line."""

    def __init__(self, folder: Path, capsys: Any):
        self._capsys, self.records = capsys, write_records(folder / "answers.jsonl")
        self.queries = write_queries(folder / "queries")

    def evaluate(self, formulation: str, split: str, *options: str, model: str = CHATGPT, protocol: str = "") -> str:
        """Return the job's id. `protocol`: of `react` and `dfsdt`; '': as the papers' commands name it."""
        if formulation in ("react", "dfsdt"):
            options = (*options, "--setting", f"protocol={protocol or 'toolbench'}")
        reply, roles = (state_agent, ("router", "state_manager")) if formulation == "sum2act" else (policy, ("policy",))
        with FakeEndpoint(reply, model=model) as server:
            asked = [word for role in roles for word in ("--role", f"{role}={server.tgi}")]
            code, report = command(
                app,
                self._capsys,
                "evaluate",
                "toolbench",
                "--data",
                str(self.queries),
                "--split",
                split,
                "--formulation",
                formulation,
                "--tool",
                f"records={self.records}",
                "--published",
                *asked,
                *options,
            )
        assert code == 0
        return report["job"]

    def judge(self, job: str, *options: str, model: str = JUDGE, votes: str = "4") -> dict[str, Any]:
        with FakeEndpoint(judge, model=model) as server:
            code, report = command(
                app, self._capsys, "judge", job, "--role", f"judge={server.tgi}", "--votes", votes, *options
            )
        assert code == 0
        return report

    def report(self, job: str) -> dict[str, Any]:
        code, report = command(app, self._capsys, "report", job)
        assert code == 0
        return report

    def table(self, what: str) -> list[dict[str, Any]]:
        code, shown = command(app, self._capsys, "papers", what)
        assert code == 0
        return shown["tables"][0]["rows"]


@pytest.fixture
def jobs(tmp_path, monkeypatch, capsys) -> Jobs:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return Jobs(tmp_path, capsys)


def rows_of(query: str, **values: Any) -> list[tuple]:
    database = open_database(read_settings().database)
    with database.engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text(query), values)]
    database.close()
    return found


def test_figures_stand_beside_the_published_ones_and_lead_to_their_rows(jobs):
    react = jobs.evaluate("react", "I2-cat")
    (waiting,) = jobs.table("sum2act-pass/ReAct-CoT/I2-cat")
    assert waiting["commands"] == [f"lumos judge {react} --votes 4 --role judge=URL"]
    assert waiting["commands"][0] in waiting["status"] and "ours" not in waiting
    report = jobs.judge(react)
    (found,) = jobs.table("sum2act-pass/ReAct-CoT/I2-cat")
    stated = "rows stated to be the published ones"
    assert found["status"] == f"other answers: 1 of 3 not recorded; {stated}; n differs: 3 of 100"
    assert found["published"] == "39.0"
    ours = found["ours"]
    assert (ours["job"], ours["runs"], ours["n"], ours["of"]) == (report["job"], react, "3", 3)
    votes = rows_of(
        "SELECT s.value, t.inputs FROM v_scores s JOIN v_episodes e ON e.episode_id = s.episode_id "
        "JOIN task t ON t.id = e.task_id WHERE e.job = :job AND s.metric = 'tooleval_pass'",
        job=ours["job"],
    )
    assert ours["value"] == pytest.approx(100 * sum(value for value, _ in votes) / 3, abs=0.01) and len(votes) == 3
    judged = {json.loads(inputs)["from"]["episode"] for _, inputs in votes}
    assert judged == {f"{react}-{place}" for place in range(3)}, "each says which run it judges"
    assert ours["ci95"] == [round(100 * bound, 2) for bound in report["metrics"]["tooleval_pass"]["ci95"]]
    calls = rows_of("SELECT count(*), sum(prompt_tokens + completion_tokens) FROM v_calls WHERE job = :job", job=react)
    assert ours["spent"] == {
        "passed": sum(value for value, _ in votes),
        "model_calls": calls[0][0],
        "tokens": calls[0][1],
        "tool_calls": 3,
    }
    assert calls[0][0] == 6 and ours["spent"]["passed"] == 1
    assert "ours" not in jobs.table("sum2act-pass/ReAct-CoT/I1-cat")[0], "another subset is another figure"
    (other,) = jobs.table("stabletoolbench-sopr/CoT/I2-cat")
    assert "policy is gpt-3.5-turbo, not gpt-3.5-turbo-0613" in other["status"]
    assert "judge is gpt-3.5-turbo-16k, not gpt-4-turbo" in other["status"] and other["published_n"] == "124"


def test_a_win_rate_is_of_both_jobs_and_only_of_these(jobs):
    sum2act, react = jobs.evaluate("sum2act", "I1-inst"), jobs.evaluate("react", "I1-inst")
    (waiting,) = jobs.table("sum2act-win/Sum2Act-vs-ReAct-CoT/I1-inst")
    assert waiting["commands"] == [f"lumos judge {sum2act} --against {react} --votes 4 --role judge=URL"]
    (half,) = jobs.table("sum2act-win/Sum2Act-vs-DFSDT/I1-inst")
    assert [one.split()[1] for one in half["commands"]] == ["evaluate", "judge"] and sum2act in half["commands"][1]
    report = jobs.judge(sum2act, "--against", react)
    (found,) = jobs.table("sum2act-win/Sum2Act-vs-ReAct-CoT/I1-inst")
    ours = found["ours"]
    assert (ours["job"], ours["runs"], ours["against"]) == (report["job"], sum2act, react) and "spent" not in ours
    assert ours["value"] == round(100 * report["metrics"]["win"]["value"], 2) > 50
    assert "against: 1 of 3 not recorded" in found["status"]
    assert "ours" not in jobs.table("sum2act-win/Sum2Act-vs-DFSDT/I1-inst")[0]
    assert "ours" not in jobs.table("sum2act-win/DFSDT-vs-ReAct-CoT/I1-inst")[0]
    assert jobs.table("sum2act-pass/Sum2Act/I1-inst")[0]["ours"]["job"] == report["job"], "its own votes count, too"
    assert "ours" not in jobs.table("sum2act-pass/Sum2Act-decomposed/I1-inst")[0], "without decomposition"
    assert "ours" not in jobs.table("sum2act-pass/ReAct-CoT/I1-inst")[0], "the other job's votes are not its own"


def replace_answers(job: str, answer: dict[str, Any]) -> None:
    """Store this verdict for each run of a judge's job."""
    database = open_database(read_settings().database)
    with database.engine.begin() as connection:
        query = text("UPDATE episode SET answer = :answer WHERE job = :job")
        connection.execute(query, {"answer": json.dumps(answer), "job": job})
    database.close()


def test_a_row_is_filled_by_toolevals_rule(jobs):
    """A row names the rule. Where earlier votes do not determine it, it is by the rule `ours`, with a remark."""
    sum2act, react = jobs.evaluate("sum2act", "I1-inst"), jobs.evaluate("react", "I1-inst")
    report = jobs.judge(sum2act, "--against", react)
    win, passed = jobs.table("sum2act-win/Sum2Act-vs-ReAct-CoT/I1-inst"), jobs.table("sum2act-pass/Sum2Act/I1-inst")
    for (row,), metric in ((win, "win"), (passed, "tooleval_pass")):
        figure = report["rules"]["tooleval"][metric]
        assert row["ours"]["rule"] == "tooleval" and "other rule" not in row["status"]
        assert row["ours"]["value"] == round(100 * figure["value"], 2)
        assert row["ours"]["ci95"] == [round(100 * bound, 2) for bound in figure["ci95"]]
    assert "rule" not in jobs.table("stabletoolbench-sopr/CoT/I2-cat")[0].get("ours", {})
    run = {"ended": "answered", "votes": [{"answer": "solved"}] * 4}
    rounds = [{"win": 0.5, "preferences": []}] * 4  # as version 3 stored equal answers
    replace_answers(report["job"], {"run": run, "against": run, "rounds": rounds, "unreadable": 0})
    (row,) = jobs.table("sum2act-win/Sum2Act-vs-ReAct-CoT/I1-inst")
    assert row["ours"]["rule"] == "ours" and row["ours"]["value"] == round(100 * report["metrics"]["win"]["value"], 2)
    assert "other rule: counted by rule=ours, as " in row["status"]
    assert jobs.table("sum2act-pass/Sum2Act/I1-inst")[0]["ours"]["rule"] == "tooleval", "whose votes are all there"
    missing = {"ended": "missing", "votes": [{"answer": "unsolved"}] * 4}
    replace_answers(report["job"], {"run": missing, "unreadable": 0})
    (row,) = jobs.table("sum2act-pass/Sum2Act/I1-inst")
    assert "3 runs without a result count as failed, which ToolEval leaves out" in row["status"]


def test_a_tolerant_run_has_a_remark_and_toolbench_goes_before_it(jobs):
    run = jobs.evaluate("react", "I2-cat", protocol="tolerant")
    assert jobs.report(run)["tools"]["protocol"] == "tolerant"
    tolerant = jobs.judge(run)
    (row,) = jobs.table("sum2act-pass/ReAct-CoT/I2-cat")
    assert row["ours"]["job"] == tolerant["job"]
    assert "other settings: protocol is tolerant, not toolbench" in row["status"]
    report = jobs.judge(jobs.evaluate("react", "I2-cat"))
    jobs.judge(jobs.evaluate("react", "I2-cat", "--seed", "3", protocol="tolerant"))
    (row,) = jobs.table("sum2act-pass/ReAct-CoT/I2-cat")
    assert row["ours"]["job"] == report["job"] and "protocol" not in row["status"]


def test_a_sum2act_run_of_an_earlier_version_has_a_remark(jobs):
    job = jobs.evaluate("sum2act", "I2-cat")
    jobs.judge(job)
    (row,) = jobs.table("sum2act-pass/Sum2Act/I2-cat")
    assert "formulation_version" not in row["status"]
    database = open_database(read_settings().database)
    with database.engine.begin() as connection:
        (spec,) = connection.execute(text("SELECT spec FROM job WHERE id = :job"), {"job": job}).one()
        spec = json.loads(spec)
        spec["infer"]["formulation_version"] = 3
        connection.execute(text("UPDATE job SET spec = :spec WHERE id = :job"), {"spec": json.dumps(spec), "job": job})
    database.close()
    (row,) = jobs.table("sum2act-pass/Sum2Act/I2-cat")
    assert "formulation_version is 3, not 4 or more" in row["status"]


def test_what_departs_is_said(jobs):
    run = jobs.evaluate(
        "sum2act",
        "I3-inst",
        "--setting",
        "decompose=yes",
        "--setting",
        "observation=500",
        "--setting",
        "steps=9",
        "--option",
        "tools=retrieved:2",
        "--tool",
        "answers=synthetic",
        "--limit",
        "3",
        model="toy",
    )
    jobs.judge(run, model="toy-judge", votes="1")
    (found,) = jobs.table("sum2act-pass/Sum2Act-decomposed/I3-inst")
    for said in (
        "other weights: router is toy, not gpt-3.5-turbo; state_manager is toy, not gpt-3.5-turbo",
        "judge is toy-judge, not gpt-3.5-turbo-16k",
        "steps is 9, not 30",
        "observation is 500, not 2048",
        "tools is retrieved:2, not oracle",
        "votes is 1, not 4 or more",
        "other answers: 1 of 3 synthetic",
        "n differs: 3 of 100",
    ):
        assert said in found["status"]
    assert found["ours"]["tools"]["state manager's observation"] == "500"
    plain = jobs.evaluate("sum2act", "I3-inst", "--setting", "decompose=yes")
    better = jobs.judge(plain)
    (found,) = jobs.table("sum2act-pass/Sum2Act-decomposed/I3-inst")
    assert found["ours"]["job"] == better["job"], "the named weights and limits go before others"


@pytest.fixture
def six(jobs) -> Iterator[Jobs]:
    for subset in FILES:  # the last one is smaller than the others, and all of it passes
        some = ("--limit", "1") if subset == "I3-inst" else ()
        jobs.judge(jobs.evaluate("react", subset, *some), votes="1")
    yield jobs


def test_the_mean_is_there_when_all_six_are(six, capsys):
    rows = six.table("toolbench-pass/ReACT")
    *subsets, mean = rows
    assert [one["split"] for one in rows] == [*FILES, "mean"] and mean["published"] == "40.2"
    assert mean["ours"]["value"] == pytest.approx(sum(one["ours"]["value"] for one in subsets) / 6, abs=0.01)
    low, high = mean["ours"]["ci95"]
    assert subsets[0]["ours"]["ci95"][0] < low < mean["ours"]["value"] < high < subsets[0]["ours"]["ci95"][1]
    assert mean["ours"]["value"] == pytest.approx(100 * (5 / 3 + 1) / 6, abs=0.01), "not weighted: that is 37.5"
    assert (
        mean["ours"]["rule"] == "tooleval" and mean["ours"]["n"] == "16" and mean["ours"]["spent"]["model_calls"] == 32
    )
    lost = six.table("toolbench-pass/ReACT/I3-inst")[0]["ours"]["job"]
    assert main(["rm", lost, "--yes"]) == 0
    capsys.readouterr()
    mean = six.table("toolbench-pass/ReACT")[-1]
    assert "ours" not in mean and mean["status"] == "not run: needs all six subsets, complete: I3-inst"


def test_people_see_costs_and_what_is_missing(jobs, monkeypatch, capsys):
    jobs.judge(jobs.evaluate("react", "I1-tool"))
    jobs.judge(jobs.evaluate("dfsdt", "I1-tool", "--limit", "3"), "--temperature", "1")
    for width in ("80", "100"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["papers", "sum2act-pass"]) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= int(width)
        words = " ".join(shown.split())
        assert (
            "counted by rule=tooleval" in words
            and "per pass: 6.0 model calls," in words
            and "3.0 tool calls (1 passed)" in words
        )
        assert "--split SUBSET --formulation react" in words and "judge.temperature is 1, not 0.2" in words
    assert main(["papers", "sum2act-visual"]) == 0
    assert capsys.readouterr().out.count("not run: needs lumos evaluate sum2act_visual") == 4


def test_rows_of_tool_agents_are_run_by_their_commands(jobs, capsys):
    assert main(["papers", "sum2act-win/Sum2Act-vs-DFSDT", "--run"]) == 2
    assert "lumos papers sum2act-win/Sum2Act-vs-DFSDT names the commands" in capsys.readouterr().err
