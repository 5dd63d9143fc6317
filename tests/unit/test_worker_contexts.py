"""What a worker process keeps between slices: its pools, its GPUs, and its session, on SQLite."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import select

import workers.context
from db.kinds.pools import Gpus
from db.models import WorkerSessionRow
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings
from lumos_queue.util.version import code_version
from tests.pretended_gpus import pretend_gpus
from tests.stored_rows import make_tables
from workers import gpus
from workers.context import WorkerContext, current_context
from workers.hang import end_process


@pytest.fixture(autouse=True)
def unknown_gpus(monkeypatch):
    monkeypatch.setattr(gpus, "_answer", bytearray(len(gpus._answer)))


@pytest.fixture
def settings(tmp_path):
    make_tables(tmp_path / "home")
    return Settings(home=tmp_path / "home", heartbeat_seconds=3600.0, fence_seconds=7200.0, lease_seconds=9000.0)


@pytest.fixture
def context(settings):
    context = WorkerContext(Deployment(settings), ["gpu", "llm"])
    yield context
    context.close()


def read_session(context: WorkerContext, session: int):
    with context.database.engine.connect() as connection:
        return connection.execute(select(WorkerSessionRow.__table__).where(WorkerSessionRow.id == session)).one()


@pytest.mark.parametrize(("memories", "can_run"), [([], False), ([16_000], True), ([16_000, 24_000], True)])
def test_a_process_looks_for_gpus_only_for_jobs_of_that_pool(context, tmp_path, monkeypatch, memories, can_run):
    monkeypatch.setenv("PYTHONPATH", pretend_gpus(tmp_path / "torch", memories))
    assert context.can_run("cpu") is True and context.can_run("llm") is True
    assert gpus.get_known_gpus() is None and context.usable_pools == ("gpu", "llm")
    assert context.can_run("gpu") is can_run
    assert gpus.get_known_gpus() is not None
    assert context.usable_pools == (("gpu", "llm") if can_run else ("llm",))


def test_torch_is_asked_in_an_empty_folder_of_the_deployment(context, monkeypatch):
    folders = []
    monkeypatch.setattr(workers.context, "find_gpus", lambda folder: folders.append(folder) or Gpus(0, 0))
    context.can_run("gpu")
    assert folders == [context.settings.home / "run" / "empty"] and list(folders[0].iterdir()) == []


def test_a_process_begins_its_session_at_the_first_use_and_a_new_session_after_a_loss(context):
    assert not context.is_present and context.outage is None
    first = context.session
    row = read_session(context, first.id)
    assert (row.pools, row.code_version) == ("gpu,llm", code_version())
    assert context.session is first and context.is_present is True
    assert (first.database, first.settings) == (context.database, context.settings)
    first.declare_lost()
    assert context.is_present is False
    first.work_on("job")
    assert context.is_present is True, "its slice still works"
    first.leave("job")
    second = context.session
    assert second is not first and context.is_present is True
    assert read_session(context, first.id).ended_by == "itself"
    assert read_session(context, second.id).ended_by == ""


def test_a_process_ends_its_session_and_then_closes_its_database(context, settings):
    assert context.deployment.database_if_open is None
    session = context.session
    context.end_session()
    assert context.is_present is False and read_session(context, session.id).ended_by == "itself"
    context.end_session()
    latest = context.session
    context.close()
    assert context.deployment.database_if_open is None and read_session(context, latest.id).ended_by == "itself"
    context.close()


def test_a_session_that_is_given_up_may_write_no_more_and_is_ended(context):
    context.give_up_session()
    assert not context.is_present
    session = context.session
    context.give_up_session()
    assert session.lost and read_session(context, session.id).ended_by == "itself"
    assert context.session is not session


def test_a_process_that_hangs_ends_itself_unless_its_owner_does_something_else(settings):
    problems: list[str] = []
    with Deployment(settings) as deployment:
        assert WorkerContext(deployment).on_hang is end_process
        assert WorkerContext(deployment).pools == ("cpu", "llm", "gpu")
        context = WorkerContext(deployment, on_hang=problems.append)
        context.session._on_hang("the event loop hangs")
        context.close()
    assert problems == ["the event loop hangs"]


def test_a_process_has_one_context_with_the_settings_of_its_environment(settings, monkeypatch):
    monkeypatch.setattr(workers.context, "_contexts", type(workers.context._contexts)(workers.context._contexts._make))
    monkeypatch.setenv("LUMOS_HOME", str(settings.home))
    context = current_context()
    assert current_context() is context and context.settings.home == settings.home
    context.close()


@pytest.mark.parametrize(
    ("memories", "line"),
    [
        ([], "torch finds no GPU: jobs of the pool gpu are left to other workers"),
        ([16_000], "torch finds 1 GPU; the smallest has 16.8 GB"),
        ([24_000, 16_000], "torch finds 2 GPUs; the smallest has 16.8 GB"),
    ],
)
def test_the_gpus_of_a_process_are_a_line_of_its_log(tmp_path, monkeypatch, caplog, memories, line):
    monkeypatch.setenv("PYTHONPATH", pretend_gpus(tmp_path / "torch", memories))
    with caplog.at_level(logging.INFO, "workers.gpus"):
        gpus.ask_torch(tmp_path)
    assert caplog.messages == [line]
