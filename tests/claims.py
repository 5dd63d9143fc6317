"""Jobs without work, and functions that claim and finish their items, for tests of the queue."""

from __future__ import annotations

from db.queries.jobs import get_job
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import ClaimRequest, LeaseHolder
from db.queue.commit import commit
from db.queue.datasets import NewDataset
from db.queue.fence import start_session
from db.queue.new_jobs import NewJob, create_job
from lumos_queue.records import Outcome, Score, Task


def new_job(database, tasks: int = 4, kind: str = "evaluate", digest: str = "ab" * 32, **options) -> str:
    task_rows = tuple(
        Task("wordmath", "data", str(number), f"question {number}", {"n": number}) for number in range(tasks)
    )
    rows = options.pop("rows", task_rows)
    new = NewJob(
        kind=kind,
        pool=options.pop("pool", "llm"),
        digest=digest,
        spec={},
        benchmark="wordmath",
        formulation="iterative",
        agent="",
        split="test",
        licence="MIT",
        seed=0,
        project="default",
        submitted_by="me",
        priority=0,
        code_version="1",
        ordered=options.pop("ordered", False),
        main_metric=options.pop("main_metric", "accuracy" if kind == "evaluate" else ""),
    )
    dataset = NewDataset(rows[0].dataset, "wordmath", "test", "MIT", rows) if rows else None
    return create_job(database, new, dataset, **options)[0]


def holder(database, job: str) -> LeaseHolder:
    with database.engine.connect() as connection:
        return LeaseHolder(start_session(database, "1"), "1", get_job(connection, job))


def claim(database, who: LeaseHolder, limit: int = 10) -> list:
    return commit(database, who, Batch({}), ClaimRequest(limit))


def finish(item, answer: str = "7", **changes) -> FinishedItem:
    return FinishedItem(item.id, Outcome(answer, "answered"), (Score("accuracy", 1.0),), **changes)


def fail(database, who: LeaseHolder, items: list, problem: str, seconds: float = 40.0) -> None:
    """Return items to the queue as after a failure of infrastructure; they are due again in `seconds`."""
    returned_items = [ReturnedItem(item.id, problem, seconds) for item in items]
    commit(database, who, Batch({item.id: item.claim for item in items}, given_back=returned_items))
