"""Make `before_at_limit.jsonl.gz`: jobs of the code before an answer at the limit of subgoals could count, and before
the last action of a one-pass plan asked for the answer itself.

    git worktree add BEFORE f98a455
    cd BEFORE && PYTHONPATH=. python …/tests/integration/made_at_limit.py …/tests/integration/before_at_limit.jsonl.gz

It runs that code on invented tasks, kills it in mid-work, and writes all rows of its SQLite database as JSON lines
(made_before.py). Two more lines are of no table: the reports of all jobs after the kill, and the reports after that
code has resumed and finished the jobs. Each has the digests of the prompts that were sent.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import select, text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.models import CompletionRow, EpisodeRow, JobRow
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from tests.fake_endpoint import FakeEndpoint
from tests.integration.made_before import count_done, dump
from tests.integration.rollout_jobs import rows_of
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

ITEMS = 12
NOW, LATER = "reports now", "reports later"  #: the lines of no table
#: project to benchmark, formulation, limit of subgoals, and whether its worker is killed
JOBS = {
    "at the limit": ("wordmath", "iterative", 2, False),
    "maths, half done": ("wordmath", "iterative", 2, True),
    "hotpotqa at the limit": ("hotpotqa", "iterative", 1, False),
    "hotpotqa, half done": ("hotpotqa", "one-pass", 8, True),
    "strategyqa, half done": ("strategyqa", "one-pass", 8, True),
}
STOP = "Yes, I will stop planning."


def tasks(benchmark: str) -> list[Task]:
    """Return invented tasks; those of maths have one to three subgoals. A third gets wrong answers."""
    invented_tasks = []
    for number in range(ITEMS):
        if benchmark == "wordmath":
            question = f"A shop has {number} hats and gets {number % 3 + 1} times 5 more. How many are there?"
            gold: dict[str, Any] = {"answer": str(number + 5 * (number % 3 + 1))}
            invented_tasks.append(Task(benchmark, "", str(number), question, {}, gold))
            continue
        inputs = {"paragraphs": [{"title": f"Mill {number}", "text": f"Mill {number} was built by Ann {number}."}]}
        if benchmark == "hotpotqa":
            question, gold = f"Where was the builder of mill {number} born?", {"answer": f"Town {number}", "pages": []}
        else:
            question = f"Would mill {number} be taller than a tree of 20 metres?"
            gold = {"answer": "Yes", "facts": [], "questions": [], "evidence": []}
        invented_tasks.append(Task(benchmark, "", str(number), question, inputs, gold))
    return invented_tasks


def reply(prompt: str) -> str:
    """Return the reply of planner, grounder, QA tool or judge, which depends on the prompt alone."""
    if "Please judge whether" in prompt:
        return "INCORRECT"
    if "Please answer the following question" in prompt:
        return _answer(re.findall(r"\nQuestion: (.*)", prompt)[-1])
    turn, plans = prompt.count("<|assistant|>\n"), "subgoal-based plan" in prompt
    number = int(re.findall(r"(?:mill|has) (\d+)", prompt)[0])
    if "hats" in prompt:
        if plans:
            return STOP if turn > number % 3 + 1 else f"Subgoal {turn}: Add the next 5 hats."
        return f"R{turn} = Calculator({f'R{turn - 1}' if turn > 1 else number} + 5)"
    if "Would mill" in prompt:
        if plans:
            return "Subgoal 1: Find its height.; Subgoal 2: Is mill taller than 20 metres?"
        return f"R1 = QA([], Question: How high is mill {number}?); R2 = Calculator(R1 > 20 metres)"
    if plans:
        return "Subgoal 1: Find the builder.; Subgoal 2: Find where that was." if turn == 1 else STOP
    return f"R1 = QA([], Question: Who built mill {number}?); R2 = QA([R1], Question: Where was R1 born?)"


def _answer(question: str) -> str:
    match = re.search(r"(?:mill|Ann) (\d+)", question)
    if not match:
        return "No answer"
    number = int(match[1])
    if number % 3 == 2 and ("builder" in question or "Would" in question):
        return "Answer: no"
    if question.startswith("Who"):
        return f"Answer: Ann {number}"
    if question.startswith("How high"):
        return f"Answer: {number + 15} metres"
    return "Answer: yes" if question.startswith("Would") else f"Answer: Town {number}"


def settings_of(folder: Path, url: str = "") -> Settings:
    return Settings(
        home=folder,
        database_url=url,
        concurrency=4,
        user="somebody",
        lease_seconds=2,
        fence_seconds=1.5,
        heartbeat_seconds=0.5,
        poll_seconds=0.2,
    )


def resume_job(settings: Settings, job: str) -> None:
    process = WorkerContext(Deployment(settings))
    try:
        Dispatcher(process, ["llm"], only=job).run(lambda: False)
    finally:
        process.close()


def work_and_die(settings: Settings, database: Database, job: str) -> None:
    """Work until some episodes are done and others have run some of their actions; then be killed."""
    midst = text(
        "SELECT count(DISTINCT e.id) FROM episode e JOIN execution x ON x.episode = e.id "
        "WHERE e.job = :job AND e.ending = ''"
    )
    pid = os.fork()
    if not pid:
        resume_job(settings, job)
        os._exit(0)
    while True:
        with database.engine.connect() as connection:
            if count_done(database, job) >= 3 and connection.execute(midst, {"job": job}).scalar_one() >= 2:
                break
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def load_reports(database: Database) -> dict[str, dict[str, Any]]:
    """Return, by project, the job's report without times, and the digests of the prompts that were sent."""
    reports_by_project = {}
    with database.engine.connect() as connection:
        for project, job in list(connection.execute(select(JobRow.project, JobRow.id))):
            query = select(CompletionRow.prompt_digest).join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
            report = as_json(make_report(connection, get_job(connection, job)))
            reports_by_project[project] = {
                "report": {
                    name: field for name, field in report.items() if name not in ("seconds", "phases", "latency")
                },
                "asked": sorted(
                    digest.hex() for digest in connection.execute(query.where(EpisodeRow.job == job)).scalars()
                ),
            }
    return reports_by_project


def make(settings: Settings, server: FakeEndpoint) -> Iterator[Database]:
    """Yield the database after the kills, and again when its jobs are done."""
    database = open_database(settings.database)
    upgrade(database)
    cut_off = []
    for seed, (project, (benchmark, formulation, max_subgoals, cut)) in enumerate(JOBS.items()):
        rows = rows_of(open_benchmark(benchmark), tasks(benchmark), "dev")
        roles = ["planner", "grounder"] if benchmark == "wordmath" else ["planner", "grounder", "qa"]
        roles += ["judge"] * (benchmark == "hotpotqa")
        by = {"wordmath": "last", "hotpotqa": "qa", "strategyqa": "yes/no"}[benchmark]
        domain = "maths" if benchmark == "wordmath" else "complex_qa"
        agent = Agent(dict.fromkeys(roles, server.tgi), domain, max_subgoals=max_subgoals, answer_by=by)
        job = Evaluate(Infer(benchmark, rows.digest, "dev", formulation, agent, seed=seed))
        identifier, _ = submit(database, settings.model_copy(update={"project": project}), job, rows)
        if cut:
            cut_off.append(identifier)
            work_and_die(settings, database, identifier)
        else:
            resume_job(settings, identifier)
    yield database
    for identifier in cut_off:
        resume_job(settings, identifier)
    yield database


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, FakeEndpoint(reply, latency=0.05, slots=3) as server:
        stages = make(settings_of(Path(folder)), server)
        lines = [*dump(next(stages), server.port).decode().splitlines()]
        database = open_database(settings_of(Path(folder)).database)
        lines.append(json.dumps([NOW, load_reports(database)]))
        lines.append(json.dumps([LATER, load_reports(next(stages))]))
        with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
            file.write("\n".join(lines).encode())


if __name__ == "__main__":
    main()
