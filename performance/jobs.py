"""The questions as rows of this project's `gsm8k` benchmark, and a job that asks the fake server about them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import func, select

from db.engine.connection import Database
from db.models import EpisodeRow, Item, ScoreRow
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.submission.store import Rows, read_rows
from performance.questions import Question

NAME = "gsm8k"


def rows_of(work: Iterable[Question], path: Path) -> Rows:
    """The questions written to a file in the benchmark's format, and read as a submission reads them."""
    with path.open("w") as file:
        for question in work:
            file.write(json.dumps({"question": question.text, "answer": f"#### {question.answer}"}) + "\n")
    return read_rows(open_benchmark(NAME), path, "test", skip_bad_rows=False)


def evaluation(url: str, rows: Rows) -> Evaluate:
    """Evaluate the iterative formulation on all rows; `url` is the fake server's, http://…"""
    endpoint = url.replace("http://", "tgi://")
    agent = Agent(roles={"planner": endpoint, "grounder": endpoint}, domain="maths")
    return Evaluate(Infer(NAME, rows.digest, "test", "iterative", agent))


def right_answers(database: Database, job: str) -> int:
    """Episodes of the job that ended by themselves and were scored as correct."""
    query = (
        select(func.coalesce(func.sum(ScoreRow.value), 0))
        .join(EpisodeRow, EpisodeRow.id == ScoreRow.episode)
        .join(Item, Item.id == EpisodeRow.id)
        .where(
            EpisodeRow.job == job, Item.state == "done", EpisodeRow.ending == "answered", ScoreRow.metric == "accuracy"
        )
    )
    with database.engine.connect() as connection:
        return int(connection.execute(query).scalar_one())
