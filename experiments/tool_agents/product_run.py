"""This project at the same work: jobs over generated tools in one process, on SQLite, submitting included."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import orjson
from sqlalchemy import func, select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import CompletionRow, EpisodeRow
from db.queries.jobs import get_job
from experiments.tool_agents.contest import Contest, journal_of
from experiments.tool_agents.faults import Setting
from experiments.tool_agents.questions import Question, make_questions
from experiments.tool_agents.scripts import Answers
from experiments.tool_agents.world import RELATIONS, World
from lumos_queue.actions.tools.options import prepare_tools
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Ask
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, read_rows, submit
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

CONTEST = Contest(World(0), Setting(), noise=0.0)  # an error may ask for what is not recorded


def questions(first: int, last: int) -> list[Question]:
    return make_questions(CONTEST.world, 0, last)[first:]


def write_prompts(name: str, episodes: int, folder: Path) -> None:
    """What the episodes ask, for the loop that only sends; and the replies by sha256 of the prompt, for the server."""
    prompts, replies = [], {}
    for question in questions(0, episodes):
        steps = journal_of(CONTEST, question, name).steps
        model_calls = [(step.command, step.result) for step in steps if isinstance(step.command, Ask)]
        prompts.append([(ask.role, ask.prompt) for ask, _ in model_calls])
        for ask, reply in model_calls:
            assert isinstance(reply, Completion)
            replies[hashlib.sha256(ask.prompt.encode()).hexdigest()] = reply.text
    (folder / f"{name}.json").write_text(json.dumps(prompts))
    (folder / f"{name}.replies.json").write_text(json.dumps(replies))


def answers() -> Answers:
    """What every API answers, as the bare loop looks it up."""
    bodies = {}
    for name, relation in RELATIONS.items():
        for provider, thing in product(relation.providers, CONTEST.world.things[relation.of]):
            body = json.dumps({"error": "", "response": CONTEST.world.tell(name, thing)}, ensure_ascii=False)
            bodies[provider, name, orjson.dumps({relation.of: thing})] = body, "ok"
    return bodies


def write_records(path: Path) -> None:
    """What every API answers, as a file of recorded answers."""
    lines = []
    for name, relation in RELATIONS.items():
        for provider in relation.providers:
            for thing in CONTEST.world.things[relation.of]:
                names = {
                    "category": relation.category,
                    "tool": provider,
                    "api": name,
                    "arguments": {relation.of: thing},
                }
                lines.append(json.dumps({**names, "response": CONTEST.world.tell(name, thing), "code": 0}))
    path.write_text("\n".join(lines))


class _Tasks:
    """ToolBench with these tasks."""

    needs_data = False

    def __init__(self, tasks: list[Task]):
        self._benchmark, self._tasks = open_benchmark("toolbench"), tasks

    def __getattr__(self, name: str) -> object:
        return getattr(self._benchmark, name)

    def read(self, path: Path | None, split: str) -> Iterator[Task]:
        return iter(self._tasks)


def rows_of(work: list[Question]) -> Rows:
    """The questions as a submission reads them."""
    tasks = [
        replace(question.task(), benchmark="toolbench", gold={"relevant": [list(api) for api in question.apis]})
        for question in work
    ]
    return read_rows(_Tasks(tasks), None, "I1-inst", False)  # type: ignore[arg-type]


class Embedded:
    """One process, its database and its agent."""

    def __init__(self, folder: Path, name: str, url: str, in_flight: int):
        self._settings = Settings(home=folder, concurrency=in_flight)
        self._database = open_database(self._settings.database)
        upgrade(self._database)
        self._process = WorkerContext(Deployment(self._settings))
        write_records(folder / "answers.jsonl")
        formulation = FORMULATIONS.load(name)
        tools = prepare_tools({"records": str(folder / "answers.jsonl")})
        self._name = name
        self._agent = Agent(
            dict.fromkeys(formulation.roles, url),
            "tools",
            tools=tools,
            limits=formulation.limits,
            samplings=formulation.samplings,
        )

    def solve(self, rows: Rows) -> int:
        """Submit a job of these rows and work until it has ended; returns how many model calls it made."""
        job = Evaluate(Infer("toolbench", rows.digest, "I1-inst", self._name, self._agent))
        identifier, _ = submit(self._database, self._settings, job, rows)
        Dispatcher(self._process, [job.pool], only=identifier).run(lambda: False)
        query = select(func.count()).select_from(CompletionRow).join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
        with self._database.engine.connect() as connection:
            if (state := get_job(connection, identifier).state) != "done":
                raise RuntimeError(f"job {identifier} is {state}")
            return connection.execute(query.where(EpisodeRow.job == identifier)).scalar_one()
