"""Jobs whose experts are a chat model: what is stored, killed and resumed, run again, and shown in the report."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from db.engine.connection import open_database
from db.queries.jobs import get_job
from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.cli.main import app
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint, images
from tests.integration.test_model_synthesis_jobs import report_of

#: Plans by the number of a labelled task; other tasks get a reply that names no expert.
PLANS = {110: "Fill Mask,Text Summarization,", 182: "()(Fill Mask,)Question Answering,"}
CALLS_PER_SAMPLE = 4  # of the plans


def write_rules(folder: Path, plans: dict[int, str]) -> str:
    descriptions = {spec.id: spec.description for spec in tasks_of("labelled")}
    rules = [{"contains": f"Objective: {descriptions[task]}\n", "reply": plan} for task, plan in plans.items()]
    path = folder / "planner.json"
    path.write_text(json.dumps([*rules, {"contains": "Objective", "reply": "nothing"}]))
    return f"scripted:{path}"


def reply(prompt: str) -> str | int:
    """Replies of a model without images: a word that depends on the prompt."""
    return 400 if "1 + 1 =" in prompt else f"word{len(prompt) % 7}"


def evaluate(folder: Path, *tools: str, samples: int = 2, plans: dict[int, str] = PLANS) -> list[str]:
    return [
        *("evaluate", "openagi", "--split", "labelled", "--formulation", "model-synthesis", "--json"),
        *("--planner", write_rules(folder, plans), "--option", f"samples={samples}"),
        *(part for tool in tools for part in ("--tool", tool)),
    ]


def invoke(folder: Path, command: list[str], url: str = "") -> tuple[str, str]:
    """The job and the messages of a command."""
    done = CliRunner().invoke(app, command, env={"LUMOS_HOME": str(folder), "LUMOS_DATABASE_URL": url})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])["job"], done.stderr


def select(folder: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(folder / "lumos.db")) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_each_call_of_an_expert_is_a_row_and_the_report_names_the_backends(tmp_path, backend, request):
    url = "" if backend == "sqlite" else request.getfixturevalue("postgres_url")
    with FakeEndpoint(reply) as server:
        job, messages = invoke(tmp_path, evaluate(tmp_path, f"experts={server.chat}"), url)
        calls = server.count - 1  # the question about images
        assert "its server takes no images" in messages
    settings = Settings(home=tmp_path, database_url=url)
    database = open_database(settings.database)
    try:
        report = report_of(database, job)
        with database.engine.connect() as connection:
            agent = get_job(connection, job).spec["infer"]["agent"]
    finally:
        database.close()
    assert calls == CALLS_PER_SAMPLE * 2 == report["calls"] - 20
    assert report["endings"] == {"answered": 2, "infeasible": 18}
    assert agent["tools"]["experts-prompts"] == "1" and agent["tools"]["experts-images"] == "no"
    assert agent["roles"]["expert-fill-mask"] == server.chat and "expert-image-captioning" not in agent["roles"]
    assert report["experts"] == {
        "Text Summarization": {"backend": server.chat, "fidelity": "substitute", "runs": 1},
        "Fill Mask": {"backend": server.chat, "fidelity": "substitute", "runs": 2},
        "Question Answering": {"backend": server.chat, "fidelity": "substitute", "runs": 1},
    }
    assert report["expert_runs"]["runs"] == {"live": 4}


def test_the_report_names_the_experts_for_people(tmp_path):
    with FakeEndpoint(reply) as server:
        job, _ = invoke(tmp_path, evaluate(tmp_path, "experts=own", f"fill-mask={server.chat}"))
        assert server.count == 2 * 2, "one expert alone is a chat model, and no image is asked about"
    done = CliRunner().invoke(app, ["report", job, "--all"], env={"LUMOS_HOME": str(tmp_path), "COLUMNS": "200"})
    words = " ".join(done.output.split())
    for name, backend in {"Text Summarization": "own:", "Question Answering": "own:", "Fill Mask": server.chat}.items():
        assert re.search(rf"expert: {name} {re.escape(backend)} \(substitute\), \d runs?", words)
    roles = select(tmp_path, "SELECT role, count(*) FROM completion GROUP BY role ORDER BY role")
    assert roles == [("expert-fill-mask", 4), ("planner", 20)]


def test_a_killed_job_repeats_no_recorded_call(tmp_path):
    command = [sys.executable, "-m", "lumos_queue.cli.main"]
    environment = {**os.environ, "LUMOS_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    recorded = "SELECT count(*) FROM completion WHERE role LIKE 'expert-%'"
    with FakeEndpoint(reply, latency=0.1, slots=1) as server:
        options = evaluate(tmp_path, f"experts={server.chat}", samples=8)
        process = subprocess.Popen(
            [*command, *options], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while server.count < 14:
                assert process.poll() is None, "it ended before it was killed"
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        lost = server.count - 1 - select(tmp_path, recorded)[0][0]
        assert select(tmp_path, recorded)[0][0] > 0
        while server.in_flight:
            time.sleep(0.01)
        server.latency = 0.0
        ((job,),) = select(tmp_path, "SELECT id FROM job")
        subprocess.run([*command, "resume", job], env=environment, check=True, capture_output=True, timeout=300)
        assert select(tmp_path, recorded) == [(CALLS_PER_SAMPLE * 8,)]
        assert server.count - 1 == CALLS_PER_SAMPLE * 8 + lost, "only calls without a record are made again"


def test_a_job_runs_again_with_the_same_prompts_and_another_server(tmp_path):
    with FakeEndpoint(reply) as server, FakeEndpoint(reply) as second:
        job, _ = invoke(tmp_path, evaluate(tmp_path, f"experts={server.chat}"))
        count = server.count
        again, _ = invoke(tmp_path, ["rerun", job, "--json", "--seed", "3"])
        assert server.count == count + CALLS_PER_SAMPLE * 2, "a job makes its own calls, and no one asks about images"
        changed, _ = invoke(tmp_path, ["rerun", job, "--json", "--tool", f"fill-mask={second.chat}"])
        assert second.count == 4
        rules, _ = invoke(tmp_path, ["rerun", job, "--json", "--tool", "experts=own"])
    specs = dict(select(tmp_path, "SELECT id, spec FROM job"))
    agents = {name: json.loads(specs[name])["infer"]["agent"] for name in (job, again, changed, rules)}
    assert agents[again]["tools"] == agents[job]["tools"] and agents[again]["roles"] == agents[job]["roles"]
    assert agents[changed]["roles"]["expert-fill-mask"] == second.chat
    assert agents[changed]["roles"]["expert-question-answering"] == server.chat
    assert set(agents[rules]["roles"]) == {"planner"} and "experts-prompts" not in agents[rules]["tools"]


def test_an_image_that_an_expert_made_is_shown_to_the_chat_model(tmp_path):
    task = next(spec for spec in tasks_of("labelled") if spec.category == "image-text")
    plans = {task.id: "Image Denoising,Image Captioning,"}
    with FakeEndpoint(lambda prompt: "a boat", keep_bodies=True) as server:
        invoke(tmp_path, evaluate(tmp_path, f"experts={server.chat}", samples=1, plans=plans))
        question, caption = server.bodies
        assert images(question) and images(caption)[0].startswith(b"\x89PNG") and images(caption) != images(question)
    ((note,),) = select(tmp_path, "SELECT note FROM completion WHERE role = 'expert-image-captioning'")
    ((digest,),) = select(tmp_path, "SELECT outputs FROM tool_call WHERE outputs LIKE '%\"image\"%'")
    assert json.loads(digest)[0]["items"][0] in note
    assert select(tmp_path, "SELECT value FROM score WHERE metric = 'feasible' AND value = 1") == [(1.0,)]


def test_failed_tries_of_a_call_lose_no_sample(tmp_path):
    with FakeEndpoint(reply) as server:
        planner = evaluate(tmp_path, f"experts={server.chat}")
        server.failures.extend(["ok", "500", "429:0"])
        job, _ = invoke(tmp_path, planner)
    ((items,),) = select(tmp_path, "SELECT count(*) FROM episode WHERE ending = 'answered'")
    assert items == 2 and not select(tmp_path, "SELECT * FROM tool_call WHERE outputs LIKE '%bad_output%'"), job
