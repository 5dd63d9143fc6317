"""A change in the explorer and the record of the person who made it are stored together, or neither is stored."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import event, select, update

from db.engine.connection import Database
from db.models import EpisodeRow, Item
from db.queries.filters import parse_where
from db.queries.web_actions import list_actions
from db.review.audits import sample_audit
from db.review.labels import NewLabel, add_labels
from lumos_queue.review.corrections import annotation_text
from lumos_queue.scoring.sampling import AuditKind
from tests.explorers import Client, Explorer, call_explorer
from tests.scored_jobs import create_scored_job
from tests.web.conversions import convert_rows
from tests.web.test_annotate_pages import form_of


@dataclass
class Store:
    """An explorer of a store in which every change of a page is possible."""

    explorer: Explorer
    database: Database
    client: Client
    job: str
    converted: str  #: an episode whose annotation can be corrected

    def rows(self) -> set[str]:
        """Return the rows of all tables, as text."""
        with sqlite3.connect(self.database.url.partition("///")[2]) as connection:
            return {line for line in connection.iterdump() if line.startswith("INSERT")}


@pytest.fixture
def store(database, tmp_path) -> Iterator[Store]:
    opened, converted = convert_rows(tmp_path, 1, url=database.url)
    opened.close()
    job = create_scored_job(database, [[1], [0], [1], [None]], pending=1)
    with database.engine.connect() as connection:
        episode = connection.execute(select(EpisodeRow.id).where(EpisodeRow.job == job)).scalars().first()
    assert episode is not None
    add_labels(database, [NewLabel(episode, "right", "ann@here")])
    sample_audit(database, "first", parse_where(f"job={job}"), 2, 0, AuditKind.RUNS)
    with call_explorer(database, home=tmp_path) as explorer:
        client = explorer.client()
        client.token()
        yield Store(explorer, database, client, job, f"{converted}-0")


def change_state(deed: str) -> Callable[[Store], Any]:
    def change(store: Store) -> Any:
        if deed == "resume":
            with store.database.writer.begin() as connection:
                connection.execute(update(Item).where(Item.job == store.job, Item.state == "owed").values(deaths=1))
        return lambda: store.client.submit(f"/jobs/{store.job}/state", {"deed": deed})

    return change


def requeue(store: Store) -> Any:
    job = create_scored_job(store.database, [[1], [None]], digest="cd" * 32)
    page = store.client.get(f"/jobs/{job}/failures").text
    (kind,) = re.findall(r'name="failed" value="(\w+)"', page)
    return lambda: store.client.submit(f"/jobs/{job}/requeue", {"failed": kind})


def annotate(verb: str, **fields: str) -> Callable[[Store], Any]:
    def change(store: Store) -> Any:
        form = form_of(store.client.get("/annotate/first").text)
        if verb == "undo":
            store.client.submit("/annotate/first/label", form | {"value": "right"})
            form = form_of(store.client.get("/annotate/first").text)
        return lambda: store.client.submit(f"/annotate/first/{verb}", form | fields)

    return change


def upload(store: Store) -> Any:
    store.client.submit("/annotate/first/label", form_of(store.client.get("/annotate/first").text) | {"value": "right"})
    content = store.client.get("/annotate/first/export", params={"format": "label-studio"}).content
    store.client.submit("/annotate/first/undo")
    return lambda: store.client.submit("/annotate/first/labels", files={"file": ("a.json", content)})


def correct(store: Store) -> Any:
    text = annotation_text(store.database, store.converted)
    text = text.replace("Calculator(R2 / 6) = 11", "Calculator(R2 / 3) = 22")
    return lambda: store.client.submit(f"/episodes/{store.converted}/correct", {"text": text})


CHANGES: dict[str, Callable[[Store], Any]] = {
    "pause": change_state("pause"),
    "cancel": change_state("cancel"),
    "resume": change_state("resume"),
    "requeue": requeue,
    "cap": lambda store: lambda: store.client.submit("/endpoints/cap", {"url": "tgi://host:1", "cap": "3"}),
    "label": lambda store: lambda: store.client.submit(f"/episodes/{store.job}-1/label", {"value": "wrong"}),
    "take back label": lambda store: lambda: store.client.submit(f"/episodes/{store.job}-0/label/undo"),
    "label of an audit": annotate("label", value="right"),
    "skip": annotate("skip"),
    "undo": annotate("undo"),
    "draw audit": lambda store: (
        lambda: store.client.submit(
            "/annotate/new", {"name": "second", "where": f"job={store.job}", "kind": "runs", "size": "2", "twice": "0"}
        )
    ),
    "store labels": upload,
    "correct": correct,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_whose_record_cannot_be_stored_is_not_stored(store, change):
    make_change = CHANGES[change](store)
    before = store.rows()

    def fail(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO web_action"):
            raise sqlite3.OperationalError("the process ends here")

    engine = store.database.writer
    event.listen(engine, "before_cursor_execute", fail)
    try:
        make_change()
    finally:
        event.remove(engine, "before_cursor_execute", fail)
    assert store.rows() == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_stored_with_the_person_who_made_it(store, change):
    make_change = CHANGES[change](store)
    before, count = store.rows(), len(actions(store))
    answer = make_change()
    assert answer.status_code == 303, answer.text
    assert len(actions(store)) == count + 1 and actions(store)[0].person == "ann@here"
    assert any("web_action" not in row for row in store.rows() ^ before)


def actions(store: Store) -> list[Any]:
    with store.database.engine.connect() as connection:
        return list_actions(connection, 100)
