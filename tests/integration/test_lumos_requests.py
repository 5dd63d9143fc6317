"""Requests of the formulations of LUMOS to servers that continue a text, byte for byte: the path and the body of each,
and the digests of the commands that ask for them.

LUMOS models were trained on these prompts and stop strings, and the steps of a journal are recognised by these digests:
with another value a model answers otherwise, or a call is paid for twice. Requests over `chat://` are not among them.
Where requests are changed on purpose `lumos_requests.json.gz` is written anew:

    python -m tests.integration.test_lumos_requests
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from db.engine.connection import open_database
from db.models import EpisodeRow, TaskRow
from db.queries.jobs import get_job
from lumos_queue.commands import KEPT_DIGITS, Ask
from lumos_queue.jobs.infer import Infer
from lumos_queue.records import Task
from lumos_queue.settings import read_settings
from tests.integration.command_outputs import run
from tests.original_files import words
from tests.recording_endpoint import RecordingEndpoint, Requests, read_prompt
from tests.scripted_models import all_at_once, step_by_step

STORED = Path(__file__).with_name("lumos_requests.json.gz")
#: Addresses at which nothing is: the same commands are expected for them.
OTHER_ADDRESSES = (
    "local:/nowhere",
    "run:abcdefgh",
    "scripted:/nowhere.json",
    "tgis://a:1,b:2",
    "openais://a:1?model=m",
)
TWO, ONE, QA = "--planner SERVER --grounder SERVER", "--solver SERVER", "--role qa=SERVER"
ROLES = {"iterative": TWO, "one-pass": TWO, "integrated": ONE, "cot": ONE, "direct": ONE}
MATHS, QUESTIONS = "evaluate wordmath --draw 1 --sets 1", "evaluate strategyqa FILES --split dev --limit 1"
VARIANTS = {
    "train": "--framing train",
    "train, shots": "--framing train --shots 2",
    "eval": "--framing eval",
    "eval, shots": "--framing eval --shots 2",
}
#: Name to a command. SERVER is a model server, FILES are the options that read a benchmark's file.
CASES = {
    f"{benchmark}, {formulation}, {variant}": f"{command} --formulation {formulation} {roles} {options}"
    for benchmark, command, tools in (("maths", MATHS, ""), ("questions", QUESTIONS, f" {QA}"))
    for formulation, models in ROLES.items()
    for roles in [models if formulation in ("cot", "direct") else models + tools]
    for variant, options in VARIANTS.items()
}
CASES |= {
    "hotpotqa": f"evaluate hotpotqa FILES --split dev --limit 1 {TWO} {QA} --role judge=SERVER",
    "choices, cot": f"evaluate scienceqa FILES --limit 1 --formulation cot {ONE}",
    "choices, direct": f"evaluate scienceqa FILES --limit 1 --formulation direct {ONE}",
    "texts, direct": f"evaluate superni FILES --limit 1 --formulation direct {ONE}",
    "maths, sampled": f"{MATHS} --samples 2 --seed 5 --temperature 0.7 --top-p 0.9 --max-tokens 99 --sampling "
    f"grounder.max_tokens=64 --sampling grounder.temperature=0 {TWO}",
}
#: Over openai:// the same prompts are sent: these cases have all of its fields.
OVER_OPENAI = [name for name in CASES if not name.endswith((", eval", "train, shots"))]
RUNS = [*((name, "tgi") for name in CASES), *((name, "openai") for name in OVER_OPENAI)]


def choose_model(name: str) -> Callable[[str], str]:
    """The model of a case. What it writes behind a line break is not read."""
    reply = all_at_once if "one-pass" in name else step_by_step

    def go_on_writing(prompt: str) -> str:
        is_tool = prompt.startswith(("Please answer", "Please judge"))
        return reply(prompt) if is_tool else f"{reply(prompt)}\nSubgoal 9: And so on."

    return go_on_writing


def run_case(name: str, scheme: str, folder: Path) -> dict[str, Any]:
    """The requests of a case in their order, and the digests of its commands.

    The database is in the folder that LUMOS_HOME names; files are written to `folder`.
    """
    with RecordingEndpoint(choose_model(name)) as server:
        job = submit_case(name, folder, getattr(server, scheme))
        return {"requests": server.requests, "asks": read_asks(job)}


def submit_case(name: str, folder: Path, address: str) -> str:
    """Do the job of a case; returns its id."""
    printed = run(*words(CASES[name], folder, {"SERVER": address}), "--again", "--json")
    assert printed.startswith(("exit code 0", "exit code 3")), printed  # of 3 the requests say why
    return next(json.loads(line)["job"] for line in printed.splitlines() if line.startswith('{"job"'))


@contextmanager
def connect() -> Iterator[Connection]:
    database = open_database(read_settings().database)
    try:
        with database.engine.connect() as connection:
            yield connection
    finally:
        database.close()


def read_asks(job: str) -> list[list[str]]:
    """Role and digest of each command that asked a model, in their order."""
    query = text(
        "SELECT c.role, c.command FROM completion c JOIN episode e ON e.id = c.episode WHERE e.job = :job "
        "ORDER BY e.id, c.position, c.branch"
    )
    with connect() as connection:
        return [[role, bytes(digest).hex()] for role, digest in connection.execute(query, {"job": job})]


def ask_first(job: str, address: str) -> Ask:
    """The first command of the job's first episode, if all roles were at this address."""
    with connect() as connection:
        infer = Infer.from_json(get_job(connection, job).spec["infer"])
        columns = (TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold)
        of_job = select(*columns).join(EpisodeRow, EpisodeRow.task == TaskRow.id).where(EpisodeRow.job == job)
        task = Task(infer.benchmark, infer.dataset, *connection.execute(of_job).first())
    agent = replace(infer.agent, roles=dict.fromkeys(infer.agent.roles, address))
    command = next(iter(replace(infer, agent=agent).generator()(task, agent)))
    assert isinstance(command, Ask)
    return command


def write_rules(path: Path, requests: Requests, model: Callable[[str], str]) -> str:
    """The address of a model with the replies to these requests. Longer prompts first: they contain shorter ones."""
    prompts = sorted({read_prompt(request) for request in requests}, key=len, reverse=True)
    path.write_text(json.dumps([{"contains": prompt, "reply": model(prompt)} for prompt in prompts]))
    return f"scripted:{path}"


def read_stored() -> dict[str, dict[str, Any]]:
    with gzip.open(STORED, "rt", encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture(scope="module")
def stored() -> dict[str, dict[str, Any]]:
    return read_stored()


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """One database for all cases: its tables are made once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def environment(home, monkeypatch) -> None:
    monkeypatch.setenv("LUMOS_HOME", str(home))
    monkeypatch.setenv("LUMOS_CONCURRENCY", "1")  # requests come in the order of the episodes


@pytest.mark.parametrize(("name", "scheme"), RUNS)
def test_requests_and_digests_are_as_they_were(name, scheme, tmp_path, stored):
    current, before = run_case(name, scheme, tmp_path), stored[f"{name} over {scheme}"]
    for number, (request, expected) in enumerate(zip(current["requests"], before["requests"], strict=False), start=1):
        assert json.dumps(request, indent=1) == json.dumps(expected, indent=1), f"request {number}"
    assert len(current["requests"]) == len(before["requests"])
    assert current["asks"] == before["asks"]


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith(", train")])
def test_other_schemes_ask_by_the_same_commands(name, tmp_path, stored):
    before = stored[f"{name} over tgi"]
    address = write_rules(tmp_path / "rules.json", before["requests"], choose_model(name))
    job = submit_case(name, tmp_path, address)
    assert read_asks(job) == before["asks"]
    for other in OTHER_ADDRESSES:
        ask = ask_first(job, other)
        assert [ask.role, ask.digest[:KEPT_DIGITS]] == before["asks"][0], other


def test_the_same_commands_are_asked_for_over_both_schemes(stored):
    for name in OVER_OPENAI:
        assert stored[f"{name} over tgi"]["asks"] == stored[f"{name} over openai"]["asks"]


def main() -> None:
    outcomes = {}
    os.environ["LUMOS_CONCURRENCY"] = "1"
    with tempfile.TemporaryDirectory() as home:
        os.environ["LUMOS_HOME"] = home
        for name, scheme in RUNS:
            with tempfile.TemporaryDirectory() as folder:
                outcomes[f"{name} over {scheme}"] = run_case(name, scheme, Path(folder))
            print(name, scheme, len(outcomes[f"{name} over {scheme}"]["requests"]), flush=True)
    with gzip.GzipFile(STORED, "wb", mtime=0) as file:
        file.write(json.dumps(outcomes, indent=1).encode())


if __name__ == "__main__":
    main()
