"""Read a page of episodes that meet a filter. Texts have no index, so a search for a text stops at a limit."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from db.engine.conditions import is_among
from db.models import EpisodeRow, Item
from db.queries.episode_search import says
from db.queries.filter_sql import conditions
from db.queries.filters import Filter
from db.queries.trajectories import ListedEpisode, find_episodes, select_ids, show_episodes

MAX_SEARCHED = 20_000  #: episodes whose texts are searched for one page
FIRST, MAX_AT_ONCE = 250, 4000  #: episodes that one statement searches: few at first, because most texts occur early


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the episodes that meet a filter."""

    rows: list[ListedEpisode]
    searched: int | None = None  #: episodes whose texts were searched; None without a text
    stopped_at: str | None = None  #: JOB-NUMBER of the last of them, if the search stopped before the end


def find_page(
    connection: Connection,
    query: Filter,
    after: int,
    limit: int,
    max_searched: int = MAX_SEARCHED,
    max_characters: int | None = None,
) -> Page:
    """Return the first `limit` episodes with ids after `after` that meet the filter, in the order of ids.

    Texts are searched only in episodes that meet the other terms, and in at most `max_searched` of them.
    `max_characters`: how many characters of long texts are read (db.queries.trajectories.find_episodes).
    """
    texts = [str(term.value) for term in query.terms if term.field == "text"]
    if not texts:
        return Page(find_episodes(connection, query, after, limit, max_characters))
    filter_conditions = conditions(connection, Filter(tuple(term for term in query.terms if term.field != "text")))
    rows: list[ListedEpisode] = []
    search_count, at_once = 0, FIRST
    while True:
        at_once = min(at_once, max_searched - search_count)
        ids = list(connection.execute(select_ids(filter_conditions, after, at_once)).scalars())
        if ids:
            has_all = [says(connection, text, [], ids) for text in texts]
            matches = select(EpisodeRow.id).where(is_among(EpisodeRow.id, ids), *has_all).order_by(EpisodeRow.id)
            rows += show_episodes(connection, matches.limit(limit - len(rows)), max_characters)
        search_count += len(ids)
        if len(rows) >= limit or len(ids) < at_once:
            return Page(rows, search_count)
        after, at_once = ids[-1], min(at_once * 4, MAX_AT_ONCE)
        if search_count >= max_searched:
            next_episode = connection.execute(select_ids(filter_conditions, after, 1)).first()
            return Page(rows, search_count, _name_of(connection, after) if next_episode else None)


def _name_of(connection: Connection, episode: int) -> str:
    row = connection.execute(select(Item.job, Item.ordinal).where(Item.id == episode)).one()
    return f"{row.job}-{row.ordinal}"


def find_neighbour(connection: Connection, query: Filter, episode: int, back: bool = False) -> str | None:
    """Return the name JOB-NUMBER of the next episode by id that meets the filter, or None. `back`: the previous one.

    A text is searched for in at most MAX_SEARCHED episodes, as for a page.
    """
    texts = [str(term.value) for term in query.terms if term.field == "text"]
    filter_conditions = conditions(connection, Filter(tuple(term for term in query.terms if term.field != "text")))
    is_beyond, order = (
        (EpisodeRow.id < episode, EpisodeRow.id.desc()) if back else (EpisodeRow.id > episode, EpisodeRow.id)
    )
    ids = select(EpisodeRow.id).where(is_beyond, *filter_conditions).order_by(order)
    if texts:
        among = sorted(connection.execute(ids.limit(MAX_SEARCHED)).scalars())
        has_all = [says(connection, text, [], among) for text in texts]
        ids = select(EpisodeRow.id).where(is_among(EpisodeRow.id, among), *has_all).order_by(order)
    neighbour = connection.execute(ids.limit(1)).scalar()
    return None if neighbour is None else _name_of(connection, neighbour)
