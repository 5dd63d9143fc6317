"""Jobs that need plug-ins: the example package, installed by pip, as its users and its workers meet it."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from db.engine.migrate import upgrade
from db.models import JobRow
from db.queries.jobs import get_job
from db.queue.figures import count_scores
from lumos_queue.deployment.database import database
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from tests.forked_commands import fork_lumos
from tests.kills.killed_child import end_sessions
from tests.plugin_packages import install_example
from tests.scored_jobs import create_scored_job, tasks_of
from tests.services import free_port, wait_until
from tests.stored_rows import make_tables

EVALUATE = ("evaluate", "roman", "--formulation", "one-action", "--solver", "abacus:20")


#: Not of the training split, which takes seconds to generate.
CONVERT = ("convert", "wordmath", "--split", "dev", "--deterministic", "--limit")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install_example(tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(installed, tmp_path):
    """A copy of the folder with the installed packages, for a test to change."""
    return Path(shutil.copytree(installed.parent, tmp_path / "site"))


@pytest.fixture
def lumos(site, tmp_path):
    """Run a command in a process with the plug-in, or without; returns its exit code, output and last line as JSON."""

    def begin(*arguments, with_plugin=True, **settings):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LUMOS_")}
        variables |= {"LUMOS_HOME": str(tmp_path / "home")} | settings
        path = [tmp_path / "own", *([site] if with_plugin else [])]
        return fork_lumos(*arguments, environment=variables, path=path, folder=tmp_path)

    def run(*arguments, **options):
        process = begin(*arguments, **options)
        code = process.wait(120)
        last = process.out.strip().splitlines()[-1:] or [""]
        value = json.loads(last[0]) if last[0].startswith("{") else None
        return SimpleNamespace(code=code, out=process.out, err=process.err, value=value)

    run.begin = begin
    run.settings = Settings(home=tmp_path / "home")
    (tmp_path / "own").mkdir()
    make_tables(tmp_path / "home")
    return run


def change_a_line(site):
    path = site / "lumos_roman" / "formulation.py"
    text = path.read_text()
    assert "Write the action" in text
    path.write_text(text.replace("Write the action", "Write one action"))


def interval_by_hand(right: int, n: int) -> list[float]:
    """Wilson's interval at 95 % (Wilson 1927), from its formula."""
    z, share = 1.959964, right / n
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)]


def test_a_board_of_five_agents_and_four_benchmarks_has_figures_as_by_hand(lumos, tmp_path):
    """One benchmark is a plug-in with its own metric; a job is incomplete, rows differ, and an agent has two seeds."""
    rows = {name: tasks_of(10, name, name) for name in ("wordmath", "gsm8k", "svamp")}
    right_counts = {number: {"wordmath": number, "gsm8k": 10 - number, "svamp": 5} for number in range(1, 6)}
    expected: dict[str, dict[str, list[float]]] = {}
    with database(Settings(home=tmp_path / "home")) as stored:
        upgrade(stored)
        digests = (f"{number:064x}" for number in count(1))

        def create(number, values, tasks, **options):
            agent = Agent({"planner": f"tgi://m{number}:1", "grounder": f"tgi://m{number}:1"}, "maths", max_subgoals=8)
            scores = [[value] for value in values]
            return create_scored_job(stored, scores, tasks, agent=agent, digest=next(digests), **options)

        for number, counts in right_counts.items():
            for benchmark, right in counts.items():
                if (number, benchmark) == (5, "svamp"):
                    continue  # a missing cell
                create(number, [1] * right + [0] * (10 - right), rows[benchmark])
                expected.setdefault(f"m{number}:1", {})[benchmark] = [right / 10, *interval_by_hand(right, 10)]
        second_seed = create(1, [1] * 3 + [0] * 7, rows["wordmath"], seed=7)
        other_rows = create(2, [1] * 9 + [0], tasks_of(10, "svamp, another file", "svamp"))
        incomplete = create(3, [1] * 10, tasks_of(10, "own", "svamp"), pending=4)
    roman = lumos(*EVALUATE, "--json").value["job"]
    board = lumos("board", "--json").value
    columns = [(column["benchmark"], column["metric"], column["note"]) for column in board["columns"]]
    assert [columns[index][:2] for index in (0, 1)] == [("wordmath", "accuracy"), ("gsm8k", "accuracy")]
    assert [column[0] for column in columns].count("svamp") == 3, "the same name for three sets of rows"
    assert columns[-1][:2] == ("roman", "roman_sum")
    cells = {row["label"]: row["cells"] for row in board["rows"]}
    assert list(cells) == ["m1:1", "m2:1", "m3:1", "m4:1", "m5:1", "abacus:20"]
    for label, by_benchmark in expected.items():
        for benchmark, (value, low, high) in by_benchmark.items():
            column = [name for name, *_ in columns].index(benchmark)
            cell = cells[label][column]
            if (label, benchmark) == ("m1:1", "wordmath"):
                assert second_seed in cell["jobs"] and cell["n"] == 20 and cell["by_seed"] == {"0": 0.1, "7": 0.3}
                assert cell["value"] == pytest.approx(0.2)
                continue
            assert [cell["value"], *cell["ci95"]] == pytest.approx([value, low, high], abs=1e-5) and cell["n"] == 10
    svamp = [index for index, column in enumerate(columns) if column[0] == "svamp"]
    assert [cells["m5:1"][index] for index in svamp] == [None, None, None]
    (other,) = [cell for index in svamp if (cell := cells["m2:1"][index]) and cell["jobs"] == [other_rows]]
    assert other["value"] == 0.9
    (part,) = [cell for index in svamp if (cell := cells["m3:1"][index]) and cell["jobs"] == [incomplete]]
    assert not part["complete"] and part["bounds"] == [0.6, 1.0]
    assert cells["abacus:20"][-1]["jobs"] == [roman]
    figures = [cells["abacus:20"][-1]["value"], *cells["abacus:20"][-1]["ci95"]]
    assert figures == pytest.approx([0.82, *interval_by_hand(82, 100)], abs=1e-5)
    text = lumos("board").out
    assert "incomplete: 60.0 to 100.0 %" in text and "82.0 % [" in text and "–" in text


def test_a_benchmark_with_its_formulation_domain_endpoint_and_scorer(lumos):
    report = lumos(*EVALUATE, "--json").value
    assert (report["benchmark"], report["metric"], report["finished"], report["correct"]) == (
        "roman",
        "roman_sum",
        100,
        82,
    )
    assert {(one["group"], one["name"]) for one in report["plugins"]} == {
        ("benchmarks", "roman"),
        ("domains", "roman"),
        ("endpoints", "abacus"),
        ("formulations", "one-action"),
    }
    assert {one["distribution"] for one in report["plugins"]} == {"lumos-roman"}
    assert report["baselines"]["always XL"]["value"] == 0
    job = report["job"]
    found = lumos("episodes", job, "--where", "score=1", "--json").value["episodes"]
    assert found and all(one["score"] == 1 for one in found)
    scored = lumos("score", job, "--scorer", "canonical", "--json").value
    assert (scored["episodes"], scored["metrics"]) == (100, ["canonical"])
    assert lumos("score", job, "--scorer", "canonical", "--json").value["episodes"] == 0
    report = lumos("report", job, "--json").value
    assert report["metrics"]["canonical"]["value"] == 1 and report["value"] == 0.82
    assert report["scorings"][0]["code"].startswith("lumos-roman 0.1.0, code ")
    assert lumos("doctor", "--recount").code == 0
    listed = lumos("plugins", "--json")
    assert listed.code == 0 and {one["name"] for one in listed.value["plugins"]} >= {"roman", "abacus", "canonical"}


@pytest.mark.long
def test_the_same_request_is_the_stored_job_and_a_changed_line_makes_it_another(lumos, site):
    first = lumos(*EVALUATE, "--limit", "5", "--json").value
    assert lumos(*EVALUATE, "--limit", "5", "--json").value["job"] == first["job"]
    change_a_line(site)
    second = lumos(*EVALUATE, "--limit", "5", "--json").value
    assert second["job"] != first["job"]
    codes = [{one["digest"] for one in report["plugins"]} for report in (first, second)]
    assert codes[0].isdisjoint(codes[1])
    # A job that is done keeps the code that made its episodes.
    kept = lumos("resume", first["job"], "--accept-plugin", "--json")
    assert kept.value["plugins"] == first["plugins"] and "is done: no item is left to run" in kept.err
    # What is adopted must be what the same request would give today.
    refused = lumos("extend", first["job"], "--limit", "4")
    assert refused.code == 2 and "The plug-in 'roman' (benchmarks) is lumos-roman" in refused.err
    assert refused.err.endswith(f"or run the whole of it with what is here: lumos rerun {first['job']}\n")
    assert lumos("extend", second["job"], "--limit", "4", "--json").value["adopted"]["episodes"] == 4


#: The endpoint of the plug-in, whose replies after the fortieth wait for a file.
SLOW_ABACUS = """
import asyncio, pathlib

class SlowAbacus(Abacus):
    count = 0

    async def reply(self, prompt, sampling):
        SlowAbacus.count += 1
        while SlowAbacus.count > 40 and not pathlib.Path("go_on").exists():
            await asyncio.sleep(0.05)
        return await super().reply(prompt, sampling)

ABACUS = lq.EndpointScheme(open=SlowAbacus, check=check)
"""


def test_a_killed_job_goes_on_and_only_with_the_same_code_unless_that_is_accepted(lumos, site, tmp_path):
    with (site / "lumos_roman" / "endpoint.py").open("a") as file:
        file.write(SLOW_ABACUS)
    with database(lumos.settings) as opened:
        running = lumos.begin(*EVALUATE)
        wait_until(lambda: finished(opened) > 20, "some episodes are finished", 60)
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
        (job,) = jobs(opened)
    end_sessions(lumos.settings)
    (tmp_path / "go_on").touch()
    assert job.state == "running"
    change_a_line(site)
    refused = lumos("resume", job.id)
    assert refused.code == 2 and refused.err.count("\n") == 1
    assert "The plug-in 'roman' (benchmarks) is lumos-roman 0.1.0, code " in refused.err
    assert f"lumos resume {job.id} --accept-plugin" in refused.err
    absent = lumos("resume", job.id, "--accept-plugin", with_plugin=False)
    assert absent.code == 2 and "Not installed here: " in absent.err and "of lumos-roman 0.1.0" in absent.err
    (listed,) = lumos("jobs", "--json").value["jobs"]
    assert listed["state"] == "running"  # what is refused is left as it was
    report = lumos("resume", job.id, "--accept-plugin", "--json").value
    assert (report["finished"], report["n"], report["calls"]) == (100, 100, 100)
    (roman,) = [one for one in report["plugins"] if (one["group"], one["name"]) == ("benchmarks", "roman")]
    (earlier,) = roman["earlier"]
    assert earlier["digest"] != roman["digest"] and earlier["accepted_by"]
    assert lumos("doctor", "--recount").code == 0


def test_without_the_plug_in_its_jobs_are_told_of_and_others_run(lumos):
    report = lumos(*EVALUATE, "--limit", "20", "--json").value
    told = lumos("report", report["job"], "--json", with_plugin=False).value
    assert (told["value"], told["correct"], told["baselines"]) == (report["value"], report["correct"], {})
    assert lumos("jobs", with_plugin=False).code == lumos("show", f"{report['job']}-0", with_plugin=False).code == 0
    refused = lumos("rerun", report["job"], "--limit", "10", with_plugin=False)
    assert refused.code == 2 and "No formulation called 'one-action'" in refused.err
    assert lumos("evaluate", "roman", with_plugin=False).code == 2


@pytest.mark.long
def test_a_worker_without_it_refuses_the_job_which_waits_and_does_others(lumos, tmp_path):
    broker = {"LUMOS_BROKER_URL": f"redis://127.0.0.1:{free_port()}/0", "LUMOS_POLL_SECONDS": "0.3"}
    with database(lumos.settings) as opened:
        job = lumos(*EVALUATE, "--limit", "10", "--json", **broker).value["job"]
        other = lumos(*CONVERT, "5", "--json", **broker).value["job"]

        without = lumos.begin("worker", with_plugin=False, **broker)
        try:
            wait_until(lambda: row(opened, other).state == "done" and row(opened, job).waiting, "the job waits", 60)
        finally:
            without.terminate()
            without.wait(30)
        told = row(opened, job).waiting
        assert "Not installed here: " in told and "of lumos-roman 0.1.0, code " in told and "(on " in told
        having = lumos.begin("worker", **broker)
        try:
            wait_until(lambda: row(opened, job).state == "done", "the job is done", 60)
        finally:
            having.terminate()
            having.wait(30)
        assert row(opened, job).waiting == ""


def test_a_job_row_that_names_a_module_imports_nothing(lumos, tmp_path):
    """Whoever can write to the database could name any module: it is refused unimported, and other jobs run."""
    job = lumos(*EVALUATE, "--limit", "3", "--json").value["job"]
    (tmp_path / "own" / "evil.py").write_text("raise SystemError('imported')\nitself = 1\n")
    with database(lumos.settings) as opened:
        for place in ("formulation", "benchmark"):
            with opened.writer.begin() as connection:
                spec = json.loads(json.dumps(get_job(connection, job).spec))
                spec["infer"][place] = "evil:itself"
                connection.execute(JobRow.__table__.update().where(JobRow.id == job).values(spec=spec, state="queued"))
            told = lumos("resume", job)
            assert told.code == 2 and "does not trust" in told.err and "imported" not in told.err
        trusted = lumos("resume", job, LUMOS_PLUGINS="evil")
        assert trusted.code == 2 and "SystemError: imported" in trusted.err
    assert lumos("evaluate", "wordmath", "--planner", "scripted:none.json").code == 2  # the file, nothing worse


DOTTED = """
import lumos_queue as lq

class Sums(lq.Benchmark):
    name, domain, licence, splits, needs_data, metrics = "sums", "maths", "MIT", ("test",), False, ("accuracy",)
    check_level = "executed"

    def read(self, path, split, **options):
        for row in range(1, 6):
            yield lq.Task(self.name, "", str(row), f"What is {row} + 1?", gold={"answer": str(row + 1)})

    def gold(self, task):
        action = lq.Action(("R1",), "Calculator", f"{task.row} + 1")
        step = lq.AnnotatedSubgoal(lq.Subgoal(1, "Subgoal 1: Add 1."), (action,), (task.gold["answer"],))
        return lq.Annotation((step,), task.gold["answer"])

    def score(self, task, result):
        return [lq.Score("accuracy", float(result.answer == task.gold["answer"]))]

benchmark = Sums()

def reply(prompt):
    return "2"
"""


def test_a_dotted_name_that_a_person_gives_is_imported_and_resumed_where_it_is_listed(lumos, tmp_path):
    (tmp_path / "own" / "mysums.py").write_text(DOTTED)
    asked = ("evaluate", "mysums:benchmark", "--formulation", "direct", "--solver", "function:mysums:reply", "--json")
    report = lumos(*asked).value
    assert (report["benchmark"], report["finished"], report["correct"]) == ("mysums:benchmark", 5, 1)
    assert [one["name"] for one in report["plugins"]] == ["mysums:benchmark", "mysums:reply"]
    told = lumos("report", report["job"], "--json").value
    assert told["value"] == report["value"]
    rerun = lumos("rerun", report["job"], "--samples", "2", "--json")
    assert rerun.code == 2 and "LUMOS_PLUGINS=mysums" in rerun.err
    assert lumos("rerun", report["job"], "--samples", "2", "--json", LUMOS_PLUGINS="mysums").value["finished"] == 10


def test_a_stored_conversion_of_the_old_dotted_form_still_runs(lumos, tmp_path):
    (tmp_path / "own" / "mylab").mkdir()
    (tmp_path / "own" / "mylab" / "sums.py").write_text(DOTTED)
    first = lumos("convert", "mylab.sums:benchmark", "--deterministic", "--split", "test", "--json").value
    assert first["correct"] == 5
    assert "name the object in it, mylab.sums:benchmark" in lumos("convert", "mylab.sums", "--deterministic").err
    with database(lumos.settings) as opened, opened.writer.begin() as connection:
        spec = get_job(connection, first["job"]).spec | {"source": "mylab.sums", "benchmark": "sums"}
        values = {"spec": spec, "plugins": None, "benchmark": "sums", "state": "queued", "finished_at": None}
        connection.execute(JobRow.__table__.update().where(JobRow.id == first["job"]).values(**values))
        connection.exec_driver_sql("UPDATE item SET state = 'owed' WHERE ordinal < 2")
        owed = "SELECT id FROM item WHERE state = 'owed'"
        connection.exec_driver_sql(f"UPDATE episode SET ending = '', finished_at = NULL WHERE id IN ({owed})")
    refused = lumos("resume", first["job"])
    assert refused.code == 2 and "LUMOS_PLUGINS=mylab" in refused.err
    assert lumos("resume", first["job"], "--json", LUMOS_PLUGINS="mylab.sums").value["state"] == "done"


@pytest.mark.long
def test_a_plug_in_that_is_broken_harms_no_other_job(lumos, site):
    (site / "lumos_roman" / "formulation.py").write_text("raise ValueError('half done')\n")
    refused = lumos(*EVALUATE, "--limit", "3")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "ValueError: half done" in refused.err
    assert lumos(*CONVERT, "5", "--json").value["finished"] == 5
    listed = lumos("plugins", "--json")
    assert listed.code == 1 and [one["name"] for one in listed.value["plugins"] if one["problem"]] == ["one-action"]


def test_built_in_jobs_have_no_plug_ins_and_the_digest_they_always_had(lumos):
    report = lumos(*CONVERT, "2", "--json", with_plugin=False).value
    assert report["plugins"] == []
    other = lumos(*CONVERT, "2", "--json").value
    assert other["job"] == report["job"]


def jobs(opened):
    with opened.engine.connect() as connection:
        return list(connection.execute(JobRow.__table__.select()))


def row(opened, job):
    with opened.engine.connect() as connection:
        return get_job(connection, job)


def finished(opened):
    found = jobs(opened)
    if not found:
        return 0
    with opened.engine.connect() as connection:
        return sum(one.episodes for one in count_scores(connection, found[0].id).get("roman_sum", ()))


def test_an_old_job_names_no_plug_ins_and_is_not_compared(lumos):
    class OldJob:
        id, kind, plugins, spec = "abcdefgh", "train", None, {"recipe": "sft"}

    check_plugins(OldJob)
