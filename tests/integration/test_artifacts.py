"""Bytes that steps name: stored before what names them, behind the fence, and removed when nobody names them."""

from __future__ import annotations

import hashlib
import threading
import time

import pytest
from sqlalchemy import func, select

from db.engine.bulk import insert_rows
from db.engine.migrate import downgrade, upgrade
from db.engine.rows.steps import NewEpisodeArtifact
from db.journal.artifacts import insert_artifacts, load_artifact, name_artifact, remove_unnamed, store_artifact
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.models import Artifact, DatasetArtifact, EpisodeArtifact, ExecutionRow
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.fence import Fenced, end_session
from db.queue.job_changes import cancel, remove
from lumos_queue.commands import Do, Step
from lumos_queue.errors import ConstraintViolated
from lumos_queue.records import Action, Execution, Task
from tests.claims import claim, holder, new_job

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(1000)


def record(journal: EpisodeJournal, data: bytes = PICTURE, position: int = 0) -> str:
    """A step that names an artifact."""
    digest = journal.keep(data, "image/png")
    done = Execution("ok", "an image", ({"kind": "image", "text": "an image", "image": digest},))
    journal.record(Step(position, 0, Do(Action(("E1",), "Colorization", "image")), done))
    return digest


def count(database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_what_a_step_names_is_stored_with_it_and_is_at_hand_before(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    buffer = Buffer()
    journal = EpisodeJournal(item.id, 1, buffer, {})
    digest = record(journal)
    assert digest == hashlib.sha256(PICTURE).hexdigest() and journal.find_kept(digest) == PICTURE
    batch = Batch({item.id: item.claim}, *buffer.take())
    for _ in range(2):  # a commit that was interrupted is sent again
        commit(database, who, batch)
    with database.engine.connect() as connection:
        assert load_artifact(connection, digest) == (PICTURE, "image/png")
    assert count(database, EpisodeArtifact) == count(database, ExecutionRow) == 1


def test_nothing_is_stored_of_who_lost_the_fence_or_the_item(database):
    job = new_job(database, tasks=2)
    who = holder(database, job)
    first, second = claim(database, who, 2)
    buffer = Buffer()
    record(EpisodeJournal(first.id, 1, buffer, {}), PICTURE)
    kept = record(EpisodeJournal(second.id, 1, buffer, {}), PICTURE + b"2")
    commit(database, who, Batch({first.id: first.claim - 1, second.id: second.claim}, *buffer.take()))
    with database.engine.connect() as connection:
        assert list(connection.execute(select(Artifact.digest)).scalars()) == [kept]
    record(EpisodeJournal(second.id, 1, buffer, {}), PICTURE + b"3", 1)
    end_session(database, who.session)
    with pytest.raises(Fenced):
        commit(database, who, Batch({second.id: second.claim}, *buffer.take()))
    assert count(database, Artifact) == 1


def test_a_commit_in_parts_carries_the_bytes_of_each_part(database):
    job = new_job(database, tasks=2)
    who = holder(database, job)
    first, second = claim(database, who, 2)
    buffer = Buffer()
    one = record(EpisodeJournal(first.id, 1, buffer, {}), PICTURE)
    other = record(EpisodeJournal(second.id, 1, buffer, {}), PICTURE + b"2")
    batch = Batch({first.id: first.claim, second.id: second.claim}, *buffer.take())
    assert list(batch.part([first.id]).contents.artifacts) == [one]
    assert list(batch.part([second.id]).contents.artifacts) == [other]


def test_bytes_count_for_what_waits(database):
    buffer = Buffer(most_characters=1500, enough_characters=1500)
    journal = EpisodeJournal(1, 1, buffer, {})
    record(journal)
    assert buffer.characters < 1500
    record(journal, PICTURE + b"2", 1)
    assert buffer.characters >= 1500, "no further step is taken until they are written"


def test_a_job_that_is_removed_takes_the_artifacts_along_that_nobody_else_names(database):
    jobs = [new_job(database, tasks=1, digest=digest * 32) for digest in ("ab", "cd")]
    shared, alone = PICTURE, PICTURE + b"alone"
    for job, names in zip(jobs, ((shared, alone), (shared,)), strict=True):
        who = holder(database, job)
        (item,) = claim(database, who)
        buffer = Buffer()
        for position, data in enumerate(names):
            record(EpisodeJournal(item.id, 1, buffer, {}), data, position)
        commit(database, who, Batch({item.id: item.claim}, *buffer.take()))
        end_session(database, who.session)
        cancel(database, job)
    with database.writer.begin() as connection:
        named = store_artifact(connection, b"of a task", "image/png")
        name_artifact(connection, "dataset", named)
    remove(database, jobs[0])
    with database.engine.connect() as connection:
        left = set(connection.execute(select(Artifact.digest)).scalars())
    assert left == {hashlib.sha256(shared).hexdigest(), named}
    remove(database, jobs[1])
    assert count(database, Artifact) == 1 and count(database, DatasetArtifact) == 1


def test_what_is_named_cannot_be_deleted(database):
    with database.writer.begin() as connection:
        name_artifact(connection, "dataset", store_artifact(connection, PICTURE, "image/png"))
    with pytest.raises(ConstraintViolated), database.writer.begin() as connection:
        connection.execute(Artifact.__table__.delete())


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_an_artifact_that_is_being_named_is_not_removed(database):
    """A commit finds the artifact there, and names it; meanwhile another process looks for what nobody names."""
    job = new_job(database, tasks=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    with database.writer.begin() as connection:
        digest = store_artifact(connection, PICTURE, "image/png")
    removed = []

    def look():
        with database.writer.begin() as connection:
            removed.append(remove_unnamed(connection, 10))

    with database.writer.begin() as connection:
        insert_artifacts(connection, {digest: ("image/png", PICTURE)})
        looking = threading.Thread(target=look)
        looking.start()
        time.sleep(0.3)
        insert_rows(connection, NewEpisodeArtifact, [NewEpisodeArtifact(item.id, digest)])
    looking.join(60)
    assert removed == [0] and count(database, Artifact) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_an_artifact_that_is_being_removed_is_stored_anew_by_who_names_it(database):
    with database.writer.begin() as connection:
        digest = store_artifact(connection, PICTURE, "image/png")

    def name():
        with database.writer.begin() as connection:
            name_artifact(connection, "dataset", store_artifact(connection, PICTURE, "image/png"))

    with database.writer.begin() as connection:
        assert remove_unnamed(connection, 10) == 1
        naming = threading.Thread(target=name)
        naming.start()
        time.sleep(0.3)
    naming.join(60)
    with database.engine.connect() as connection:
        assert load_artifact(connection, digest) == (PICTURE, "image/png")


def test_the_images_of_tasks_of_before_are_named_by_the_migration(database):
    """Revision 0008 kept images, and nobody said whose they are."""
    with database.writer.begin() as connection:
        used = store_artifact(connection, PICTURE, "image/png")
        store_artifact(connection, PICTURE + b"of nobody", "image/png")
    images = {"data": [used, None], "other": ["00" * 32]}
    tasks = {
        name: tuple(
            Task("aokvqa", name, str(row), "What is it?", {"image": digest, "caption": ""})
            for row, digest in enumerate(digests)
        )
        for name, digests in images.items()
    }
    for name, digest in zip(tasks, ("ab", "cd"), strict=True):
        new_job(database, digest=digest * 32, rows=tasks[name])
    downgrade(database, "0008")
    upgrade(database)
    with database.engine.connect() as connection:
        named = connection.execute(select(DatasetArtifact.dataset, DatasetArtifact.digest)).all()
    assert named == [("data", used)]
