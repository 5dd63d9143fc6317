"""Make `before_rooms.jsonl.gz` and `before_rooms_shown.json.gz` with the code before its modules were moved:

    git worktree add --detach BEFORE 6c9f5ab
    cp tests/{original_files,scripted_models}.py BEFORE/tests
    cp tests/integration/{before_rooms,command_outputs,made_before_rooms,stored_database}.py BEFORE/tests/integration
    cd BEFORE
    PYTHONPATH=. python tests/integration/made_before_rooms.py rows …/tests/integration
    PYTHONPATH=. python tests/integration/made_before_rooms.py shown …/tests/integration

Both versions use the same files, which import nothing that was moved.

`rows` runs commands of that code: evaluations, inferences, conversions, an import, a training run,
rollouts, blame, corrections, labels and an audit. It kills one job of each kind in mid-work. The first file has all
rows of its SQLite database as JSON lines (stored_database.py), and the files that jobs need, as lines
`["file", {"path", "base64"}]`.
`shown` loads these rows into an empty database on SQLite and into one on PostgreSQL. The second file has all outputs
(command_outputs.py) after the kills (`now`), and the rows and reports of the killed jobs when they are done (`later`).
The outputs are those of SQLite; a check compares them with PostgreSQL.
The addresses of the two model servers are written as 127.0.0.1:PORT and 127.0.0.1:OTHER, the folder as HOME.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lumos_queue.training.model import ModelSpec, export, make_model
from sqlalchemy import text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from lumos_queue.settings import read_settings
from lumos_queue.training.tokenizer import train_tokenizer
from tests.fake_endpoint import FakeEndpoint
from tests.integration.before_rooms import (
    HALF_DONE,
    find_differences,
    half_fit,
    load_finished_jobs,
    make_environment,
    make_replacements,
    move_checkpoints,
    replace_locations,
    resume_job,
)
from tests.integration.command_outputs import collect_outputs, run
from tests.integration.made_before import dump
from tests.integration.stored_database import jobs, load, read, write_files
from tests.original_files import write_originals
from tests.scripted_models import all_at_once, step_by_step
from tests.services import start_postgres

TINY = ModelSpec(hidden=16, layers=1, heads=2, feed_forward=24, positions=64)
PLAN = (
    "Subgoal 1: Add.\nAction 1-1: R1 = Calculator({n} + 1) = {m} \n\n"
    "Subgoal 2: Halve.\nAction 2-1: R2 = Calculator(R1 / 2) = {h} "
)


def do(project: str, *arguments: str) -> dict[str, Any]:
    """Run a command for a project; return what it prints as JSON."""
    os.environ["LUMOS_PROJECT"] = project or "default"
    print(project, *arguments[:2], file=sys.stderr, flush=True)
    output = run(*map(str, arguments), "--json")
    if not output.startswith(("exit code 0", "exit code 3")):
        raise RuntimeError(f"{arguments}: {output}")
    return next(json.loads(line) for line in output.splitlines() if line.startswith("{"))


def make(home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint) -> Database:
    """Make the finished jobs, then the half-done ones."""
    files = write_originals(home / "files")
    both = ["--planner", step_server.tgi, "--grounder", step_server.tgi]
    whole = ["--formulation", "one-pass", "--planner", plan_server.tgi, "--grounder", plan_server.tgi]
    draw_options = ["--draw", "8", "--sets", "1"]  # all tasks of a dataset are stored, so it must be small
    first = do("wordmath, iterative", "evaluate", "wordmath", *draw_options, *both)["job"]
    do("wordmath, one-pass", "evaluate", "wordmath", *draw_options, *whole)
    for formulation in ("integrated", "cot", "direct"):
        solver = ["--formulation", formulation, "--solver", step_server.tgi]
        do(f"wordmath, {formulation}", "evaluate", "wordmath", *draw_options, *solver)
    do(
        "wordmath, sets",
        "evaluate",
        "wordmath",
        "--draw",
        "4",
        "--sets",
        "2",
        "--samples",
        "2",
        "--temperature",
        "0.5",
        *both,
    )
    do("gsm8k", "evaluate", "gsm8k", *files["gsm8k"], "--at-limit", "wrong", "--max-subgoals", "2", *both)
    qa, judge = ["--role", f"qa={step_server.tgi}"], ["--role", f"judge={step_server.tgi}"]
    do("strategyqa", "evaluate", "strategyqa", *files["strategyqa"], "--split", "dev", *both, *qa)
    do("hotpotqa", "evaluate", "hotpotqa", *files["hotpotqa"], "--split", "dev", *whole, *qa, *judge)
    do(
        "mind2web",
        "evaluate",
        "mind2web",
        *files["mind2web"],
        "--split",
        "train",
        "--formulation",
        "teacher-forced",
        *both,
    )
    do("aokvqa", "infer", "aokvqa", *files["aokvqa"], "--split", "val", *both, *qa, "--role", f"vqa={step_server.chat}")
    do("webshop", "evaluate", "webshop", "--draw", "3", "--sets", "1", *both)
    do("intercode_sql", "evaluate", "intercode_sql", *files["intercode_sql"], "--split", "dev", *both)
    conversion = do("converted", "convert", "gsm8k", *files["gsm8k"], "--deterministic")["job"]
    do(
        "taught",
        "convert",
        "musique",
        *files["musique"],
        "--split",
        "train",
        "--teacher",
        step_server.chat,
        "--price-prompt",
        "0.5",
        "--price-completion",
        "1.5",
    )
    import_released(home)
    do("rollouts", "rollouts", "--where", f"job={first} score<1", "--samples", "2", *both)
    blame(first, both)
    label(first, conversion)
    train(home)
    step_server.latency = plan_server.latency = 0.15
    kill_in_mid_work(home, step_server, plan_server, write_originals(home / "more", 16))
    return open_database(read_settings().database)


def import_released(home: Path) -> None:
    rows = [
        {
            "task": f"Half of {n} and one?",
            "natural_language_plan": "plan",
            "subgoal_plan": PLAN.format(n=n, m=n + 1, h=(n + 1) / 2),
        }
        for n in range(1, 12, 2)
    ]
    (home / "raw.json").write_text("\n".join(map(json.dumps, rows)))
    do("", "dataset", "export-compat", str(home / "raw.json"), "--domain", "maths", "--out", str(home / "released"))
    annotation_files = sorted((home / "released").glob("*iterative*"))
    plan, ground = (next(path for path in annotation_files if module in path.name) for module in ("plan", "ground"))
    do("imported", "data", "import", str(plan), str(ground), "--licence", "MIT", "--benchmark", "released")


def blame(job: str, roles: Sequence[str]) -> None:
    """Run blame, which makes two jobs of a project, and number their projects."""
    blame_jobs = do("blame", "blame", "--where", f"job={job} score<1", *roles)["jobs"]
    database = open_database(read_settings().database)
    with database.writer.begin() as connection:
        for index, name in enumerate(blame_jobs, start=1):
            connection.execute(
                text("UPDATE job SET project = :project WHERE id = :job"), {"project": f"blame, {index}", "job": name}
            )
    database.close()


def label(evaluation: str, conversion: str) -> None:
    do("corrected", "correct", f"{conversion}-0", "--subgoal", "1: Say the same in other words.")
    do("", "label", f"{evaluation}-1", "wrong", "--note", "the plan stops early", "--as", "ann")
    do("", "label", f"{evaluation}-2:1", "right", "--as", "bob")
    do("", "audit", "draw", "trusted", "--where", "origin=converted", "--size", "4")
    for index, value in enumerate(("right", "right", "wrong"), start=1):
        do("", "audit", "label", "trusted", str(index), value, "--as", "ann")


def row_of_training(question: str, answer: str) -> str:
    """Return a conversation as the line of a file, without the classes for it, which were moved."""
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return json.dumps({"dataset": "sums/iterative/planner", "id": f"sums/{answer[6:-1]}", "messages": messages})


def fit(home: Path, name: str) -> list[str]:
    return [
        "train",
        "sft",
        "--data",
        str(home / "sums.jsonl"),
        "--from",
        str(home / "tiny"),
        "--folder",
        str(home / name),
        "--steps",
        "6",
        "--window",
        "2",
    ]


def train(home: Path) -> None:
    pairs = [(f"Add {number} and {number + 1}.", f"It is {number}.") for number in range(60)]
    (home / "sums.jsonl").write_text("".join(f"{row_of_training(*pair)}\n" for pair in pairs[:30]))
    texts = [f"<|user|>\n{question}\n<|assistant|>\n{answer}</s>" for question, answer in pairs]
    tokenizer = train_tokenizer(iter(texts), 300, ["<|user|>\n", "\n<|assistant|>\n"])
    export(make_model(TINY, tokenizer, 3), tokenizer, home / "tiny")
    do("trained", *fit(home, "fit"))


def kill_in_mid_work(
    home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint, files: dict[str, list[str]]
) -> None:
    """Kill one job of each kind when some items are done and others have recorded calls."""
    both = ["--planner", step_server.tgi, "--grounder", step_server.tgi]
    whole = ["--formulation", "one-pass", "--planner", plan_server.tgi, "--grounder", plan_server.tgi]
    kill("infer, half done", "infer", "gsm8k", *files["gsm8k"], "--seed", "7", *both)
    kill(
        "evaluate, half done",
        "evaluate",
        "hotpotqa",
        *files["hotpotqa"],
        "--split",
        "dev",
        "--seed",
        "7",
        "--samples",
        "2",
        *whole,
        "--role",
        f"qa={step_server.tgi}",
        "--role",
        f"judge={step_server.tgi}",
    )
    kill("convert, half done", "convert", "svamp", *files["svamp"], "--split", "train", "--teacher", step_server.chat)
    kill("train, half done", *fit(home, "half"))


def kill(project: str, *arguments: str) -> None:
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        do(project, *arguments)
        os._exit(0)
    try:
        until = time.monotonic() + 60
        while not is_in_mid_work(project):
            if time.monotonic() > until:
                raise RuntimeError(f"{project}: it was not seen in mid-work")
            time.sleep(0.01)
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def is_in_mid_work(project: str) -> bool:
    """Whether the job of a project is half done. A training job has done its preparation and a window."""
    database = open_database(read_settings().database)
    query = text(
        "SELECT (SELECT count(*) FROM item i WHERE i.job = j.id AND i.state = 'done'),"
        " (SELECT count(DISTINCT e.id) FROM episode e JOIN completion c ON c.episode = e.id"
        "  WHERE e.job = j.id AND e.ending = '') FROM job j WHERE j.project = :project"
    )
    try:
        with database.engine.connect() as connection:
            done_items, recorded_episodes = connection.execute(query, {"project": project}).one_or_none() or (0, 0)
    finally:
        database.close()
    return done_items >= 2 if project.startswith("train") else done_items >= 3 and recorded_episodes >= 2


def file_lines(home: Path) -> list[str]:
    """Return the files that the killed training job needs."""
    paths = [home / "sums.jsonl", *sorted((home / "tiny").rglob("*")), *sorted((home / "half").rglob("*"))]
    return [
        json.dumps(["file", {"path": str(path.relative_to(home)), "base64": b64encode(path.read_bytes()).decode()}])
        for path in paths
        if path.is_file()
    ]


def make_rows(target: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeEndpoint(step_by_step, latency=0.03, slots=3) as step_server,
        FakeEndpoint(all_at_once, latency=0.03, slots=3) as plan_server,
    ):
        home = Path(folder).resolve()
        os.environ.update(make_environment(home))
        database = make(home, step_server, plan_server)
        write(target, rows(database, home, step_server, plan_server))
        database.close()


def rows(database: Database, home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint) -> str:
    lines = [json.loads(line) for line in [*dump(database, step_server.port).decode().splitlines(), *file_lines(home)]]
    return "\n".join(map(json.dumps, replace_locations(lines, home, step_server, plan_server)))


def make_outputs(rows_file: Path) -> dict[str, Any]:
    """Return the outputs for the rows of a file. Raises RuntimeError if the databases differ."""
    with (
        start_postgres() as server,
        tempfile.TemporaryDirectory() as sqlite_folder,
        tempfile.TemporaryDirectory() as postgresql_folder,
    ):
        sqlite = read_outputs(rows_file, Path(sqlite_folder).resolve(), "")
        postgresql = read_outputs(rows_file, Path(postgresql_folder).resolve(), server.fresh("template1"))
    running_jobs = [row["id"] for table, row in read(rows_file) if table == "job" and row["project"] in HALF_DONE]
    for stage in sqlite:
        if different := find_differences(sqlite[stage], postgresql[stage], running_jobs):
            raise RuntimeError(f"{stage}, on PostgreSQL: {different}")
    return sqlite


def read_outputs(rows_file: Path, home: Path, url: str) -> dict[str, Any]:
    """Return the outputs after the kills, and those of the killed jobs when they are done.

    The model servers reply at once.
    """
    with FakeEndpoint(step_by_step) as step_server, FakeEndpoint(all_at_once) as plan_server:
        os.environ.update(make_environment(home, url))
        database = open_database(read_settings().database)
        upgrade(database)
        load(database, write_files(home, read(rows_file, make_replacements(home, step_server, plan_server))))
        move_checkpoints(half_fit(database, home))
        outputs = {"now": collect_outputs(database, home, jobs(database))}
        for project in HALF_DONE:
            resume_job(jobs(database)[project])
        outputs["later"] = load_finished_jobs(database)
        database.close()
        return replace_locations(outputs, home, step_server, plan_server)


def write(target: Path, content: str) -> None:
    with gzip.GzipFile(target, "wb", mtime=0) as file:
        file.write(content.encode())


def main() -> None:
    step, folder = sys.argv[1], Path(sys.argv[2])
    rows_file = folder / "before_rooms.jsonl.gz"
    if step == "rows":
        make_rows(rows_file)
    else:
        write(folder / "before_rooms_shown.json.gz", json.dumps(make_outputs(rows_file)))


if __name__ == "__main__":
    main()
