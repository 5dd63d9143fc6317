"""Errors of an item outside the code of its job: they are logged, and the slice gives the item back."""

from __future__ import annotations

import gc
from typing import Any

from lumos_queue.jobs.base import Work
from tests.claims import new_job
from tests.scripted_slices import ScriptedJob, read_items, run_job


def test_an_error_outside_the_code_of_the_job_is_logged_and_the_item_is_given_back(database, caplog):
    job = new_job(database, tasks=3)

    async def return_text(work: Work) -> Any:
        return "not a result" if work.ordinal == 1 else None

    job_slice = run_job(database, job, ScriptedJob(return_text))
    gc.collect()  # asyncio logs the error of a task if nothing has read it
    assert str(job_slice.result) == "2 items finished; stopped: nothing was due"
    assert read_items(database, job) == [("done",), ("owed",), ("done",)]
    (record,) = caplog.records
    assert (record.name, record.levelname, record.exc_info is not None) == ("workers.slice", "ERROR", True)
    assert record.getMessage() == f"job {job}: item 1 met an internal error and is given back"
    assert record.exc_info is not None and "has no attribute 'outcome'" in str(record.exc_info[1])
