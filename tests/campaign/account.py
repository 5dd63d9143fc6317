"""The account of a campaign: the costs of the fault cases over all of its jobs, and the checks of campaigns alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from math import ceil
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from tests.campaign.schedule import EACH, HOUR, KINDS
from tests.campaign.site import CONCURRENCY, FENCE, LATENCY, LEASE, Site
from tests.faults.costs import compute_result, count_repetitions
from tests.faults.result import Result

if TYPE_CHECKING:
    from tests.campaign.strikes import Event

MEMORY = 500 * 2**20  #: bytes of memory that no process may reach
SHOWN = 10  #: lines of a list that are printed
_ADDRESS = re.compile(r"https?://[0-9.:]+|0x[0-9a-f]+")
UNWRITABLE = ("read_only", "full")

#: Items without the right answer, though the models know it: not done, ended by the infrastructure, or wrong.
_LOST = """
SELECT i.job, i.ordinal, i.state, coalesce(e.ending, ''), coalesce(e.message, ''), coalesce(i.problem, '')
  FROM item i LEFT JOIN episode e ON e.id = i.id
  LEFT JOIN score s ON s.episode = i.id AND s.metric = 'accuracy' AND s.value = 1
 WHERE s.episode IS NULL OR i.state <> 'done' ORDER BY i.id
"""


def load_lost_items(connection: Connection) -> list[list[Any]]:
    """Return job, ordinal, state, ending, message of the episode and problem of each lost item."""
    return [list(row) for row in connection.execute(text(_LOST))]


def count_reasons(lost_rows: Iterable[list[Any]]) -> Counter[str]:
    """Count lost items by state, ending and message. Addresses are cut out of the messages."""
    return Counter(
        " ".join(filter(None, (state, ending, _ADDRESS.sub("", message or problem)[:120])))
        for _, _, state, ending, message, problem in lost_rows
    )


def account(site: Site, events: Sequence[Event]) -> Result:
    """Return costs and problems. Call it while workers are alive, after the faults, when jobs are over or stuck."""
    bound, why = compute_wasted_bound(site, events)
    zombies = CONCURRENCY * sum(event.kind == "freeze" and event.ended - event.began > FENCE for event in events)
    result = compute_result(site, bound, zombies)  # type: ignore[arg-type]
    with site.database.engine.connect() as connection:
        lost_rows = load_lost_items(connection)
        again = count_repetitions(connection, site.endpoint.refused)
    result.case, result.notes = "campaign", why
    if again > zombies:
        result.problems.append(f"{again} recorded calls repeated, and refused")
    result.lost = len(lost_rows)
    result.problems = [problem for problem in result.problems if not problem.endswith(("items lost", "are right"))]
    if lost_rows:
        result.problems.append(f"{len(lost_rows)} items lost")
        result.problems += [f"lost, {count} times: {why}" for why, count in count_reasons(lost_rows).most_common(SHOWN)]
        result.problems += [f"lost: {row}" for row in lost_rows[:SHOWN]]
    unfinished_jobs = site.ask("SELECT count(*) FROM job WHERE state <> 'done'")
    if unfinished_jobs:
        result.problems.append(f"{unfinished_jobs} jobs are not done")
    return result


def compute_wasted_bound(site: Site, events: Sequence[Event]) -> tuple[int, str]:
    """Return the limit of wasted calls that the faults explain, and its explanation. A call is wasted when

    - its worker session ended before the reply was stored. A session that ends (killed, frozen, terminated, fenced, or
      left after a failure of the database) had at most CONCURRENCY calls in flight and as many waiting for a commit.
      While the database takes no writes, a session calls until its fence: FENCE / LATENCY more calls for each slot;
    - its reply was lost on the way: the link to its model server was dropped, cut or black-holed during the call
      (counted in the servers' logs);
    - its slice gave up because an endpoint was down, with CONCURRENCY calls in flight (counted in the workers' logs).
    """
    with site.database.engine.connect() as connection:
        ends = connection.execute(text("SELECT ended_at FROM worker_session WHERE ended_at IS NOT NULL")).scalars()
        in_trouble, in_calm = split_ends(ends, events)
    on_the_way = sum(
        count_lost_calls(
            (call["time"] for call in endpoint.calls if "status" not in call),
            [event for event in events if endpoint.port in event.endpoints],
        )
        for endpoint in site.endpoint.endpoints
    )
    downs = sum(log.read_text(errors="replace").count(" waits: ") for log in (site.folder / "home/logs").glob("*.log"))
    while_unwritable = CONCURRENCY * (2 + ceil(FENCE / LATENCY))
    bound = in_calm * 2 * CONCURRENCY + in_trouble * while_unwritable + on_the_way + downs * CONCURRENCY
    return bound, (
        f"at most {bound} calls wasted: {in_calm} sessions ended (2 x {CONCURRENCY} each), {in_trouble} while the "
        f"database was in trouble ({while_unwritable} each), {on_the_way} calls on broken links, {downs} times an "
        f"endpoint was down ({CONCURRENCY} each)"
    )


def split_ends(ends: Iterable[float], events: Iterable[Event]) -> tuple[int, int]:
    """Count the times (Unix seconds) during or soon after trouble with the database, and the other times."""
    trouble = [event for event in events if event.kind in UNWRITABLE or event.kind.startswith("database ")]
    flags = [any(event.began <= end <= event.ended + 2 * LEASE for event in trouble) for end in ends]
    return sum(flags), len(flags) - sum(flags)


def count_lost_calls(times: Iterable[float], events: Iterable[Event]) -> int:
    """Count the calls (Unix seconds) during which the link to their server lost data."""
    broken_intervals = [
        (event.began - 2 * LATENCY, event.ended + 1.0)
        for event in events
        if event.kind in ("endpoint drop", "endpoint cut", "endpoint black_hole")
    ]
    return sum(any(began <= time <= end for began, end in broken_intervals) for time in times)


def judge_faults(events: Sequence[Event], minutes: float, planned_counts: Mapping[str, int]) -> list[str]:
    """Return the problems of the campaign itself: planned faults that did not happen."""
    problems = [f"{event.kind} at {event.planned:.0f} s: {event.problem}" for event in events if event.problem]
    for kind, times in planned_counts.items():
        came = sum(event.kind == kind and not event.problem for event in events)
        least = EACH if minutes >= HOUR else times
        if came < least:
            problems.append(f"{kind}: {came} times, at least {least} were to be")
    return problems


def write_kind_table(events: Sequence[Event]) -> str:
    """Return a table: how often each kind happened, how often it hit work in flight, and its total duration."""
    lines = ["kind                  count  hit work  seconds", "--------------------  -----  --------  -------"]
    for kind in KINDS:
        kind_events = [event for event in events if event.kind == kind]
        if kind_events:
            hits, seconds = (
                sum(event.hit for event in kind_events),
                sum(event.ended - event.began for event in kind_events),
            )
            lines.append(f"{kind:<20}  {len(kind_events):>5}  {hits:>8}  {seconds:>7.1f}")
    return "\n".join(lines)


def judge_memory(peak_sizes: Mapping[str, int]) -> list[str]:
    return [f"{role} had {size / 2**20:.0f} MB" for role, size in peak_sizes.items() if size >= MEMORY]


def as_json(result: Result, events: Sequence[Event], **extra_fields: Any) -> dict[str, Any]:
    return {**result.as_json(), "events": [asdict(event) for event in events], **extra_fields}
