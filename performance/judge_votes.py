"""Votes of a judge on stored-to-be answers, beside a bare loop that sends the same prompts and keeps nothing.

    python -m performance.judge_votes [--votes 1000] [--each 5] [--latency 0.05] [--slots 64] [--pairs 5]

Both send so many chat requests to the same fake server, at most `slots` at once. The job does what an evaluation does:
a prepared solver answers, votes are stored step by step in SQLite, grades are read and scored. The two take turns, and
the ratios are medians over the pairs; `best` is the time that the server alone needs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import aiohttp
from sqlalchemy import func, select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import ScoreRow
from db.queries.jobs import get_job
from lumos_queue.benchmarks.from_file.definition import FieldNames, FileDefinition
from lumos_queue.benchmarks.from_file.rubrics import make_judge, write_prompt
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.base import Sampling
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from performance.processes import tree_cpu
from performance.server import ask, start_server
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

ANSWER = "It is Paris."


@dataclass(frozen=True, slots=True)
class Shape:
    """What both do."""

    votes: int
    each: int  #: votes on each answer
    latency: float  #: seconds
    slots: int

    @property
    def answers(self) -> int:
        return self.votes // self.each

    def question(self, number: int) -> str:
        return f"What is the capital of country {number}?"

    @property
    def definition(self) -> FileDefinition:
        judge = make_judge(votes=self.each)
        return FileDefinition("votes", FieldNames("question", ("answer",)), "judge", judge=judge)


@dataclass(frozen=True, slots=True)
class Run:
    """What a run took."""

    seconds: float  #: from the first vote at the server to its last reply
    cpu: float  #: seconds of this process
    calls: int


class WorkOfVotes:
    """A process with a database, which evaluates new rows for each run."""

    def __init__(self, shape: Shape, folder: Path):
        self._shape, self._folder, self._runs = shape, folder, 0
        (folder / "solver.json").write_text(json.dumps([{"contains": "", "reply": ANSWER}]))
        settings = Settings(home=folder, concurrency=shape.slots)  # also of requests
        self._database = open_database(settings.database)
        upgrade(self._database)
        self._process = WorkerContext(Deployment(settings))

    def run(self, url: str) -> Run:
        """Evaluate; raises RuntimeError where not each answer has its grade."""
        self._runs += 1
        path, shape = self._folder / f"rows{self._runs}.jsonl", self._shape
        first = 10**6 * self._runs
        rows = [{"question": shape.question(first + number), "answer": "Paris"} for number in range(shape.answers)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        benchmark = open_benchmark("", shape.definition)
        read = read_rows(benchmark, path, "own", skip_bad_rows=False)
        roles = {"solver": f"scripted:{self._folder}/solver.json", "judge": f"{url}?model=additions"}
        roles["judge"] = roles["judge"].replace("http://", "chat://")
        samplings = {"judge": Sampling(1.0, stop=())}
        agent = Agent(roles, "complex_qa", samplings=samplings)
        infer = Infer(benchmark.name, read.digest, "own", "direct", agent, definition=shape.definition)
        before = tree_cpu(os.getpid())
        job, _ = submit(self._database, self._process.settings, Evaluate(infer), read)
        Dispatcher(self._process, ["llm"], only=job).run(lambda: False)
        cpu = tree_cpu(os.getpid()) - before
        with self._database.engine.connect() as connection:
            state = get_job(connection, job).state
            grade_count = connection.execute(select(func.count()).select_from(ScoreRow)).scalar_one()
        if state != "done" or grade_count != self._runs * shape.answers:
            raise RuntimeError(
                f"job {job} is {state}: {grade_count} of {self._runs * shape.answers} answers have a grade"
            )
        return _measure(url, cpu)

    def close(self) -> None:
        self._process.close()
        self._database.close()


def run_bare(shape: Shape, url: str) -> Run:
    """Send the same prompts from a bare loop."""
    judge = shape.definition.judge
    assert judge is not None
    tasks = (Task("", "", "", shape.question(number), gold={"answer": "Paris"}) for number in range(shape.answers))
    prompts = [write_prompt(judge, task, ANSWER) for task in tasks for _ in range(shape.each)]
    before = tree_cpu(os.getpid())
    asyncio.run(_send_all(prompts, url, shape.slots))
    return _measure(url, tree_cpu(os.getpid()) - before)


async def _send_all(prompts: list[str], url: str, slots: int) -> None:
    queue = iter(prompts)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send() -> None:
            for prompt in queue:
                messages = [{"role": "user", "content": prompt}]
                body = {"model": "additions", "messages": messages, "temperature": 1.0, "max_tokens": 512}
                async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                    assert (await response.json())["choices"][0]["message"]["content"] == "Grade: 1"

        await asyncio.gather(*(send() for _ in range(slots)))


def _measure(url: str, cpu: float) -> Run:
    stats = ask(url, "/stats")
    return Run(stats["last_reply_at"] - stats["first_call_at"], cpu, int(stats["calls"]))


def main() -> None:
    """Measure, and print a line for each pair and one with the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("votes", 1000), ("each", 5), ("slots", 64), ("pairs", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--latency", type=float, default=0.05)
    options = parser.parse_args()
    shape = Shape(options.votes, options.each, options.latency, options.slots)
    best = math.ceil(shape.answers * shape.each / shape.slots) * shape.latency
    ratios: list[tuple[float, float]] = []
    with start_server(shape.latency, shape.slots) as url, TemporaryDirectory(prefix="lumos-performance-") as folder:
        work = WorkOfVotes(shape, Path(folder))
        try:
            work.run(url)  # warm
            for number in range(options.pairs):
                runs = {}
                for name in ("job", "bare") if number % 2 else ("bare", "job"):
                    ask(url, "/reset")
                    runs[name] = work.run(url) if name == "job" else run_bare(shape, url)
                    time.sleep(0.2)
                job, bare = runs["job"], runs["bare"]
                ratios.append((job.seconds / bare.seconds, job.cpu / bare.cpu))
                print(
                    f"{job.calls:,} votes: job {job.seconds:.2f} s, {1000 * job.cpu / job.calls:.2f} ms CPU a vote; "
                    f"bare loop {bare.seconds:.2f} s, {1000 * bare.cpu / bare.calls:.2f} ms; best {best:.2f} s",
                    flush=True,
                )
        finally:
            work.close()
    print(
        f"job / bare loop, medians: {median(r[0] for r in ratios):.2f} of the time, "
        f"{median(r[1] for r in ratios):.2f} of the CPU"
    )


if __name__ == "__main__":
    main()
