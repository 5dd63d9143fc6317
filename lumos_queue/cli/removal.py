"""The description and the question of `lumos rm` before it deletes a job."""

from __future__ import annotations

import sys
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState
from db.queries.damage import find_damage
from db.queries.jobs import find_job, get_job
from db.queue.figures import progress, totals
from db.queue.job_changes import work_of_people
from lumos_queue.cli import output
from lumos_queue.errors import SpecError
from lumos_queue.util.wording import MISSING, format_time, plural


def find_whole(connection: Connection, job: str) -> Any:
    """Return the row of the job with exactly this id. Raises SpecError for a part of an id, and names the whole id."""
    if (row := find_job(connection, job)) is not None:
        return row
    candidate = get_job(connection, job, allow_damaged=True)  # raises SpecError where no job or several jobs match
    raise SpecError(
        f"'{job}' is only the beginning of an id: to delete the job, give the whole id: lumos rm {candidate.id}. "
        f"See the job with: lumos job {candidate.id}"
    )


def describe_removal(connection: Connection, row: Any) -> str:
    """Return a line about a job (its row): its request, the stored work that is deleted with it, and its times."""
    if problem := find_damage(row):
        return f"job {row.id}, which is damaged: {problem}"
    items, sums = progress(connection, row.id), totals(connection, row.id)
    recipe = row.spec.get("recipe", "") if row.kind == JobKind.TRAIN else ""
    request = " ".join(filter(None, (row.kind, recipe, row.benchmark, row.formulation)))
    completed, human_work = items.get(ItemState.DONE, 0), work_of_people(connection, row.id)
    parts = [
        f"{completed:,} of {row.items:,} {'items' if row.kind == JobKind.TRAIN else 'episodes'}",
        f"{plural(sums.totals.calls, 'model call')}" if sums.totals.calls else "",
        *(f"{text} by people" for text in human_work),
        f"run from {format_time(row.started_at)} to {format_time(row.finished_at) or MISSING}"
        if row.started_at
        else "",
    ]
    label = f" '{row.name}'" if row.name else ""
    return f"job {row.id}{label}: {request}, {', '.join(filter(None, parts))}"


def is_agreed(summary: str, job: str, with_labels: bool) -> bool:
    """Return whether the person at the terminal agrees. Raises SpecError without a terminal, and with --json."""
    if output.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        labels = " --with-labels" if with_labels else ""
        raise SpecError(f"This deletes {summary}. Nobody can confirm it here: to do it, lumos rm {job}{labels} --yes")
    output.say(f"This deletes {summary}.")
    output.ask("Delete it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
