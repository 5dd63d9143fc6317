"""Make `before_readers.jsonl.gz`: half-done jobs of every formulation, by the code before formulation version 3.

`before_descriptions.jsonl.gz` has jobs of tool agents by the code before version 4, and is made in the same way at
commit cf588c9c. The name of the file determines the jobs (CASES_BY_FILE).

    git worktree add --detach BEFORE 2c4936d8
    cp tests/recording_endpoint.py BEFORE/tests
    cp tests/integration/{before_readers,before_readers_models,made_before_readers}.py BEFORE/tests/integration
    cd BEFORE
    PYTHONPATH=. python -m tests.integration.made_before_readers …/tests/integration/before_readers.jsonl.gz

It submits the jobs of before_readers.py, and does all of them once in a copy of the database, uninterrupted. Then it
works on each job in another process, whose model server leaves some requests without an answer, and kills that process.
The first items of each job are finished, some have half of their calls recorded, and the others have none. The file has
all rows of this SQLite database as JSON lines (stored_database.py). Lines of no table hold, for each job, the episodes
of the uninterrupted run and the requests of the killed process without an answer. The server's port is written as PORT.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from lumos_queue.settings import read_settings
from tests.integration.before_readers import (
    CASES_BY_FILE,
    EXPECTED,
    Case,
    Server,
    count_calls,
    count_requests,
    load_episodes,
    make_environment,
    resume_job,
    submit_library_job,
    write_files,
)
from tests.integration.before_readers_models import find_number
from tests.integration.command_outputs import run
from tests.integration.made_before import dump
from tests.integration.stored_database import jobs
from tests.recording_endpoint import Requests, read_prompt

Cases = dict[str, Case]  #: by project
FINISHED = 2  #: items of each job that are finished before the kill
QUIET = 0.6  #: seconds without a change, after which nothing more is recorded
NOBODY = "redis://127.0.0.1:9/0"  #: a broker that takes no message: nobody works on submitted jobs


def submit_all(database: Database, home: Path, server: Server, cases: Cases) -> None:
    files = write_files(home)
    for project, case in cases.items():
        server.begin(case)
        os.environ.update(LUMOS_PROJECT=project, LUMOS_BROKER_URL="" if case.whole else NOBODY)
        if not case.command:
            job = submit_library_job(database, read_settings(), case, server)
            if case.whole:
                resume_job(job)
            continue
        name, _, rest = case.arguments.partition(" ")
        words = {
            "HOME": str(home),
            "TGI": server.tgi,
            "OPENAI": server.openai,
            "CHAT": server.chat,
            "FILES": " ".join(files.get(name, ())),
            "JOB": jobs(database).get("react, to be judged", ""),
        }
        arguments = f"{name} {rest}"
        for word, value in words.items():
            arguments = arguments.replace(word, value)
        output = run(case.command, *arguments.split(), "--json")
        if not output.startswith("exit code 0"):
            raise RuntimeError(f"{project}: {output}")
    os.environ.update(LUMOS_PROJECT="default", LUMOS_BROKER_URL="")


def run_whole(database: Database, server: Server, cases: Cases) -> dict[str, dict[str, Any]]:
    """Do every job uninterrupted; return its episodes and its requests, by project."""
    outcomes = {}
    for project, case in cases.items():
        if not case.whole:
            job = jobs(database)[project]
            server.begin(case)
            resume_job(job)
            outcomes[project] = {"episodes": load_episodes(database, job), "requests": [*server.requests]}
            print(project, len(server.requests), file=sys.stderr, flush=True)
    return outcomes


def choose_limits(requests: Requests, samples: int) -> dict[int | None, int]:
    """Return how many requests about each task are answered: all, half or none.

    Several samples of a task start together: half of the requests of a single sample are answered.
    """
    counts = Counter(find_number(read_prompt(request)) for request in requests)
    if [*counts] == [None]:
        return {None: FINISHED}
    numbers = sorted(number for number in counts if number is not None)
    limits: dict[int | None, int] = {number: counts[number] // 2 // samples for number in numbers}
    return limits | {number: counts[number] for number in numbers[:FINISHED]} | {numbers[-1]: 0}


def work_and_die(database: Database, job: str, case: Case, server: Server, requests: Requests) -> None:
    """Work on a job until all replies are stored and no further request will be answered; then be killed."""
    server.begin(case, choose_limits(requests, case.samples))
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        resume_job(job)
        os._exit(0)
    counts, last_change = (0, 0), time.monotonic()
    try:
        while time.monotonic() - last_change < QUIET or not all(counts):
            current = count_calls(database, job), server.unanswered
            if current != counts:
                counts, last_change = current, time.monotonic()
            if time.monotonic() - last_change > 60:
                raise RuntimeError(f"{case.arguments}: (recorded, unanswered) stays {current}")
            time.sleep(0.02)
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if count_calls(database, job) != len(server.requests):
        raise RuntimeError(f"{case.arguments}: {count_calls(database, job)} of {len(server.requests)} are recorded")


def make(home: Path, server: Server, cases: Cases) -> str:
    os.environ.update(make_environment(home))
    database = open_database(read_settings().database)
    upgrade(database)
    submit_all(database, home, server, cases)
    database.close()
    copy = home.with_name("copy")
    shutil.copytree(home, copy)

    os.environ.update(make_environment(copy))
    database = open_database(read_settings().database)
    outcomes = run_whole(database, server, cases)
    database.close()

    os.environ.update(make_environment(home))
    database = open_database(read_settings().database)
    for project, outcome in outcomes.items():
        requests = outcome.pop("requests")
        work_and_die(database, jobs(database)[project], cases[project], server, requests)
        missing_requests = count_requests(requests) - count_requests(server.requests)
        outcome["missing"] = [json.loads(request) for request in sorted(missing_requests.elements())]
        print(project, len(server.requests), "of", len(requests), file=sys.stderr, flush=True)
    lines = dump(database, server.port).decode().splitlines()
    lines += [json.dumps([EXPECTED, {"project": project, **outcome}]) for project, outcome in outcomes.items()]
    database.close()
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        home = Path(folder).resolve() / "home"
        home.mkdir()
        lines = make(home, server, CASES_BY_FILE[Path(sys.argv[1]).name.partition(".")[0]])
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
        file.write(lines.encode())


if __name__ == "__main__":
    main()
