"""Imports of commands and workers, which `tests/forked_commands.py` makes before it forks a process."""

from importlib import import_module

for name in (
    "alembic.command",
    "celery.bin.celery",
    "celery.apps.worker",
    "celery.concurrency.prefork",
    "celery.worker.consumer",
    "kombu.transport.redis",
    "psycopg",
    "pytest",
    "sqlalchemy.dialects.postgresql.psycopg",
    "db.engine.chunks",
    "db.engine.migrate",
    "db.queries.trajectories",
    "lumos_queue.api",
    "lumos_queue.benchmarks.wordmath.benchmark",
    "lumos_queue.cli.conversions",
    "lumos_queue.cli.doctor",
    "lumos_queue.cli.main",
    "lumos_queue.pages.sections.overview",
    "lumos_queue.cli.run",
    "lumos_queue.cli.submit",
    "lumos_queue.reports.report",
    "lumos_queue.review.scoring",
    "workers.dispatcher",
    "workers.embedded_run",
    "workers.run",
):
    import_module(name)
