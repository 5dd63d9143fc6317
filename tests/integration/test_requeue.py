"""`lumos resume JOB --only CLASS` takes back what one kind of failure ended, and nothing else. Both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from db.kinds.failure_classes import FailureClass, classify
from db.models import EndingHistory, EpisodeRow, Item, JobRow
from db.queries.failures import count_failures
from db.queries.jobs import get_job
from db.queue.batch import Batch, FinishedItem
from db.queue.commit import commit
from db.queue.figures import count_endings, progress
from db.queue.job_changes import cancel, finish_if_idle, resume
from db.queue.recount import differences
from db.queue.sums import add_counted
from db.transfer.requeue import requeue
from lumos_queue.cli.main import main
from lumos_queue.endpoints.base import ImagePart, ModelCall, Sampling
from lumos_queue.endpoints.constraints import refuse_search
from lumos_queue.endpoints.statuses import explain
from lumos_queue.endpoints.vision import refuse_images, with_image_urls
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.records import Outcome, Score
from tests.claims import claim, holder, new_job

REFUSED = explain("http://host:8080", 422, answer="KeyError: what a server says may be anything")
MESSAGES = ("", REFUSED, explain("http://host:8080", 404), "the database refuses its rows: disk full", "KeyError: 'x'")


def message_of(raises, *arguments) -> str:
    with pytest.raises(EpisodeError) as caught:
        raises(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    "message, kind",
    [
        (REFUSED, "refused"),
        (explain("https://10.0.0.1/v1", 599), "refused"),
        (explain("http://host:1", 301, "http://elsewhere/"), "refused"),
        ("the database refuses its rows: host answered 404 Not Found", "database"),
        ("the database holds no image 0123456789ab…: submit the job again", "image"),
        ("no rule of the script fits the prompt that ends in 'KeyError: '", "script"),
        ("the script of 3 replies is used up", "script"),
        ("no endpoint for the role 'qa': give --role qa=URL", "unfit"),
        (message_of(refuse_images, "openai://h:1?model=m", [ImagePart(b"", "image/png")]), "unfit"),
        (message_of(refuse_search, "tgi://h:1", ModelCall("p", Sampling(beams=4))), "unfit"),
        (message_of(with_image_urls, [], ["data:image/png;base64,"]), "unfit"),
        ("ZeroDivisionError: division by zero", "fault"),
        ("AssertionError: ", "fault"),
        ("KeyError: host answered 404 Not Found", "fault"),
        ("http://host answered 404: gone", "refused"),  # as earlier versions put it
        ("something else", "other"),
        ("", "other"),
    ],
)
def test_messages_are_told_apart(message, kind):
    assert classify(message) == kind


@pytest.fixture
def ended(database):
    """A job that is done: of six items one is answered, four failed in different ways, one is quarantined."""
    job = new_job(database, tasks=6)
    who = holder(database, job)
    items = claim(database, who)
    finished = [
        FinishedItem(
            item.id,
            Outcome("7" if not message else None, "infra_error" if message else "answered", message),
            () if message else (Score("accuracy", 1.0),),
        )
        for item, message in zip(items, MESSAGES, strict=False)
    ]
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=finished))
    with database.writer.begin() as connection:
        last = Item.id == items[5].id
        connection.execute(update(Item).where(last).values(state="quarantined", session=None, deaths=6))
        add_counted(connection, 0, last)
    assert finish_if_idle(database, job) == "done"
    return job


def states(database, job: str) -> list[str]:
    with database.engine.connect() as connection:
        return list(connection.execute(select(Item.state).where(Item.job == job).order_by(Item.ordinal)).scalars())


def recounted(database, job: str) -> None:
    with database.engine.connect() as connection:
        assert differences(connection, job) == []


def test_failures_are_counted_by_class(database, ended):
    with database.engine.connect() as connection:
        assert count_failures(connection, ended) == {"refused": 2, "database": 1, "fault": 1, "died": 1}
    recounted(database, ended)


def test_one_class_is_owed_again_and_the_others_stay_as_they_are(database, ended):
    assert requeue(database, ended, FailureClass.REFUSED) == 2
    assert states(database, ended) == ["done", "owed", "owed", "done", "done", "quarantined"]
    with database.engine.connect() as connection:
        assert get_job(connection, ended).state == "queued"
        assert count_endings(connection, ended) == {"answered": 1, "infra_error": 2}
        past = connection.execute(select(EndingHistory.message).order_by(EndingHistory.episode)).scalars().all()
        assert past == list(MESSAGES[1:3])
        assert count_failures(connection, ended) == {"database": 1, "fault": 1, "died": 1}
    recounted(database, ended)
    assert requeue(database, ended, FailureClass.DIED) == 1
    assert states(database, ended) == ["done", "owed", "owed", "done", "done", "owed"]
    recounted(database, ended)
    assert resume(database, ended) == "queued"
    assert states(database, ended) == ["done"] + ["owed"] * 5
    recounted(database, ended)


def test_cancelled_items_stay_cancelled(database, ended):
    requeue(database, ended, FailureClass.FAULT)
    assert cancel(database, ended) == "cancelled"
    assert requeue(database, ended, FailureClass.REFUSED) == 2
    assert states(database, ended) == ["done", "owed", "owed", "done", "cancelled", "quarantined"]
    recounted(database, ended)


def test_a_class_without_items_names_those_there_are(database, ended):
    with pytest.raises(SpecError, match=r"'script'.* there are: refused 2, database 1, fault 1, died 1"):
        requeue(database, ended, FailureClass.SCRIPT)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(state="cancelling"))
    with pytest.raises(SpecError, match="is being cancelled"):
        requeue(database, ended, FailureClass.REFUSED)
    with pytest.raises(SpecError, match="removed meanwhile"):
        requeue(database, "nobody", FailureClass.REFUSED)


def test_the_command_and_the_report(database, ended, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LUMOS_DATABASE_URL", database.url)
    monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:9/0")  # nobody works
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(kind="infer"))
        connection.execute(update(JobRow).values(spec={"agent": {"domain": "maths", "roles": {}}}))
        connection.execute(update(EpisodeRow).values(agent="a"))
    assert main(["report", ended]) == 3
    output = " ".join(capsys.readouterr().out.split())
    assert f"{ended}: 2 items failed by refused. Only these: lumos resume {ended} --only refused" in output
    assert f"{ended}: 1 item failed by died. Only these: lumos resume {ended} --only died" in output
    assert main(["resume", ended, "--only", "unknown"]) == 2
    said = capsys.readouterr().err
    assert "No class of failures called 'unknown'" in said and "refused" in said and "died" in said
    assert main(["resume", ended, "--only", "refused"]) == 0
    assert f"2 items of job {ended} are pending again" in capsys.readouterr().err
    with database.engine.connect() as connection:
        assert progress(connection, ended) == {"done": 3, "owed": 2, "quarantined": 1}
