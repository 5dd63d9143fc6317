"""Table 4: what conversions of the papers' sources left, theirs and the stored ones.

All comparable conversions of a source are added up: of its train rows, with subgoals of several actions, the papers'
limit of tokens, and images shown where there are any; by rule, or by whichever teacher. Others are named and left out.

Each row counts once. A row is known by its id, or, where rows are only numbered, by number and question. Of several
jobs the newest that has judged it counts, whatever it found; a row that none has judged yet is in the denominator. A
file without ids whose rows were numbered anew is taken for other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from db.reading import jobs_of_kind
from lumos_queue.papers.figures import TABLE_4, Converted
from lumos_queue.records import MODULES
from lumos_queue.reports.conversion import ConvertedRow, converted_rows

SPLIT = "train"
#: Settings of a conversion that its annotations depend on, with the papers' values.
SETTINGS = {"subgoals": ("high",), "most_tokens": (1024,), "vision": ("image", "")}


@dataclass(slots=True)
class Yield:
    """What the conversions of one source come to."""

    jobs: list[Any] = field(default_factory=list)  #: that are added up, the newest first
    left_out: list[str] = field(default_factory=list)  #: other jobs, and why, in words
    rows: list[ConvertedRow] = field(default_factory=list)  #: each row once

    def accepted(self, *modules: str) -> int:
        """Rows that each of these modules' training accepts."""
        return sum(row.judged and row.rejected.isdisjoint(modules) for row in self.rows)

    def figures(self) -> dict[str, Any]:
        turns = [row.turns for row in self.rows if row.judged and "planner" not in row.rejected]
        ways = {"teacher" if job.spec.get("teacher") else "by rule" for job in self.jobs}
        return {
            "job": ", ".join(job.id for job in self.jobs),
            "n": f"{len(self.rows):,}",
            "value": self.accepted(*MODULES),
            "plan": self.accepted("planner"),
            "ground": self.accepted("grounder"),
            "turns": round(sum(turns) / len(turns), 3) if turns else None,
            "how": " and ".join(sorted(ways)),
        }


def conversions(connection: Connection | None) -> list[dict[str, Any]]:
    """A row for each source, and one for each domain's annotations."""
    jobs = jobs_of_kind(connection, "convert") if connection else []
    return [row for domain in TABLE_4 for row in _rows(connection, jobs, domain)]


def _rows(connection: Connection | None, jobs: Sequence[Any], domain: Converted) -> list[dict[str, Any]]:
    found = {source: _yield(connection, jobs, source) for source in domain.sources}
    rows = []
    for source, published in domain.sources.items():
        row: dict[str, Any] = {
            "row": f"{domain.domain}: {source}",
            "column": "rows",
            "published": f"{published:,}",
            "source": "[P]",
        }
        one = found[source]
        if one.jobs:
            row["ours"] = one.figures()
        status = _status(len(one.rows), published) if one.jobs else f"not run: lumos convert {source}"
        row["status"] = "; ".join([status, *([f"left out: {'; '.join(one.left_out)}"] if one.left_out else [])])
        rows.append(row)
    return [*rows, _total(domain, found)]


def _yield(connection: Connection | None, jobs: Sequence[Any], source: str) -> Yield:
    found, rows = Yield(), {}
    for job in jobs:
        if connection is None or job.spec.get("source") != source:
            continue
        if departures := _departures(job):
            found.left_out.append(f"{job.id} ({', '.join(departures)})")
            continue
        found.jobs.append(job)
        for row in converted_rows(connection, job.id):
            key = (row.row, row.question if row.row.isdecimal() else "")
            if not (known := rows.get(key)) or (row.judged and not known.judged):
                rows[key] = row
    found.rows = list(rows.values())
    return found


def _departures(job: Any) -> list[str]:
    """In what a conversion is no part of the papers' table, in words."""
    told = [f"split is {job.split}, not {SPLIT}"] if job.split != SPLIT else []
    return told + [
        f"{name} is {job.spec[name]}, not {values[0]}"
        for name, values in SETTINGS.items()
        if name in job.spec and job.spec[name] not in values
    ]


def _total(domain: Converted, found: Mapping[str, Yield]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "row": f"{domain.domain}: annotations",
        "column": "plan / ground",
        "published": f"{domain.plan:,} / {domain.ground:,} of {sum(domain.sources.values()):,}",
        "source": "[P]",
        "note": "; ".join(filter(None, (f"{domain.turns} turns on average", domain.note))),
    }
    if lacking := [source for source, one in found.items() if not one.jobs]:
        return row | {"status": f"not run: no conversion of {', '.join(lacking)}"}
    rows = sum(len(one.rows) for one in found.values())
    counts = {name: sum(one.accepted(name) for one in found.values()) for name in MODULES}
    ours = {"n": f"{rows:,}", "plan": counts["planner"], "ground": counts["grounder"]}
    return row | {"ours": ours, "status": _status(rows, sum(domain.sources.values()))}


def _status(rows: int, published: int) -> str:
    """The papers count a source's rows after some were left out: a source as published has at least as many."""
    return "run" if rows >= published else f"n differs: {rows:,} of {published:,}"
