"""Episodes leave nothing to the garbage collector, which a slice runs seldom (workers/event_loop.py)."""

from __future__ import annotations

import gc

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.journal.episode_journal import EpisodeJournal
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from performance.embedded_run import run_job
from performance.jobs import rows_of
from performance.questions import questions
from performance.server import start_server
from workers.context import WorkerContext

EPISODES = 20


def test_what_an_episode_held_is_freed_when_it_ends(tmp_path):
    settings = Settings(home=tmp_path, concurrency=16)
    database = open_database(settings.database)
    upgrade(database)
    worker = WorkerContext(Deployment(settings))
    try:
        with start_server(0.0, 16) as url:
            run_job(worker, database, url, rows_of(questions(1, 8), tmp_path / "warm.jsonl"))
            gc.collect()
            gc.disable()
            run_job(worker, database, url, rows_of(questions(100, EPISODES), tmp_path / "work.jsonl"))
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = [type(one) for one in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        worker.close()
        database.close()
    assert EpisodeJournal not in left and Task not in left
