"""Table 4: the numbers of annotations that were made from the papers' sources, by the papers and by stored conversions.

All comparable conversions of a source are added up, by rules or by any teacher. A conversion is comparable if it has
the published train rows, high-level subgoals, the papers' limit of tokens, and the images if the source has any. Other
conversions are left out and listed.

Each row counts once, also if several jobs converted it: the newest job that has judged the row decides, with any
verdict. A row is identified by its id, or by number and question if the rows are only numbered. A row without judgement
is still in the denominator. If the rows of a file without ids were renumbered, they count as other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.conversion import ConvertedRow, list_converted_rows
from db.queries.jobs import jobs_of_kind
from db.queue.stored_jobs import StoredJob
from lumos_queue.downloads.catalogue import can_verify
from lumos_queue.papers.figures import TABLE_4, Converted
from lumos_queue.papers.table_values import DomainYield, SourceYield, TableRow
from lumos_queue.records import MODULES, Role
from lumos_queue.row_origins.origins import STATED_REMARK, UNVERIFIED, RowOrigin, RowState, read_row_origins

SPLIT = "train"
#: Settings of a conversion that its annotations depend on, with the papers' values.
SETTINGS = {"subgoals": ("high",), "most_tokens": (1024,), "vision": ("image", "")}


@dataclass(slots=True)
class Yield:
    """The conversions of a source, added up."""

    jobs: list[StoredJob] = field(default_factory=list)  #: the jobs added up, newest first
    left_out: list[str] = field(default_factory=list)  #: other jobs, and the reasons, as text
    rows: list[ConvertedRow] = field(default_factory=list)  #: each row once
    origins: set[RowState] = field(default_factory=set)  #: origins of the rows of these jobs

    @property
    def remarks(self) -> list[str]:
        """The remarks on the rows that are displayed beside the published figure."""
        return [STATED_REMARK] if RowState.STATED in self.origins else []

    def count_accepted(self, *modules: str) -> int:
        """Return the number of rows that are accepted for all of these modules."""
        return sum(row.judged and row.rejected.isdisjoint(modules) for row in self.rows)

    def figures(self) -> SourceYield:
        # The planner replies once for each subgoal, and once to stop.
        turns = [row.subgoals + 1 for row in self.rows if row.judged and Role.PLANNER not in row.rejected]
        ways = {"teacher" if job.spec.get("teacher") else "by rule" for job in self.jobs}
        return SourceYield(
            job=", ".join(job.id for job in self.jobs),
            n=f"{len(self.rows):,}",
            value=self.count_accepted(*MODULES),
            plan=self.count_accepted(Role.PLANNER),
            ground=self.count_accepted(Role.GROUNDER),
            turns=round(sum(turns) / len(turns), 3) if turns else None,
            how=" and ".join(sorted(ways)),
        )


def conversions(connection: Connection | None) -> list[TableRow]:
    """Return the rows of Table 4: a row for each source, and a row for the annotations of each domain."""
    jobs = jobs_of_kind(connection, JobKind.CONVERT) if connection else []
    origins = read_row_origins(connection, jobs) if connection else {}
    return [row for domain in TABLE_4 for row in _rows(connection, jobs, origins, domain)]


def _rows(
    connection: Connection | None, jobs: Sequence[StoredJob], origins: Mapping[str, RowOrigin], domain: Converted
) -> list[TableRow]:
    yields = {source: _yield(connection, jobs, origins, source) for source in domain.sources}
    rows = []
    for source, published_rows in domain.sources.items():
        source_yield = yields[source]
        status = (
            _status(len(source_yield.rows), published_rows) if source_yield.jobs else f"not run: {_command(source)}"
        )
        omissions = [f"left out: {'; '.join(source_yield.left_out)}"] if source_yield.left_out else []
        row = TableRow(
            row=f"{domain.domain}: {source}",
            column="rows",
            published=f"{published_rows:,}",
            source="[P]",
            ours=source_yield.figures() if source_yield.jobs else None,
            status="; ".join([status, *source_yield.remarks, *omissions]),
        )
        rows.append(row)
    return [*rows, _total(domain, yields)]


def _command(source: str) -> str:
    """Return the command that converts a source, with a placeholder for the user's file."""
    return f"lumos convert {source}{'' if can_verify(source, SPLIT) else ' --data FILE --published'}"


def _yield(
    connection: Connection | None, jobs: Sequence[StoredJob], origins: Mapping[str, RowOrigin], source: str
) -> Yield:
    source_yield, rows = Yield(), {}
    for job in jobs:
        if connection is None or job.spec.get("source") != source:
            continue
        origin = origins.get(job.id, UNVERIFIED)
        if departures := _departures(job, origin):
            source_yield.left_out.append(f"{job.id} ({', '.join(departures)})")
            continue
        source_yield.jobs.append(job)
        source_yield.origins.add(origin.state)
        for row in list_converted_rows(connection, job.id):
            key = (row.row, " ".join(row.question.split()) if row.row.isdecimal() else "")
            if not (known_row := rows.get(key)) or (row.judged and not known_row.judged):
                rows[key] = row
    source_yield.rows = list(rows.values())
    return source_yield


def _departures(job: StoredJob, origin: RowOrigin) -> list[str]:
    """Return the reasons why a conversion is not comparable to the papers' table, as texts."""
    reasons = [f"split is {job.split}, not {SPLIT}"] if job.split != SPLIT else []
    if not origin.counts:
        reasons.append(f"rows are {origin.text}")
    return reasons + [
        f"{name} is {job.spec[name]}, not {values[0]}"
        for name, values in SETTINGS.items()
        if name in job.spec and job.spec[name] not in values
    ]


def _total(domain: Converted, yields: Mapping[str, Yield]) -> TableRow:
    row = TableRow(
        row=f"{domain.domain}: annotations",
        column="plan / ground",
        published=f"{domain.plan:,} / {domain.ground:,} of {sum(domain.sources.values()):,}",
        source="[P]",
        note="; ".join(filter(None, (f"{domain.turns} turns on average", domain.note))),
    )
    if missing_sources := [source for source, source_yield in yields.items() if not source_yield.jobs]:
        return replace(row, status=f"not run: no conversion of {', '.join(missing_sources)}")
    rows = sum(len(source_yield.rows) for source_yield in yields.values())
    counts = {name: sum(source_yield.count_accepted(name) for source_yield in yields.values()) for name in MODULES}
    own_figure = DomainYield(f"{rows:,}", counts[Role.PLANNER], counts[Role.GROUNDER])
    remarks = dict.fromkeys(remark for source_yield in yields.values() for remark in source_yield.remarks)
    return replace(row, ours=own_figure, status="; ".join([_status(rows, sum(domain.sources.values())), *remarks]))


def _status(rows: int, published_rows: int) -> str:
    """Return the status of a row. More rows than published are no difference, because the papers left out some rows."""
    return "run" if rows >= published_rows else f"n differs: {rows:,} of {published_rows:,}"
