"""A page of episodes that match a filter, its facets and its exports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from db.engine.connection import Connection, Database
from db.engine.snapshot import reading
from db.queries.episode_names import read_cursor
from db.queries.facets import Facets
from db.queries.filters import Filter, Term, term
from db.queries.text_search import find_page
from db.queries.trajectories import ListedEpisode, count_subgoals
from lumos_queue.reports.episode_list import EpisodeLine, describe_episode

PAGE = 50  #: episodes
SHOWN_TEXT = 240  #: characters of a text in a list
EXPORTED, CHUNK = 100_000, 200  #: episodes of an export, and of one query of it
COLUMNS = (
    "episode",
    "benchmark",
    "formulation",
    "sample",
    "origin",
    "level",
    "ending",
    "score",
    "answer",
    "gold",
    "calls",
    "subgoals",
    "question",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The episodes that a list contains."""

    job: str  #: the job of the episodes; '' for all jobs
    own_filter: Filter  #: the person's filter

    @property
    def whole(self) -> Filter:
        """The filter with the job as a term."""
        return (Filter((term("job", "=", self.job),)) if self.job else Filter()) & self.own_filter

    @property
    def jobs(self) -> list[str]:
        """The ids of the jobs whose episodes it may contain; [] for all jobs."""
        return [self.job] if self.job else []

    @property
    def where(self) -> str:
        return str(self.whole)

    def path(self, own_filter: Filter | None = None, **parameters: str) -> str:
        """Return the address of the list, also with another filter and further parameters."""
        query = {"where": str(self.own_filter if own_filter is None else own_filter)} | parameters
        query = {name: value for name, value in query.items() if value}
        base = f"/jobs/{self.job}/episodes" if self.job else "/episodes"
        return base + (f"?{urlencode(query)}" if query else "")

    def part(self, name: str, **parameters: str) -> str:
        """Return the address of a part of the list, or of an export."""
        query = {"job": self.job, "where": str(self.own_filter)} | parameters
        return f"/episodes/{name}?{urlencode({key: value for key, value in query.items() if value})}"


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Some episodes, and where the next page begins."""

    rows: Sequence[EpisodeLine]
    next: str  #: JOB-NUMBER after which the next page begins; '' at the end
    searched: int | None  #: episodes whose texts were searched, if the search stopped before the page was full


def read_list(connection: Connection, scope: Scope, after: str) -> EpisodePage:
    """Return the page of episodes after the episode `after`. Raises SpecError if `after` is not an episode."""
    start = read_cursor(connection, scope.job, after) if after else 0
    page = find_page(connection, scope.whole, start, PAGE + 1, max_characters=SHOWN_TEXT + 1)
    rows = _describe(connection, page.rows[:PAGE])
    has_more = len(page.rows) > PAGE
    return EpisodePage(
        rows, rows[-1].episode if has_more else page.stopped_at or "", page.searched if page.stopped_at else None
    )


def _describe(connection: Connection, rows: Sequence[ListedEpisode]) -> list[EpisodeLine]:
    subgoals = count_subgoals(connection, [row.id for row in rows]) if rows else {}
    return [describe_episode(row, subgoals.get(row.id, 0)) for row in rows]


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A link that adds a term to the filter, or removes it."""

    text: str
    count: int
    path: str
    chosen: bool


def link_facets(scope: Scope, counts: Facets) -> list[tuple[str, list[FacetValue]]]:
    """Return (title, values) of each facet that has values."""
    facets = (
        ("Ending", "ending", counts.endings),
        ("Score", "score", {repr(value): count for value, count in counts.scores.items()}),
        ("Subgoals", "subgoals", {str(number): count for number, count in counts.subgoals.items()}),
        ("Failure of infrastructure", "failure", counts.failures),
    )
    return [
        (title, [_link(scope, value, count, term(field, "=", value)) for value, count in values.items()])
        for title, field, values in facets
        if values
    ]


def _link(scope: Scope, text: str, count: int, facet_term: Term) -> FacetValue:
    terms = scope.own_filter.terms
    is_chosen = facet_term in terms
    new_terms = tuple(current for current in terms if current != facet_term) if is_chosen else (*terms, facet_term)
    label = f"{facet_term.value:.4g}" if isinstance(facet_term.value, float) else text
    return FacetValue(label, count, scope.path(Filter(new_terms)), is_chosen)


def export_json(database: Database, scope: Scope) -> Iterator[str]:
    """Yield chunks of JSON lines, one line for each episode, at most EXPORTED."""
    for rows in _export(database, scope):
        yield "".join(
            json.dumps({name: getattr(row, name) for name in COLUMNS}, ensure_ascii=False) + "\n" for row in rows
        )


def export_csv(database: Database, scope: Scope) -> Iterator[str]:
    """Yield chunks of CSV lines, first a header.

    An apostrophe precedes a text that a spreadsheet would run as a formula.
    """
    yield _csv_line(COLUMNS)
    for rows in _export(database, scope):
        yield "".join(_csv_line([_cell(getattr(row, name)) for name in COLUMNS]) for row in rows)


def _export(database: Database, scope: Scope) -> Iterator[list[EpisodeLine]]:
    """The rows of an export in chunks. Each is read in its own transaction, which ends before the chunk is sent."""
    remaining, after = EXPORTED, 0
    while remaining > 0:
        with reading(database) as connection:
            page = find_page(connection, scope.whole, after, min(remaining, CHUNK))
            rows = _describe(connection, page.rows)
            stop_position = read_cursor(connection, "", page.stopped_at) if page.stopped_at else 0
        yield rows
        remaining -= len(rows)
        if len(rows) < CHUNK and not stop_position:
            return
        after = stop_position or page.rows[-1].id


def _csv_line(cells: Sequence[Any]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        try:
            float(value)
        except ValueError:
            return f"'{value}"
    return value
