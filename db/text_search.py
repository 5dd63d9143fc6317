"""A page of episodes, also of those that contain a text. Texts have no index, so that a search stops after a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from db.conditions import is_among
from db.episode_search import says
from db.filter_sql import conditions
from db.filters import Filter
from db.models import EpisodeRow, Item
from db.trajectories import find_episodes, select_ids, show_episodes

MAX_SEARCHED = 20_000  #: episodes whose texts are looked at for one page
FIRST, MAX_AT_ONCE = 250, 4000  #: episodes looked at by one statement: few at first, as most texts are found soon


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the episodes that were looked for."""

    rows: list[Any]  #: as db.trajectories.find_episodes gives them
    searched: int | None = None  #: how many episodes' texts were looked at; None where no text was looked for
    stopped_at: str | None = None  #: JOB-NUMBER of the last of them, where the search stopped before the end


def find_page(
    connection: Connection, wanted: Filter, after: int, limit: int, most: int = MAX_SEARCHED, shown: int | None = None
) -> Page:
    """At most `limit` episodes by id, from the first one after `after`.

    The other terms are met first: `most` counts the episodes that meet them. `shown`: characters of a text that are
    read (db.trajectories.find_episodes).
    """
    texts = [str(one.value) for one in wanted.terms if one.field == "text"]
    if not texts:
        return Page(find_episodes(connection, wanted, after, limit, shown))
    met = conditions(connection, Filter(tuple(one for one in wanted.terms if one.field != "text")))
    rows: list[Any] = []
    searched, at_once = 0, FIRST
    while True:
        at_once = min(at_once, most - searched)
        ids = list(connection.execute(select_ids(met, after, at_once)).scalars())
        if ids:
            has_all = [says(connection, text, [], ids) for text in texts]
            found = select(EpisodeRow.id).where(is_among(EpisodeRow.id, ids), *has_all).order_by(EpisodeRow.id)
            rows += show_episodes(connection, found.limit(limit - len(rows)), shown)
        searched += len(ids)
        if len(rows) >= limit or len(ids) < at_once:
            return Page(rows, searched)
        after, at_once = ids[-1], min(at_once * 4, MAX_AT_ONCE)
        if searched >= most:
            more = connection.execute(select_ids(met, after, 1)).first()
            return Page(rows, searched, _name_of(connection, after) if more else None)


def _name_of(connection: Connection, episode: int) -> str:
    row = connection.execute(select(Item.job, Item.ordinal).where(Item.id == episode)).one()
    return f"{row.job}-{row.ordinal}"


def find_neighbour(connection: Connection, wanted: Filter, episode: int, back: bool = False) -> str | None:
    """JOB-NUMBER of the next episode by id that meets the filter, or of the one before; None where there is none.

    A text is looked for in MAX_SEARCHED episodes at most, as in a page.
    """
    texts = [str(one.value) for one in wanted.terms if one.field == "text"]
    met = conditions(connection, Filter(tuple(one for one in wanted.terms if one.field != "text")))
    beyond, order = (
        (EpisodeRow.id < episode, EpisodeRow.id.desc()) if back else (EpisodeRow.id > episode, EpisodeRow.id)
    )
    ids = select(EpisodeRow.id).where(beyond, *met).order_by(order)
    if texts:
        among = sorted(connection.execute(ids.limit(MAX_SEARCHED)).scalars())
        has_all = [says(connection, text, [], among) for text in texts]
        ids = select(EpisodeRow.id).where(is_among(EpisodeRow.id, among), *has_all).order_by(order)
    found = connection.execute(ids.limit(1)).scalar()
    return None if found is None else _name_of(connection, found)
