"""Evaluations whose scores a test chooses, stored by the commits of a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from db.engine.connection import Database
from db.engine.rows.steps import NewAttempt
from db.kinds.totals import EpisodeTotals
from db.queue.batch import Batch, FinishedItem
from db.queue.claims import ClaimedItem
from db.queue.commit import commit
from db.queue.datasets import NewDataset
from db.queue.job_changes import finish_if_idle
from db.queue.new_jobs import NewJob, create_job
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Outcome, Score, Task
from tests.claims import claim, holder

Values = Sequence[Sequence[float | None]]  #: of each task its samples' scores; None: it ended with infra_error


def tasks_of(count: int, dataset: str = "data", benchmark: str = "wordmath", **inputs) -> tuple[Task, ...]:
    return tuple(
        Task(benchmark, dataset, str(number), f"question {number}", {"n": number} | inputs, {"answer": str(number)})
        for number in range(count)
    )


def create_scored_job(
    database: Database,
    values: Values,
    tasks: Sequence[Task] = (),
    kind: str = "evaluate",
    pending: int = 0,
    formulation: str = "iterative",
    version: str = "1",
    metric: str = "accuracy",
    limit: int = 0,
    of: int = 1,
    agent: Agent | None = None,
    **options,
) -> str:
    """Create a job on these tasks whose samples have these scores; return its id. The last `pending` items do not run.

    A further argument is a field of NewJob, or `endpoint`: the address of its models. An `agent` has both.
    """
    rows = tuple(tasks) or tasks_of(len(values))
    samples = len(values[0])
    roles = {"planner": options.pop("endpoint", "tgi://one:1"), "grounder": "tgi://one:2"}
    stored_agent = agent or Agent(roles, "maths")
    infer = Infer(rows[0].benchmark, rows[0].dataset, "test", formulation, stored_agent, limit=limit, samples=samples)
    job = Evaluate(infer)
    new = NewJob(
        kind=kind,
        pool="llm",
        digest="ab" * 32,
        spec=job.as_json(),
        benchmark=rows[0].benchmark,
        formulation=formulation,
        agent=agent.digest if agent else "",
        split="test",
        licence="MIT",
        seed=0,
        project="default",
        submitted_by="me",
        priority=0,
        code_version="1",
        main_metric=metric if kind == "evaluate" else "",
    )
    dataset = NewDataset(rows[0].dataset, rows[0].benchmark, "test", "MIT", rows)
    identifier, _ = create_job(database, replace(new, **options), dataset, limit=limit, samples=samples, again=True)
    who = holder(database, identifier)
    done_count = min(limit or len(rows), len(rows)) * samples - pending
    by_row = {task.row: score for task, score in zip(rows, values, strict=False)}
    while done_count > 0 and (items := claim(database, who, min(done_count, 500))):
        done_count -= len(items)
        finished_items = [_finish(item, by_row, version, metric, of, kind) for item in items]
        attempts = [NewAttempt(item.id, 1, "1") for item in items]
        commit(
            database,
            who,
            Batch({item.id: item.claim for item in items}, {NewAttempt: attempts}, finished=finished_items),
        )
    finish_if_idle(database, identifier)
    return identifier


def _finish(
    item: ClaimedItem, values: Mapping[str, Sequence[float | None]], version: str, metric: str, of: int, kind: str
) -> FinishedItem:
    assert item.task
    value = values[item.task.row][item.sample]
    if value is None:
        return FinishedItem(item.id, Outcome(None, "infra_error", "the server is gone"))  # type: ignore[arg-type]
    scores = (Score(metric, float(value), version, of=of),) if kind == "evaluate" else ()
    return FinishedItem(
        item.id,
        Outcome("7", "answered"),
        scores,
        totals=EpisodeTotals(2, 100, 10),
    )
