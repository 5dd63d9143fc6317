"""Run a child process that works on a job, and kills itself with SIGKILL when so many steps are stored."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import workers.outbox
from db.engine.connection import open_database
from db.engine.lease import Lease, SilenceWatch
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.queue.fence import reap
from lumos_queue.commands import Step
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.episode import StepContext
from lumos_queue.settings import Settings
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

KILLED, DONE = -signal.SIGKILL, 0


def make_settings(home: Path, **options: object) -> Settings:
    return Settings(home=home, poll_seconds=0.02, flush_seconds=0.02, **options)  # type: ignore[arg-type]


def run_in_child(work: Callable[[], None]) -> int:
    """Call `work` in a child with its own process group; return its pid."""
    pid = os.fork()
    if pid:
        with suppress(PermissionError, ProcessLookupError):  # the child may have set its group, or have ended
            os.setpgid(pid, pid)
        return pid
    try:
        os.setpgid(0, 0)
        work()
        os._exit(DONE)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        os._exit(1)


def wait(pid: int) -> int:
    """Wait for a child; return DONE, KILLED or another exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def wait_for_progress(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until the condition holds, at most so many seconds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


def end_sessions(settings: Settings) -> None:
    """Declare the sessions of dead processes dead at once, without waiting for the ends of their leases."""
    database = open_database(settings.database)
    reap(database, 0, SilenceWatch(Lease(-1.0)))
    database.close()


def resume_job(settings: Settings, job: str) -> None:
    """Work on a job until it is done."""
    process = WorkerContext(Deployment(settings))
    try:
        Dispatcher(process, ["llm", "cpu"], only=job).run(lambda: False)
    finally:
        process.close()


def resume_stepwise(settings: Settings, job: str, log: Path, least: int | None = None) -> None:
    """Work on a job until it is done, or die as soon as `least` steps are stored.

    Every step is stored before the next one begins. The log gets a line for each step that is carried out. A call of an
    action is stored before the action: the child may die between the two.
    """
    log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    buffers: list[Buffer] = []
    stored_steps = 0

    def make_buffer() -> Buffer:
        buffers.append(Buffer(most=1, enough=1))
        return buffers[-1]

    async def until_stored() -> None:
        for buffer in buffers:
            await buffer.wait_for_capacity()
        if least is not None and stored_steps >= least:
            os.kill(os.getpid(), signal.SIGKILL)

    async def wait_for_capacity(journal: EpisodeJournal) -> None:
        await until_stored()

    def record(journal: EpisodeJournal, step: Step, original: Callable[[EpisodeJournal, Step], None]) -> None:
        nonlocal stored_steps
        stored_steps += 1
        os.write(log_file, f"{step.position} {step.branch}\n".encode())
        original(journal, step)

    async def call(context: StepContext, tool: str, /, *, original, **arguments):
        outcome = await original(context, tool, **arguments)
        await until_stored()
        return outcome

    workers.outbox.Buffer = make_buffer  # type: ignore[misc,assignment]
    plain_record, plain_call = EpisodeJournal.record, StepContext.call
    EpisodeJournal.wait_for_capacity = wait_for_capacity  # type: ignore[method-assign]
    EpisodeJournal.record = lambda self, step: record(self, step, plain_record)  # type: ignore[method-assign]
    StepContext.call = lambda self, tool, /, **rest: call(self, tool, original=plain_call, **rest)  # type: ignore
    resume_job(settings, job)


def work_and_die(settings: Settings, job: str, log: Path, least: int | None) -> int:
    """Run `resume_stepwise` in a child; return its exit code."""
    return wait(run_in_child(partial(resume_stepwise, settings, job, log, least)))
