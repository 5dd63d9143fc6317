"""Pages that take long to compute: they block no other page, and report when there is no place for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from db.engine.connection import open_database
from db.queue.tags import change_tags
from db.review.labels import NewLabel, add_labels
from lumos_queue.builds.options import BuildOptions
from lumos_queue.pages.compose import read_page
from lumos_queue.web.access.users import Role
from lumos_queue.web.app_state import POOL_SECONDS
from lumos_queue.web.drafts import MAX_WAITING, Draft, Drafts
from lumos_queue.web.errors import RETRY_SECONDS, Busy
from lumos_queue.web.routes import jobs as job_routes
from lumos_queue.web.shared_results import THREADS
from tests.explorers import Explorer, RoleLogin, call_explorer, serve_explorer
from tests.scored_jobs import create_scored_job
from tests.services import wait_until

BOUND = 60  #: seconds for an event
HTMX = {"hx-request": "true"}
PEOPLE = {"rita": Role.READER, "otto": Role.OPERATOR}


@dataclass
class Reports:
    """Reports that are counted, and that wait until the test releases them."""

    release: threading.Event = field(default_factory=threading.Event)
    begun: list[Any] = field(default_factory=list)

    def read(self, *arguments: Any, **options: Any) -> Any:
        self.begun.append(options.get("by"))
        assert self.release.wait(BOUND)
        return read_page(*arguments, **options)


@pytest.fixture
def reports(monkeypatch) -> Iterator[Reports]:
    counted = Reports()
    monkeypatch.setattr(job_routes, "read_page", counted.read)
    yield counted
    counted.release.set()


@pytest.fixture
def server(database) -> Iterator[Explorer]:
    with serve_explorer(database, RoleLogin(PEOPLE)) as explorer:
        yield explorer


def test_forty_readers_of_a_report_block_no_other_page(database, reports):
    job = create_scored_job(database, [[1], [0]])
    people = {f"reader {number}": Role.READER for number in range(41)} | PEOPLE
    with serve_explorer(database, RoleLogin(people)) as server, ThreadPoolExecutor(41) as threads:
        readers, other = [server.client(name) for name in people if name not in PEOPLE], server.client("otto")
        answers = [threads.submit(reader.get, f"/jobs/{job}/report") for reader in readers]
        tasks = server.site.results._tasks
        wait_until(lambda: [task.requests.total() for task in tasks.values()] == [41], "all requests wait", BOUND)
        assert database.engine.pool.checkedout() <= THREADS  # pyright: ignore[reportAttributeAccessIssue]
        for path in ("/workers", "/jobs", f"/jobs/{job}"):
            assert other.get(path).status_code == 200
        assert not any(answer.done() for answer in answers)
        reports.release.set()
        assert {answer.result().status_code for answer in answers} == {200}
    assert len(reports.begun) == 1


def test_a_person_with_too_many_reports_is_asked_to_wait_and_no_other_is(server, database, reports):
    names = [create_scored_job(database, [[1], [0]]) for _ in range(THREADS + MAX_WAITING + 2)]
    reader, other = server.client("rita"), server.client("otto")
    with ThreadPoolExecutor(10) as threads:
        answers = []
        for number, name in enumerate(names[: THREADS + MAX_WAITING]):
            answers.append(threads.submit(reader.get, f"/jobs/{name}/report"))
            count = min(number + 1, THREADS)
            wait_until(lambda count=count: len(reports.begun) >= count, "the threads compute", BOUND)
        queue = server.site.results._queue
        wait_until(lambda: queue.count("rita") == MAX_WAITING, "the places are taken", BOUND)
        refusal = reader.get(f"/jobs/{names[-2]}/report")
        assert refusal.status_code == 503 and refusal.headers["retry-after"] == str(RETRY_SECONDS)
        assert "<h1>Not now</h1>" in refusal.text and "4 reports or lists that you requested" in refusal.text
        part = reader.get(f"/jobs/{names[-2]}/report", headers=HTMX)
        assert part.status_code == 503 and part.headers["retry-after"] == str(RETRY_SECONDS) and "<" not in part.text
        assert reader.get("/workers").status_code == 200
        answers.append(threads.submit(other.get, f"/jobs/{names[-1]}/report"))
        reports.release.set()
        assert {answer.result().status_code for answer in answers} == {200}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_report_is_read_again_when_a_label_or_tag_changes(explorer, database, reports):
    reports.release.set()
    job = create_scored_job(database, [[1], [0]])
    client = explorer.client()
    for _ in range(2):
        assert client.get(f"/jobs/{job}/report").status_code == 200
    assert len(reports.begun) == 1
    episode = database_episode(database, job)
    changes = (
        lambda: add_labels(database, [NewLabel(episode, "right", "ann@here")]),
        lambda: client.submit(f"/episodes/{job}-0/label/undo", {}),
        lambda: change_tags(database, job, tags={"team": "maths"}),
        lambda: change_tags(database, job, name="other"),
    )
    for number, change in enumerate(changes, 2):
        change()
        assert "As of" not in client.get(f"/jobs/{job}/report").text
        assert len(reports.begun) == number


def database_episode(database: Any, job: str) -> int:
    with database.engine.connect() as connection:
        return connection.exec_driver_sql(f"SELECT id FROM episode WHERE job = '{job}' ORDER BY id").scalar()


def test_a_report_of_an_open_job_has_its_age(explorer, database, monkeypatch):
    job = create_scored_job(database, [[1], [0]], pending=1)
    client = explorer.client()
    monkeypatch.setattr(explorer.site.results, "_clock", lambda: 1_000.0)
    paths = {"report": f"/jobs/{job}/report", "facets": f"/episodes/facets?job={job}", "all": "/episodes/facets"}
    for path in paths.values():
        assert "As of" not in client.get(path, headers=HTMX).text
    monkeypatch.setattr(explorer.site.results, "_clock", lambda: 1_003.0)
    for path in paths.values():
        assert "As of 3 s ago" in client.get(path, headers=HTMX).text


def test_a_full_pool_is_no_fault_of_the_explorer(database):
    small = open_database(database.url, pool_seconds=0.05)
    try:
        with call_explorer(small) as explorer, ExitStack() as held:
            client = explorer.client()
            for _ in range(15):
                held.enter_context(small.engine.connect())
            for path in ("/workers", "/jobs", "/episodes/facets", "/jobs/abc/report", "/compare?jobs=a,b"):
                answer = client.get(path)
                assert answer.status_code == 503 and answer.headers["retry-after"] == str(POOL_SECONDS), path
                assert "All connections of the explorer to the database are in use" in answer.text
    finally:
        small.close()


def test_an_export_holds_no_connection_while_it_is_sent_and_ends_with_the_right(database, monkeypatch):
    monkeypatch.setattr("lumos_queue.web.views.episode_list.CHUNK", 2)
    create_scored_job(database, [[1] for _ in range(9)])
    people = dict(PEOPLE)
    connections, rows = [], []

    async def note(_seconds: float) -> None:
        connections.append(database.engine.pool.checkedout())
        if len(connections) == 4:
            people.pop("rita", None)

    with call_explorer(database, RoleLogin(people)) as explorer:
        monkeypatch.setattr(explorer.site.downloads, "_sleep", note)
        client = explorer.client("rita")
        for _ in range(2):
            answer = client.get("/episodes/export.jsonl") if "rita" in people else None
            rows.append(0 if answer is None else len(answer.text.splitlines()))
    assert rows == [8, 0] and connections == [0] * 4


def test_downloads_of_a_person_share_a_rate(many, database):
    create_scored_job(database, [[1] for _ in range(3)])
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    downloads = many.site.downloads
    downloads._sleep, downloads._clock, downloads._bytes_per_second = note, lambda: 7.0, 100.0
    size = len(many.client("rita").get("/episodes/export.jsonl").content)
    many.client("anna").get("/episodes/export.jsonl")
    many.client("rita").get("/episodes/export.jsonl")
    assert size > 300
    assert pauses == pytest.approx([0, size / 100, 0, size / 100, size / 100, 2 * size / 100])


def test_people_take_turns_with_drafts_of_builds():
    drafts, release, begun = Drafts(), threading.Event(), []

    def add(name: str, person: str) -> None:
        def work(_tell: Any) -> tuple[dict[str, Any], bool]:
            begun.append(name)
            assert release.wait(BOUND)
            return {}, True

        drafts.add(Draft(name, BuildOptions(), person), work)

    try:
        add("first", "otto")
        wait_until(lambda: begun == ["first"], "the first draft is in progress", BOUND)
        for number in range(MAX_WAITING):
            add(f"otto {number}", "otto")
        with pytest.raises(Busy, match="stop one"):
            add("too many", "otto")
        add("olga 0", "olga")
        release.set()
        wait_until(lambda: len(begun) == MAX_WAITING + 2, "all drafts are previewed", BOUND)
    finally:
        release.set()
        drafts.stop()
    assert begun == ["first", "otto 0", "olga 0", "otto 1", "otto 2", "otto 3"]


def test_an_exported_audit_is_the_file_of_the_command(many, database, monkeypatch):
    from db.queries.filters import parse_where
    from db.review.audits import sample_audit, samples_of
    from lumos_queue.review import label_export
    from lumos_queue.scoring.sampling import AuditKind

    job = create_scored_job(database, [[number % 2] for number in range(5)])
    sample_audit(database, "first", parse_where(""), 5, 0, AuditKind.RUNS, 0.0)
    with database.engine.connect() as connection:
        whole = label_export.write_labels(connection, "first", samples_of(connection, "first"), "argilla")
    for chunk in (1, 2, 20):
        monkeypatch.setattr(label_export, "CHUNK", chunk)
        answer = many.client("otto").get("/annotate/first/export?format=argilla")
        assert answer.content == whole and len(json.loads(answer.content)) == 5
    with database.engine.connect() as connection:
        samples = samples_of(connection, "first")
    with database.writer.begin() as connection:
        connection.exec_driver_sql(f"UPDATE job SET state = 'removing' WHERE id = '{job}'")
    assert json.loads("".join(label_export.stream_labels(database, "first", samples, "argilla"))) == []


def test_a_part_of_a_page_without_a_place_is_requested_again(chromium, database, reports, monkeypatch):
    monkeypatch.setattr(Busy.__init__, "__defaults__", (1,))
    names = [create_scored_job(database, [[1], [0]]) for _ in range(THREADS + MAX_WAITING + 1)]
    with serve_explorer(database) as explorer, ThreadPoolExecutor(10) as threads:
        client, page = explorer.client(), chromium.new_page()  # its console lists the refused part
        answers = [threads.submit(client.get, f"/jobs/{name}/report") for name in names[:-1]]
        queue = explorer.site.results._queue
        wait_until(lambda: queue.count("ann@here") == MAX_WAITING, "the places are taken", BOUND)
        page.goto(explorer.login_url)
        with page.expect_response(lambda answer: answer.url.endswith("/report") and answer.status == 503):
            page.goto(f"{explorer.url}/jobs/{names[-1]}")
        assert page.locator(".warning").count() == 0
        reports.release.set()
        page.locator("#report-scores-head").wait_for()
        page.close()
        assert {answer.result().status_code for answer in answers} == {200}
