"""A host's dispatcher, in this process on SQLite: what it logs, when it looks for work, how it ends."""

from __future__ import annotations

import logging
import os
import signal
import threading
from types import SimpleNamespace

import pytest

import workers.dispatcher
import workers.embedded_run
import workers.watchdog
from db.kinds.pools import POOLS
from db.queue.fence import start_session
from db.queue.job_changes import pause
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import DatabaseUnavailable, InfrastructureError
from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.services import wait_until
from tests.stored_rows import make_tables
from workers.context import WorkerContext
from workers.dispatcher import NOTIFY_SECONDS, Dispatcher, serve
from workers.slice_result import SliceResult
from workers.stop_signal import StopPolicy, StopSignal
from workers.watchdog import Watchdog


@pytest.fixture
def settings(tmp_path):
    make_tables(tmp_path)
    return Settings(home=tmp_path, poll_seconds=0.05, heartbeat_seconds=0.05)


@pytest.fixture
def worker(settings):
    context = WorkerContext(Deployment(settings))
    yield context
    context.close()


@pytest.fixture
def same_signals():
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class SignalAt(logging.Handler):
    """Sends this process a signal when a line with this text is logged."""

    def __init__(self, text: str, number: int):
        super().__init__()
        self._text, self._number = text, number

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            os.kill(os.getpid(), self._number)


def serve_until(text: str, settings: Settings, pools: list[str], caplog, number: int = signal.SIGTERM) -> list[str]:
    """Run the dispatcher until a line with the text is logged; return its lines."""
    log, handler = logging.getLogger("workers.dispatcher"), SignalAt(text, number)
    log.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, "workers.dispatcher"):
            serve(settings, pools)
    finally:
        log.removeHandler(handler)
    return [record.getMessage() for record in caplog.records if record.name == "workers.dispatcher"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_dispatcher_says_what_it_looks_for_and_ends_with_a_signal(settings, caplog, same_signals, number):
    lines = serve_until("looking for jobs", settings, ["cpu", "llm"], caplog, number)
    assert lines == ["looking for jobs of cpu, llm every 0.05 s"]


def test_a_dispatcher_says_that_the_limit_of_open_files_is_low(settings, caplog, same_signals):
    many = settings.model_copy(update={"concurrency": 10**7})
    first, _ = serve_until("looking for jobs", many, ["llm"], caplog)
    assert first.startswith("open files are limited to ")


@pytest.mark.parametrize(
    ("pools", "gpu", "lines"), [(["gpu"], False, 2), (["gpu"], True, 1), (["gpu", "llm"], False, 1)]
)
def test_a_dispatcher_for_gpus_alone_says_that_it_has_none(
    settings, caplog, same_signals, monkeypatch, pools, gpu, lines
):
    monkeypatch.setattr(WorkerContext, "can_run", lambda self, pool: gpu)
    logged = serve_until("looking for jobs", settings, pools, caplog)
    assert len(logged) == lines
    if lines == 2:
        assert logged[1] == "this process finds no GPU and serves no other pool: it takes no job"


@pytest.mark.parametrize(("broker_url", "patience"), [("", 0.0), ("memory://", 0.1)])
def test_beside_celery_workers_a_dispatcher_leaves_them_a_new_job_for_two_looks(
    settings, same_signals, monkeypatch, broker_url, patience
):
    made = []

    class Noted(Dispatcher):
        def run(self, stop):
            made.append((self.worker.settings, list(self.pools), self.only, self.patience, stop()))
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(stop, "the signal is heard")

    monkeypatch.setattr(workers.dispatcher, "Dispatcher", Noted)
    settings = settings.model_copy(update={"broker_url": broker_url})
    serve(settings, ["llm"])
    assert made == [(settings, ["llm"], None, patience, False)]


def test_a_dispatcher_closes_its_worker_and_ends_its_watchdog_after_an_error(settings, same_signals, monkeypatch):
    worker_closed, watches = [], []
    monkeypatch.setattr(WorkerContext, "close", lambda self: worker_closed.append(self.pools))
    monkeypatch.setattr(Watchdog, "__exit__", lambda self, *_: watches.append(self._worker.pools) or self._over.set())

    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(Dispatcher, "run", fail)
    with pytest.raises(ValueError, match="a bug"):
        serve(settings, ["llm"])
    assert worker_closed == [("llm",)] and watches == [("llm",)]


class Turns:
    """Stops a dispatcher after so many looks, without waiting between them; `waits` has the seconds between."""

    def __init__(self, monkeypatch, looks: int):
        self.looks, self.waits = looks, list[float]()
        self.wakers: set[object] = set()  # the functions that end a wait
        monkeypatch.setattr(Dispatcher, "_sleep", staticmethod(self._sleep))
        monkeypatch.setattr(workers.dispatcher.random, "uniform", lambda low, high: (low + high) / 1.5)

    def _sleep(self, stop: object, seconds: float) -> None:
        self.wakers.add(stop)
        self.waits.append(seconds)

    def __call__(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_dispatcher_without_work_looks_more_and_more_rarely_up_to_three_times_the_interval(worker, monkeypatch):
    turns = Turns(monkeypatch, 12)
    Dispatcher(worker, ["llm"]).run(turns)
    expected = [min(1 + idle / 4, 3) for idle in range(1, 13)]
    assert turns.waits == pytest.approx([0.05 * factor for factor in expected]) and turns.wakers == {turns}


def test_a_dispatcher_looks_again_at_once_after_a_slice_and_at_its_interval_after_that(worker, monkeypatch):
    turns = Turns(monkeypatch, 4)
    answers = iter([False, True, False, False])
    monkeypatch.setattr(Dispatcher, "_look_and_work", lambda self, stop: next(answers))
    Dispatcher(worker, ["llm"]).run(turns)
    assert turns.waits == pytest.approx([0.05 * 1.25, 0.05 * 1.25, 0.05 * 1.5])


@pytest.mark.parametrize("error", [InfrastructureError("away\nmore"), DatabaseUnavailable("away")])
def test_a_database_that_fails_is_a_line_of_the_log_and_is_asked_again(worker, monkeypatch, caplog, error):
    turns = Turns(monkeypatch, 2)

    def look(self, stop):
        raise error

    monkeypatch.setattr(Dispatcher, "_look_and_work", look)
    Dispatcher(worker, ["llm"]).run(turns)
    assert caplog.messages == [f"the database failed, trying again: {getattr(error, 'reason', 'away')}"] * 2
    assert turns.waits == pytest.approx([0.05 * 1.25, 0.05 * 1.5])


def script_slices(monkeypatch, name: str, result: SliceResult | None = None) -> list[tuple[str, StopPolicy]]:
    slices: list[tuple[str, StopPolicy]] = []

    def run(worker, job, policy):
        slices.append((job, policy))
        return result or SliceResult()

    monkeypatch.setattr(workers.dispatcher, name, run)
    return slices


def test_jobs_have_their_turns_and_each_slice_ends_when_the_dispatcher_ends(worker, monkeypatch):
    first, second = new_job(worker.database), new_job(worker.database, digest="cd" * 32)
    slices = script_slices(monkeypatch, "try_slice")
    stopping = threading.Event()
    dispatcher = Dispatcher(worker, ["cpu", "llm"])
    for _ in range(4):
        assert dispatcher._look_and_work(stopping.is_set) is True
    assert [job for job, _ in slices] == [first, second, first, second]
    policy = slices[0][1]
    assert (policy._job, list(policy._pools), policy._alone, policy._is_bounded) == (
        first,
        ["cpu", "llm"],
        False,
        False,
    )
    assert policy() == 0
    stopping.set()
    assert policy() == StopSignal.LEAVE


def test_an_internal_error_is_no_work_so_that_the_dispatcher_waits_before_it_looks_again(worker, monkeypatch):
    new_job(worker.database)
    slices = script_slices(monkeypatch, "try_slice", SliceResult(fault=True))
    assert Dispatcher(worker, ["llm"])._look_and_work(lambda: False) is False and len(slices) == 1


def test_a_dispatcher_takes_jobs_of_its_pools_alone_and_none_of_the_pool_gpu_without_one(worker, monkeypatch):
    from db.kinds.pools import Gpus
    from workers import context

    slices = script_slices(monkeypatch, "try_slice")
    cpu, gpu = new_job(worker.database, pool="cpu"), new_job(worker.database, pool="gpu", digest="cd" * 32)
    assert Dispatcher(worker, ["llm"])._look_and_work(lambda: False) is False
    monkeypatch.setattr(context, "get_known_gpus", lambda: Gpus(0, 0))
    dispatcher = Dispatcher(worker, ["gpu"])
    assert dispatcher._look_and_work(lambda: False) is False and slices == []
    monkeypatch.setattr(context, "get_known_gpus", lambda: Gpus(1, 0))
    assert dispatcher._look_and_work(lambda: False) is True
    assert Dispatcher(worker, ["cpu"])._look_and_work(lambda: False) is True
    assert [job for job, _ in slices] == [gpu, cpu]


def test_a_new_job_is_left_to_those_who_got_its_message_for_a_while(worker, monkeypatch):
    slices = script_slices(monkeypatch, "try_slice")
    new_job(worker.database)
    assert Dispatcher(worker, ["llm"], patience=600.0)._look_and_work(lambda: False) is False and slices == []
    assert Dispatcher(worker, ["llm"])._look_and_work(lambda: False) is True


def test_who_waits_for_a_job_runs_it_alone_and_stops_when_it_is_stopped(worker, monkeypatch):
    job, _ = new_job(worker.database), new_job(worker.database, digest="cd" * 32)
    states = []

    def run(context, identifier, policy):
        states.append((identifier, policy._alone, context.session.working, policy()))
        context.session.states[job] = "paused"
        states.append(policy())
        return SliceResult()

    monkeypatch.setattr(workers.dispatcher, "run_slice", run)
    dispatcher = Dispatcher(worker, ["llm"], only=job)
    assert dispatcher._look_and_work(lambda: False) is True
    assert states == [(job, True, True, 0), StopSignal.LEAVE]
    assert worker.session.working is False, "the session has left the job"
    assert dispatcher._is_over() is False
    pause(worker.database, job)
    assert dispatcher._is_over() is True
    assert dispatcher._look_and_work(lambda: False) is False, "nothing of it is due"


def test_who_waits_for_a_job_sees_its_fault(worker, monkeypatch):
    job = new_job(worker.database)

    def run(*_: object) -> SliceResult:
        raise ValueError("a bug")

    monkeypatch.setattr(workers.dispatcher, "run_slice", run)
    with pytest.raises(ValueError, match="a bug"):
        Dispatcher(worker, ["llm"], only=job).run(lambda: False)
    assert worker.session.working is False


class Notified:
    """The messages of dispatchers, on a clock that the test sets."""

    def __init__(self, monkeypatch):
        self.now, self.messages = 1000.0, list[tuple]()
        monkeypatch.setattr(workers.dispatcher, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(
            workers.dispatcher,
            "notify_workers",
            lambda settings, kind, job, items, pool: self.messages.append((kind, job, items, pool)),
        )

    def expect(self, *messages: tuple) -> None:
        threads = [thread for thread in threading.enumerate() if thread.name == "notifications"]
        for thread in threads:
            thread.join()
        assert sorted(self.messages) == sorted(messages)
        self.messages.clear()


def test_messages_bring_workers_back_every_ten_seconds_for_jobs_that_a_live_worker_can_run(worker, monkeypatch):
    notified = Notified(monkeypatch)
    worker.settings = worker.settings.model_copy(update={"broker_url": "memory://"})
    dispatcher = Dispatcher(worker, ["llm", "cpu"])
    jobs = [
        new_job(worker.database, digest=f"{letter}b" * 32, pool=pool) for letter, pool in (("a", "llm"), ("c", "gpu"))
    ]
    start_session(worker.database, "1", ["llm"], None)
    notified.now += NOTIFY_SECONDS
    dispatcher._bring_workers_back(jobs)
    notified.expect()
    notified.now += 0.1
    dispatcher._bring_workers_back([])
    notified.expect()
    dispatcher._bring_workers_back(jobs)
    notified.expect(("evaluate", jobs[0], 1, "llm"))
    notified.now += NOTIFY_SECONDS
    dispatcher._bring_workers_back(jobs)
    notified.expect()
    start_session(worker.database, "1", POOLS, None)
    notified.now += 0.1
    dispatcher._bring_workers_back(jobs)
    notified.expect(("evaluate", jobs[0], 1, "llm"), ("evaluate", jobs[1], 1, "gpu"))
    worker.settings = worker.settings.model_copy(update={"broker_url": ""})
    notified.now += 2 * NOTIFY_SECONDS
    dispatcher._bring_workers_back(jobs)
    notified.expect()


def test_a_sleeping_dispatcher_wakes_when_it_has_to_stop_or_its_time_is_over(monkeypatch):
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(workers.dispatcher, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    Dispatcher._sleep(lambda: False, 1.0)
    assert 1.0 <= now[0] < 1.1
    Dispatcher._sleep(lambda: now[0] >= 2.0, 100.0)
    assert 2.0 <= now[0] < 2.1
