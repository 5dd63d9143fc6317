"""What `lumos rm` says and asks before it deletes a job."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from db.damage import find_damage
from db.figures import progress, totals
from db.jobs import find_job, get_job, work_of_people
from db.states import ItemState
from lumos_queue.cli import output
from lumos_queue.errors import SpecError


def find_whole(connection: Connection, job: str) -> Any:
    """The row of the job with exactly this id. Raises SpecError, with the whole id of the job that is meant."""
    if (found := find_job(connection, job)) is not None:
        return found
    meant = get_job(connection, job, allow_damaged=True)  # raises SpecError where it is none, or several
    raise SpecError(
        f"'{job}' is the beginning of an id: to delete the job give the whole one, lumos rm {meant.id}. "
        f"See what it is with: lumos job {meant.id}"
    )


def describe_removal(connection: Connection, row: Any) -> str:
    """One line: which job it is (its row), how much goes with it, and when it was made."""
    if problem := find_damage(row):
        return f"job {row.id}, which is damaged: {problem}"
    items, sums = progress(connection, row.id), totals(connection, row.id)
    recipe = row.spec.get("recipe", "") if row.kind == "train" else ""
    what = " ".join(filter(None, (row.kind, recipe, row.benchmark, row.formulation)))
    done, people = items.get(ItemState.DONE, 0), work_of_people(connection, row.id)
    parts = [
        f"{done:,} of {row.items:,} {'items' if row.kind == 'train' else 'episodes'}",
        f"{sums.calls:,} model calls" if sums.calls else "",
        *(f"{found} by people" for found in people),
        f"run from {_format_time(row.started_at)} to {_format_time(row.finished_at)} UTC" if row.started_at else "",
    ]
    named = f" '{row.name}'" if row.name else ""
    return f"job {row.id}{named}: {what}, {', '.join(filter(None, parts))}"


def is_agreed(told: str, job: str, with_labels: bool) -> bool:
    """Whether the person at the terminal agrees. Raises SpecError where there is none who could be asked."""
    if output.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        labels = " --with-labels" if with_labels else ""
        raise SpecError(f"This deletes {told}. Nobody can be asked here: to do it, lumos rm {job}{labels} --yes")
    output.say(f"This deletes {told}.")
    output.ask("Delete it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _format_time(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") if at else "…"
