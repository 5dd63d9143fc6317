"""A worker session: the record of a process in the database, and the heartbeat with which it keeps its items."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from db.engine.connection import Database
from db.engine.errors import reason
from db.engine.lease import Lease, SilenceWatch
from db.kinds.pools import POOLS
from db.queue.endpoint_paces import read_paces
from db.queue.fence import Fenced, beat, end_session, reap, record_gpus, start_session
from db.queue.training_progress import store_progress
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.pace import Pace
from lumos_queue.errors import DatabaseFailure
from lumos_queue.jobs.progress_board import ProgressBoard
from lumos_queue.settings import Settings
from lumos_queue.util.wording import format_rough_seconds
from workers.gpus import get_known_gpus
from workers.hang import OnHang, end_process

log = logging.getLogger(__name__)


class WorkerSession:
    """Sends heartbeats from its own thread and connection, so that no slow episode or long commit delays them.

    The reply to a heartbeat has the states of jobs, which may be cancelled or paused, and shares of endpoints' caps.

    While the event loop hangs, no heartbeat is sent, so that the process loses its items. The process may not write
    (`lost`) if the last successful heartbeat *started* more than `fence_seconds` ago.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        code_version: str,
        pools: Sequence[str] = POOLS,
        on_hang: OnHang = end_process,
    ):
        """`pools`: the pools that the process was started for. `on_hang`: called when the loop hangs for good."""
        self.database, self.settings, self.code_version = database, settings, code_version
        self._on_hang = on_hang
        self._gpus = get_known_gpus()  # as stored
        self.id = start_session(database, code_version, pools, self._gpus)
        self.states: dict[str, str] = {}  #: of the jobs that run here, as of the last heartbeat
        self._jobs: set[str] = set()
        self._gates: Mapping[str, AdmissionControl] = {}
        self._board: ProgressBoard | None = None  # of a training job
        self._paces: dict[str, Pace] = {}  # of all endpoints of this slice and of earlier slices
        self._beat_lock = threading.Lock()
        self._watch_lock = threading.Lock()
        self._lease = Lease(settings.lease_seconds)
        self._watch = SilenceWatch(self._lease)
        self._alive_at = self._loop_at = time.monotonic()
        self._is_working = self._is_lost = self._has_ended = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Whether this process may no longer write: it was declared dead, or its last heartbeat is too old."""
        return self._is_lost or time.monotonic() - self._alive_at > self.settings.fence_seconds

    @property
    def working(self) -> bool:
        """Whether a slice works in this session."""
        return self._is_working

    def declare_lost(self) -> None:
        """Forbid further writes in this session. The heartbeat's thread then ends the session in the database."""
        self._is_lost = True

    def work_on(self, job: str) -> None:
        self.mark_loop_alive()
        self._jobs.add(job)
        self._is_working = True

    def use(self, gates: Mapping[str, AdmissionControl]) -> None:
        """Lease shares of these endpoints' caps, now and with every heartbeat until `leave`. `gates`: by URL.

        This process uses an endpoint that is new to it with the pace that other processes have measured.
        """
        self._gates = gates
        if not gates:
            return
        new = [url for url, gate in gates.items() if gate.pace.is_new]
        if new:
            with self.database.engine.connect() as connection:
                for url, pace in read_paces(connection, new, self._lease).items():
                    gates[url].pace.start(*pace)
        self._paces |= {url: gate.pace for url, gate in gates.items()}
        self._beat()

    def follow(self, board: ProgressBoard | None) -> None:
        """Store the newest report of a training process with every heartbeat until `leave`. None: there is none."""
        self._board = board

    def store_progress(self) -> None:
        """Store the newest report of the training process, if there is one. Raises Fenced, as `beat` does."""
        report = self._board.read() if self._board else None
        if report is not None and not self.lost:
            with suppress(DatabaseFailure):  # the next heartbeat stores it
                store_progress(self.database, self.id, report)

    def leave(self, job: str) -> None:
        self._jobs.discard(job)
        self._gates, self._board = {}, None
        self.states.pop(job, None)
        self._is_working = bool(self._jobs)

    def reap(self) -> None:
        """Declare all sessions dead that were silent for too long. Raises DatabaseFailure when the database fails."""
        with self._watch_lock:  # the heartbeat's thread calls this, and a dispatcher before it looks for work
            dead = reap(self.database, self.id, self._watch)
        for session in dead:
            log.warning("worker session %s was silent too long: its items are pending again", session)

    def mark_loop_alive(self) -> None:
        """Note that the event loop does not hang. A task of the loop calls this regularly."""
        self._loop_at = time.monotonic()

    def close(self) -> None:
        """End the session. If the database does not answer, other processes declare it dead when its lease ends."""
        self._stop.set()
        self._thread.join(timeout=5)
        self._end()

    def give_up(self) -> None:
        """End the session because the event loop hangs. This process writes nothing more; its items are pending again.

        The items are suspects, like those of a dead process, because any of them may be the item that hangs.
        """
        self._is_lost = True
        self._stop.set()
        self._end(has_died=True)

    def _run(self) -> None:
        next_reap = time.monotonic()
        while not self._stop.wait(self.settings.heartbeat_seconds):
            if self._is_lost:  # its slice has stopped; further heartbeats would keep its items forever
                if self._end():
                    return
                continue
            hung = time.monotonic() - self._loop_at if self._is_working else 0.0
            if hung > self._lease.hung_seconds:
                self._on_hang(f"the event loop hangs for {format_rough_seconds(hung)}")
                return
            if hung > self.settings.fence_seconds:
                log.error("the event loop hangs: heartbeat withheld")
                continue
            try:
                self._beat()
                if time.monotonic() >= next_reap:
                    next_reap = time.monotonic() + self._lease.reap_seconds
                    self.reap()
            except Fenced:
                self._is_lost = True
                return
            except DatabaseFailure as error:
                log.warning("heartbeat failed: %s", reason(error))

    def _end(self, has_died: bool = False) -> bool:
        """End the session in the database; return whether that succeeded."""
        if self._has_ended:
            return True
        try:
            end_session(self.database, self.id, has_died)
            self._has_ended = True
        except DatabaseFailure as error:
            log.warning("could not end worker session %s: %s", self.id, reason(error))
            return False
        return True

    def _beat(self) -> None:
        with self._beat_lock:  # the heartbeat's thread calls this, and a slice when it begins
            start = time.monotonic()
            gates = dict(self._gates)
            traffic = {url: gate.report() for url, gate in gates.items()}
            stated_limits = {url: gate.stated_slots for url, gate in gates.items() if gate.stated_slots}
            other_paces = {
                url: pace.report() for url, pace in self._paces.items() if url not in gates and pace.is_fresh
            }
            reply = beat(self.database, self.id, sorted(self._jobs), traffic, stated_limits, other_paces)
            self.states, self._alive_at = reply.states, start
            self._record_gpus()
            self.store_progress()
            for url, share in reply.shares.items():
                gates[url].set_share(share)

    def _record_gpus(self) -> None:
        """Store the GPUs of the process when they are known."""
        gpus = get_known_gpus()
        if gpus and gpus != self._gpus:
            record_gpus(self.database, self.id, gpus)
            self._gpus = gpus
