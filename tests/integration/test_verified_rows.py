"""A paper's figure stands only beside the published rows: small files, real jobs, the `lumos` command."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import lumos_queue as lq
from db.engine.connection import open_database
from db.models import Dataset
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import app, main
from lumos_queue.downloads import catalogue
from lumos_queue.downloads.catalogue import PublicFile
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.row_origins.origins import read_row_origins
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.store import Rows, read_rows, submit
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import command

ROW = "1b/LUMOS-O/gsm8k"
PUBLISHED = "LUMOS-I, table 1b"  #: what a chart calls a published figure


def write_rows(path: Path, count: int = 4, first: int = 5) -> Path:
    rows = [
        {
            "question": f"A shelf holds {n} jars and 3 more are put on it. How many are there?",
            "answer": f"There are {n}+3=<<{n}+3={n + 3}>>{n + 3} jars.\n#### {n + 3}",
        }
        for n in range(first, first + count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Commands:
    """Runs commands with two models that have the names of released weights."""

    def __init__(self, capsys: Any, planner: str, grounder: str):
        self._capsys, self.models = capsys, ("--planner", planner, "--grounder", grounder)

    def run(self, *words: str) -> dict[str, Any]:
        code, shown = command(app, self._capsys, *words)
        assert code == 0
        return shown

    def evaluate(self, data: Path, *options: str) -> dict[str, Any]:
        words = ("evaluate", "gsm8k", "--data", str(data), "--formulation", "one-pass", *self.models, *options)
        return self.run(*words)

    def figure(self) -> dict[str, Any]:
        (row,) = self.run("papers", ROW)["tables"][0]["rows"]
        return row

    def page(self, path: Path, *jobs: str) -> str:
        assert main(["report", *jobs, "--html", str(path)]) == 0
        self._capsys.readouterr()
        return path.read_text()

    def refuse(self, *words: str) -> str:
        assert main(list(words)) == 2
        return self._capsys.readouterr().err


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    with (
        FakeEndpoint(lambda _: "Subgoal 1: Add.", model="ai2lumos/lumos_maths_plan_onetime") as planner,
        FakeEndpoint(lambda _: "R1 = Calculator(5 + 3)", model="ai2lumos/lumos_maths_ground_onetime") as grounder,
    ):
        yield Commands(capsys, planner.tgi, grounder.tgi)


@pytest.fixture
def public_file(tmp_path, monkeypatch) -> Path:
    """A file that the catalogue lists as that of GSM8K's test rows."""
    path = write_rows(tmp_path / "public.jsonl", 6)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    files = (PublicFile("gsm8k/test.jsonl", "http://127.0.0.1:1/x", "MIT", sha256=sha256, splits=("test",)),)
    monkeypatch.setattr(catalogue, "FILES", files)
    return path


def test_rows_under_a_known_name_fill_nothing(lumos, tmp_path):
    report = lumos.evaluate(write_rows(tmp_path / "gsm8k.jsonl"))
    assert report["row_origin"]["text"] == "not verified"
    found = lumos.figure()
    assert "ours" not in found
    assert f"the rows of job {report['job']} are not verified" in found["status"]
    page = lumos.page(tmp_path / "page.html", report["job"])
    assert PUBLISHED not in page and "No published figure is shown for gsm8k (test)" in page
    (listed,) = lumos.run("jobs")["jobs"]
    assert listed["row_origin"]["state"] == "not verified"
    assert all("ours" not in row for row in lumos.run("papers", "6")["tables"][0]["rows"])


def test_the_published_file_fills_the_row_and_a_part_of_it_says_so(lumos, tmp_path, public_file):
    part = lumos.evaluate(public_file, "--limit", "2")
    assert part["row_origin"]["text"] == "verified, the first 2 of 6 (gsm8k/test.jsonl)"
    assert lumos.figure()["status"] == "n differs: 2 of 1,319"
    whole = lumos.evaluate(public_file)
    assert whole["row_origin"]["text"] == "verified (gsm8k/test.jsonl)"
    assert whole["row_origin"]["file_sha256"] == hashlib.sha256(public_file.read_bytes()).hexdigest()
    found = lumos.figure()
    assert found["ours"]["job"] == whole["job"] and found["ours"]["rows"] == "verified (gsm8k/test.jsonl)"
    assert PUBLISHED in lumos.page(tmp_path / "verified.html", whole["job"])
    others = lumos.evaluate(write_rows(tmp_path / "own.jsonl", first=20))
    assert PUBLISHED not in lumos.page(tmp_path / "both.html", whole["job"], others["job"])
    assert lumos.figure()["ours"]["job"] == whole["job"]


def test_a_statement_is_printed_beside_the_figure(lumos, tmp_path):
    data = write_rows(tmp_path / "gsm8k.jsonl")
    report = lumos.evaluate(data, "--published")
    assert report["row_origin"]["text"] == "stated to be the published ones"
    assert lumos.figure()["status"] == "rows stated to be the published ones; n differs: 4 of 1,319"
    page = lumos.page(tmp_path / "page.html", report["job"])
    assert PUBLISHED in page and "rows stated to be the published ones" in page
    assert lumos.evaluate(data)["job"] != report["job"], "another request"
    again = lumos.run("rerun", report["job"], "--seed", "7")
    assert again["row_origin"]["state"] == "stated"


def test_rows_that_are_known_to_be_others_cannot_be_stated(lumos, shared_data):
    words = ("evaluate", "gsm8k", "--data", str(shared_data / "gsm8k" / "train.jsonl"), "--formulation", "one-pass")
    told = lumos.refuse(*words, *lumos.models, "--limit", "1", "--published")
    assert "is gsm8k/train.jsonl, which has no rows of the split 'test'" in told
    report = lumos.run(*words, *lumos.models, "--limit", "1")
    assert report["row_origin"]["text"] == "not verified, the first 1 of 7,473", "train rows, read as test rows"


def test_a_row_of_a_paper_is_run_on_the_published_rows(lumos, tmp_path, public_file):
    own = write_rows(tmp_path / "own.jsonl")
    words = ("papers", ROW, "--run", *lumos.models, "--data")
    assert "Fetch the published file with lumos data get gsm8k, or state" in lumos.refuse(*words, str(own))
    assert not (tmp_path / "home" / "lumos.db").exists(), "nothing was stored"
    assert lumos.run(*words, str(own), "--published")["row_origin"]["state"] == "stated"
    assert lumos.run(*words, str(public_file), "--published")["row_origin"]["state"] == "verified"


def test_the_card_of_a_build_states_the_licence_of_known_rows_alone(lumos, tmp_path, shared_data):
    def convert(data: Path, *options: str) -> str:
        words = ("convert", "gsm8k", "--data", str(data), "--split", "train", "--deterministic", *options)
        return lumos.run(*words)["job"]

    def card(name: str, job: str) -> str:
        lumos.run("dataset", "build", name, "--where", f"job={job}")
        return (tmp_path / "home" / "builds" / name / "README.md").read_text()

    own = card("own", convert(write_rows(tmp_path / "train.jsonl")))
    assert "| gsm8k (rows not verified) | 8 | unknown |" in own and "MIT" not in own and "license: other" in own
    known = card("known", convert(shared_data / "gsm8k" / "train.jsonl", "--limit", "4"))
    assert "| gsm8k | 8 | MIT |" in known and "license: mit" in known
    stated = card("stated", convert(write_rows(tmp_path / "more.jsonl", first=40), "--published"))
    assert "| gsm8k (rows stated to be the published ones) | 8 | MIT |" in stated


def test_a_program_states_it_too(lumos, tmp_path):
    rows = [json.loads(line) for line in write_rows(tmp_path / "rows.jsonl").read_text().splitlines()]
    models: dict[str, Any] = {"formulation": "direct", "solver": lambda prompt: "8"}
    plain = lq.evaluate("gsm8k", rows=rows, **models).wait()
    stated = lq.evaluate("gsm8k", rows=rows, published=True, **models).wait()
    assert (plain.facts["row_origin"]["state"], stated.facts["row_origin"]["state"]) == ("not verified", "stated")


def test_generated_rows_are_verified_and_those_of_a_program_under_their_name_are_not(lumos):
    models: dict[str, Any] = {"formulation": "direct", "solver": lambda prompt: "8"}
    made = lq.evaluate("wordmath", split="dev", limit=2, **models).wait()
    assert made.facts["row_origin"]["text"] == "verified, the first 2 of 500 (generated)"
    own = lq.evaluate(
        "wordmath", rows=[lq.Task("wordmath", "", "1", "Twice 4?", gold={"answer": "8"})], **models
    ).wait()
    assert own.facts["row_origin"]["state"] == "not verified"


AGENT = Agent(roles={"solver": "scripted:x"}, domain="maths")


def submit_rows(database, rows: Rows, seed: int = 0) -> str:
    job = Evaluate(Infer("gsm8k", rows.digest, rows.split, "direct", AGENT, seed=seed))
    return submit(database, Settings(), job, rows)[0]


def origins(database, *jobs: str) -> list[str]:
    from db.queries.jobs import get_job

    with database.engine.connect() as connection:
        rows = [get_job(connection, job) for job in jobs]
        return [read_row_origins(connection, rows)[job].text for job in jobs]


def test_rows_that_were_stored_before_become_verified_when_the_file_is_read(database, tmp_path):
    """The same request, and another one on the same rows; then the same rows under no known file change nothing."""
    rows = read_rows(open_benchmark("gsm8k"), write_rows(tmp_path / "rows.jsonl"), "train", False)
    from_file = replace(rows, published="gsm8k/train.jsonl", file_sha256="1" * 64)
    first = submit_rows(database, rows)
    assert origins(database, first) == ["not verified"]
    assert submit_rows(database, from_file) == first, "the same request is shown"
    assert origins(database, first) == ["verified (gsm8k/train.jsonl)"]
    other = submit_rows(database, rows, seed=1)
    assert origins(database, first, other) == ["verified (gsm8k/train.jsonl)"] * 2
    with database.engine.connect() as connection:
        (stored,) = connection.execute(select(Dataset.file_sha256, Dataset.published))
    assert tuple(stored) == ("1" * 64, "gsm8k/train.jsonl")


def test_rows_of_an_earlier_reader_become_verified_when_the_file_is_read(database, tmp_path):
    """Readers left out white space of questions: the rows of the same file have another digest."""
    now = read_rows(open_benchmark("gsm8k"), write_rows(tmp_path / "rows.jsonl"), "train", False)
    tasks = [replace(task, question=f"  {task.question}".replace(" ", "  ")) for task in now.tasks]
    other_tasks = [*now.tasks[:-1], replace(now.tasks[-1], question="Another?")]
    before, other, hashed = (
        submit_rows(database, replace(now, digest=digest, file_sha256=sha256, tasks=_of_dataset(rows, digest)))
        for digest, sha256, rows in (("b" * 64, "", now.tasks), ("c" * 64, "", other_tasks), ("d" * 64, "2", now.tasks))
    )
    assert origins(database, before, other, hashed) == ["not verified"] * 3
    public = {"published": "gsm8k/train.jsonl", "file_sha256": "1" * 64}
    submit_rows(database, replace(now, digest="e" * 64, tasks=_of_dataset(tasks, "e" * 64), **public))
    assert origins(database, before, other, hashed) == [
        "verified (gsm8k/train.jsonl)",
        "not verified",
        "not verified",
    ]


def _of_dataset(tasks: Sequence[Task], digest: str) -> tuple[Task, ...]:
    return tuple(replace(task, dataset=digest) for task in tasks)


def test_several_processes_that_store_the_same_rows_agree(database, tmp_path):
    rows = read_rows(open_benchmark("gsm8k"), write_rows(tmp_path / "rows.jsonl"), "train", False)
    kinds = [rows, replace(rows, published="gsm8k/train.jsonl", file_sha256="1" * 64)] * 4
    jobs: list[str] = []
    threads = [
        threading.Thread(target=lambda seed, one: jobs.append(submit_rows(database, one, seed)), args=pair)
        for pair in enumerate(kinds)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert origins(database, *jobs) == ["verified (gsm8k/train.jsonl)"] * 8


def test_jobs_from_before_are_verified_by_the_digest_of_their_rows(lumos, tmp_path, shared_data):
    """As they were stored before files were hashed: nothing is stored of the file."""
    known = lumos.run(
        "convert",
        "gsm8k",
        "--data",
        str(shared_data / "gsm8k" / "train.jsonl"),
        "--split",
        "train",
        "--deterministic",
        "--limit",
        "3",
    )["job"]
    own = lumos.run("convert", "gsm8k", "--data", str(write_rows(tmp_path / "train.jsonl")), "--deterministic")["job"]
    database = open_database(read_settings().database)
    with database.writer.begin() as connection:
        connection.execute(update(Dataset).values(file_sha256="", published=""))
    assert origins(database, known, own) == ["verified, the first 3 of 7,473 (gsm8k/train.jsonl)", "not verified"]
    database.close()
    rows = {row["row"]: row for row in lumos.run("papers", "4")["tables"][0]["rows"]}
    assert rows["maths: gsm8k"]["ours"]["job"] == known
    assert rows["maths: gsm8k"]["status"] == f"n differs: 3 of 7,473; left out: {own} (rows are not verified)"
