"""Jobs on a person's own file: on one machine, by workers elsewhere, after kills, and every command that opens them."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lumos_queue as lq
from tests.explorers import call_explorer
from tests.fake_endpoint import FakeEndpoint
from tests.services import CeleryWorker, wait_until

ROOT = Path(__file__).resolve().parents[2]
ROWS = 12
WRONG = 5  #: the answer of the scripted model to every odd row


def reply(prompt: str) -> str:
    """A scripted solver, planner and grounder: sums are right for even rows."""
    if "Should we stop planning?" in prompt:
        return "Yes, I will stop planning."
    first, second = re.findall(r"What is ([0-9]+) plus ([0-9]+)", prompt)[-1]
    total = int(first) + int(second) if int(first) % 2 == 0 else WRONG
    if "ground the given subgoal" in prompt:
        return f"R1 = Calculator({total} + 0)"
    return "Subgoal 1: Add." if "subgoal" in prompt.lower() else f"We add. Answer is {total}."


@pytest.fixture
def server():
    with FakeEndpoint(reply) as endpoint:
        yield endpoint


def write_rows(file: Path, rows: int = ROWS) -> Path:
    file.parent.mkdir(exist_ok=True)
    with file.open("w", newline="") as opened:
        table = csv.writer(opened)
        table.writerow(["question", "answer", "topic"])
        for number in range(rows):
            table.writerow([f"What is {number} plus 40?", number + 40, "even" if number % 2 == 0 else "odd"])
    return file


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The folder of the file, which is the current one."""
    write_rows(tmp_path / "mine" / "sums.csv")
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def evaluate(lumos, server, *options: str, file: str = "sums.csv") -> dict:
    return lumos("evaluate", file, "--solver", server.tgi, *options, "--json").json


def problem(result) -> str:
    """The line of a command that cannot be carried out; lines before it are remarks."""
    assert result.code == 2, result
    return result.err.strip().splitlines()[-1]


def test_without_a_model_the_option_of_a_solver_is_named(lumos, folder):
    line = problem(lumos("evaluate", "sums.csv", "--scorer", "includes"))
    assert "No model is named: give --solver URL" in line and "qa" not in line


def test_a_csv_is_evaluated_with_a_solver_alone(lumos, folder, server):
    result = lumos("evaluate", "sums.csv", "--solver", server.tgi)
    assert result.code == 0
    assert "fields: question=question, answer=answer; scorer: number (12 of 12 answers are numbers)" in result.err
    [job] = lumos("jobs", "--json").json["jobs"]
    spec = lumos("job", job["job"], "--json").json["spec"]["infer"]
    assert (spec["benchmark"], spec["split"], spec["formulation"]) == ("file:sums", "own", "cot")
    assert spec["definition"]["domain"] == "maths" and spec["agent"]["domain"] == "maths"
    report = lumos("report", job["job"], "--by", "topic", "--json").json
    assert report["metrics"]["accuracy"]["value"] == 0.5
    assert all("topic" not in server_prompt for server_prompt in stored_prompts(lumos, job["job"]))


def stored_prompts(lumos, job: str) -> list[str]:
    shown = (lumos("show", f"{job}-{number}", "--json").json for number in range(ROWS))
    return [str(step.get("prompt", "")) for episode in shown for step in episode.get("steps", ())]


def test_workers_need_neither_the_file_nor_its_folder(
    lumos, folder, server, redis_server, postgres_server, tmp_path, monkeypatch
):
    alone = evaluate(lumos, server)
    lumos.set(LUMOS_HOME=tmp_path / "other home", LUMOS_DATABASE_URL=postgres_server.fresh())
    lumos.set(LUMOS_BROKER_URL=redis_server.fresh())
    job = lumos("evaluate", "sums.csv", "--solver", server.tgi).out.strip()
    (folder / "sums.csv").unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    urls = {"broker_url": os.environ["LUMOS_BROKER_URL"], "database_url": os.environ["LUMOS_DATABASE_URL"]}

    def finished(name: str) -> dict:
        wait_until(
            lambda: lumos("jobs", "--where", f"job={name}", "--json").json["jobs"][0]["state"] == "done", name, 90
        )
        return lumos("report", name, "--json").json

    with CeleryWorker(elsewhere, "cpu,llm", **urls, heartbeat_seconds="0.3"):
        report = finished(job)
        again = lumos("rerun", job, "--formulation", "direct").out.strip()
        more = lumos("extend", job, "--samples", "2").out.strip()
        assert finished(again)["n"] == ROWS
        assert finished(more)["adopted"]["episodes"] == ROWS
    for name in ("metrics", "endings", "baselines", "calls"):
        assert report[name] == alone[name]
    compared = lumos("compare", job, again, "--json").json
    assert compared["comparisons"][0]["pairs"] == ROWS
    assert "file:sums" in lumos("job", again).out


def test_a_killed_job_is_resumed_without_its_file(lumos, folder, tmp_path):
    with FakeEndpoint(reply, latency=0.2, slots=1) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "lumos_queue.cli.main", "evaluate", "sums.csv", "--solver", server.tgi],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        wait_until(lambda: server.count >= 4, "a few calls", 60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        (folder / "sums.csv").unlink()
        server.control({"latency": 0.0})
        [job] = lumos("jobs", "--json").json["jobs"]
        assert job["state"] != "done"
        lumos.set(LUMOS_HEARTBEAT_SECONDS="0.2", LUMOS_FENCE_SECONDS="0.5", LUMOS_LEASE_SECONDS="1")
        report = lumos("resume", job["job"], "--json").json
    assert (report["n"], report["metrics"]["accuracy"]["value"]) == (ROWS, 0.5)
    assert report["calls"] == ROWS


def test_every_command_opens_the_stored_job_without_its_file(lumos, folder, server, tmp_path):
    agent = ("--planner", server.tgi, "--grounder", server.tgi)
    planned = lumos("evaluate", "sums.csv", *agent, "--limit", "4", "--json").json["job"]
    solved = evaluate(lumos, server)["job"]
    (folder / "sums.csv").unlink()
    assert lumos("show", f"{solved}-0").out.startswith(f"{solved}-0  file:sums row 1  cot")
    assert len(lumos("episodes", "--where", f"job={solved} score<1", "--json").json["episodes"]) == ROWS // 2
    assert lumos("jobs", "--where", "benchmark=file:sums", "--json").json["jobs"]
    assert "scorer" in lumos("job", solved).out
    assert lumos("rerun", solved, "--json").json["metrics"]["accuracy"]["value"] == 0.5
    assert lumos("rerun", solved, "--where", "score=0", "--json").json["n"] == ROWS // 2
    assert lumos("extend", planned, "--limit", "6", "--json").json["n"] == 6
    assert lumos("resume", solved).code == 0
    assert lumos("compare", solved, planned, "--common", "--json").json["comparisons"][0]["pairs"] == 4
    assert lumos("rollouts", "--where", f"job={planned}", *agent).code == 0
    rolled = lumos("jobs", "--json").json["jobs"][0]["job"]
    assert lumos("rollouts", "report", rolled, "--json").json["episodes"] == 4
    assert lumos("reground", "--where", f"job={planned}", "--grounder", server.tgi).code == 0
    assert "no gold annotation" in problem(lumos("blame", "--where", f"job={planned} score<1", *agent))
    for scorer in ("same_words", "other_reader"):
        assert lumos("score", solved, "--scorer", scorer).code == 0
    assert lumos("label", f"{solved}-1", "wrong").code == 0
    assert lumos("audit", "draw", "first", "--runs", "--where", f"job={solved}", "--size", "3").code == 0
    assert lumos("audit", "report", "first").code == 0
    for kind in ("html", "md"):
        assert lumos("report", solved, planned, f"--{kind}", tmp_path / f"report.{kind}").code == 0
    assert "file:sums" not in lumos("papers").out
    assert lumos("rm", planned, "--yes").code == 0


def test_a_stored_name_alone_is_refused_in_one_line(lumos, folder, server):
    evaluate(lumos, server)
    for command in (
        ("evaluate", "file:sums", "--solver", server.tgi),
        ("convert", "file:sums", "--deterministic"),
        ("train", "rltf", "file:sums", "--from", "/tmp", "--folder", folder / "new"),
    ):
        assert "lumos rerun JOB" in problem(lumos(*command))
    assert "No benchmark called 'sums.csv'" in problem(
        lumos("train", "rltf", "sums.csv", "--from", "/tmp", "--folder", folder / "new")
    )


def test_files_of_one_title_are_not_mixed(lumos, folder, server):
    first = evaluate(lumos, server)["job"]
    second = evaluate(lumos, server, "--scorer", "exact")["job"]
    told = problem(lumos("compare", first, second))
    assert "'number' in job" in told and "'exact' in job" in told
    assert "scored by" in problem(lumos("compare", first, second, "--common"))
    shown = lumos("report", first, second)
    assert shown.code == 0 and "scorer number" in shown.out and "scorer exact" in shown.out
    write_rows(folder / "sums.csv", 8)
    third = evaluate(lumos, server)["job"]
    assert "other rows" in problem(lumos("compare", first, third))
    assert lumos("compare", first, third, "--common", "--json").json["comparisons"][0]["pairs"] == 8


def test_a_settings_file_describes_the_rows(lumos, folder, server, monkeypatch):
    (folder / "bench.toml").write_text('data = "sums.csv"\nanswer = ["answer"]\nscorer = "includes"\nlicence = "MIT"\n')
    monkeypatch.chdir("/")
    job = evaluate(lumos, server, "--title", "other", file=str(folder / "bench.toml"))["job"]
    spec = lumos("job", job, "--json").json["spec"]["infer"]
    definition = spec["definition"]
    assert (spec["benchmark"], definition["scorer"], definition["licence"]) == ("file:other", "includes", "MIT")
    job = evaluate(lumos, server, "--scorer", "number", "--split", "dev", file=str(folder / "bench.toml"))["job"]
    spec = lumos("job", job, "--json").json["spec"]["infer"]
    assert (spec["benchmark"], spec["definition"]["scorer"], spec["split"]) == ("file:bench", "number", "dev")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('data = "sums.csv"\nquestin = "q"', "Did you mean 'question'? Choose one of: answer, choices, data"),
        ("[x", "is not TOML"),
        ('scorer = "f1"', "names no data"),
        ("data = 3", "data is 3: expected a text"),
        ('data = "sums.csv"\nanswer = [1]', "answer is 1: expected a text"),
        ('data = "sums.csv"\nvotes = "two"', "votes is 'two': expected a whole number"),
        ('data = "sums.csv"\nrubric = "none.txt"', "none.txt' cannot be read"),
        ('data = "missing.csv"', "missing.csv"),
        ('data = "sums.csv"\n\xff', "not UTF-8"),
    ],
)
def test_a_bad_settings_file_is_one_line(lumos, folder, server, content, told):
    (folder / "bench.toml").write_bytes(content.encode("latin-1"))
    assert told in problem(lumos("evaluate", "bench.toml", "--solver", server.tgi))
    assert "no database" in problem(lumos("jobs"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("gsm8k", "--question", "q"), "--question is for a file of your own"),
        (("wordmath", "--title", "q"), "--title is for a file of your own"),
        (("sums.csv", "--data", "sums.csv"), "leave out --data"),
        (("sums.csv", "--published"), "--published is for a benchmark's own rows"),
        (("sums.csv", "--option", "images=x"), "No option of the benchmark 'file:sums' called 'images'"),
        (("sums.csv", "--split", "paper"), "No split called 'paper'"),
        (("nothing.csv",), "does not exist"),
        (("sums.csv", "--answer-by", "last"), "--answer-by is for benchmarks with a QA tool"),
        (("sums.csv", "--scorer", "regex:(?<=x)y"), "RE2"),
        (("sums.csv", "--title", "///"), "has no letter or digit for a title"),
    ],
)
def test_options_that_do_not_fit_are_refused(lumos, folder, server, options, told):
    assert told in problem(lumos("evaluate", *options, "--solver", server.tgi))


def test_with_a_solver_alone_registered_benchmarks_have_the_formulation_cot_too(lumos, folder):
    with FakeEndpoint(lambda prompt: "Answer is 5.") as server:
        report = lumos("evaluate", "wordmath", "--limit", "2", "--solver", server.tgi, "--json").json
    job = lumos("job", report["job"], "--json").json
    assert (job["formulation"], job["split"]) == ("cot", "test")


def test_rows_that_cannot_be_read_are_named_or_skipped(lumos, folder, server):
    (folder / "bad.csv").write_text("question,answer\nWhat is 2 plus 1?,3\n,4\nWhat is 4 plus 1?,many\n")
    asked = ("evaluate", "bad.csv", "--scorer", "number", "--solver", server.tgi)
    told = problem(lumos(*asked))
    assert "row 2, field 'question': empty" in told and "row 3, field 'answer': expected a number" in told
    assert lumos(*asked, "--skip-bad-rows", "--json").json["n"] == 1


def test_a_program_gives_a_file_or_rows(folder, server, tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    job = lq.evaluate("sums.csv", solver=server.tgi).wait()
    assert [episode.scores["accuracy"] for episode in job.episodes()] == [1.0, 0.0] * (ROWS // 2)
    rows = ({"text": f"What is {number} plus 1?", "right": [number + 1, "x"], "topic": "t"} for number in (2, 3))
    job = lq.evaluate(
        rows=rows, fields={"question": "text", "answer": "right"}, scorer="includes", title="given", solver=server.tgi
    ).wait()
    assert [episode.scores["includes"] for episode in job.episodes()] == [1.0, 0.0]
    inferred = lq.infer(Path("sums.csv"), solver=server.tgi, limit=2).wait()
    assert [episode.answer for episode in inferred.episodes()] == ["40", str(WRONG)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "Nothing to evaluate"),
        ({"rows": []}, "rows has no row"),
        ({"rows": 3}, "rows is 3"),
        ({"rows": [lq.Task("x", "", "1", "q")]}, "rows are Tasks"),
        ({"rows": [{"question": "q", "answer": 1}], "data": "x"}, "Give rows or data"),
        ({"rows": [{"question": "q", "answer": 1}], "fields": {"qustion": "x"}}, "Did you mean 'question'"),
        ({"rows": [{"question": "q", "answer": 1}], "fields": ["question"]}, "expected a mapping"),
        ({"rows": [{"question": "q", "answer": 1}], "scorer": 3}, "scorer= is 3"),
        ({"benchmark": "wordmath", "title": "x"}, "file of your own"),
        ({"benchmark": "gsm8k", "rows": [{"question": "q", "answer": "#### 1"}], "scorer": "f1"}, "your own rows"),
    ],
)
def test_what_a_program_gives_is_refused_in_one_line(folder, server, tmp_path, monkeypatch, given, told):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    with pytest.raises(lq.SpecError, match=re.escape(told)):
        lq.evaluate(**given, solver=server.tgi)


def test_pages_of_the_explorer_show_such_jobs(lumos, folder, server):
    from lumos_queue.deployment.database import database
    from lumos_queue.settings import read_settings

    job = evaluate(lumos, server)["job"]
    other = evaluate(lumos, server, "--seed", "2")["job"]
    (folder / "sums.csv").unlink()
    with database(read_settings()) as opened, call_explorer(opened) as explorer:
        client, compared = explorer.client(), f"/compare?jobs={job}&jobs={other}"
        pages = ("/jobs", "/episodes/facets", "/episodes/export.csv", f"/episodes?where=job%3D{job}")
        for address in (*pages, f"/jobs/{job}", f"/jobs/{job}/report", f"/episodes/{job}-0", compared):
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.text[:300])
        assert "file:sums" in client.get(f"/jobs/{job}").text
