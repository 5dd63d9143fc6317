"""The state that a worker process keeps between slices: its deployment and its worker session."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from db.engine.connection import Database
from db.kinds.pools import POOLS, Pool
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import EndpointDown
from lumos_queue.settings import read_settings
from lumos_queue.util.launch_folder import empty_folder
from lumos_queue.util.version import code_version
from workers.gpus import find_gpus, get_known_gpus
from workers.hang import OnHang, end_process
from workers.per_process import PerProcess
from workers.session import WorkerSession


class WorkerContext:
    """The deployment and the worker session of a process. The session begins at its first use."""

    def __init__(self, deployment: Deployment, pools: Sequence[str] = POOLS, on_hang: OnHang = end_process):
        """`on_hang`: called from another thread if the work of this process hangs, or does not end after TERM."""
        self.deployment, self.settings = deployment, deployment.settings
        self.on_hang = on_hang
        self.pools = tuple(pools)  #: the pools that this process was started for
        #: the latest outage that a slice of this process met; None again as soon as a slice finishes an item
        self.outage: EndpointDown | None = None
        self._session: WorkerSession | None = None
        self._open_lock = threading.RLock()  # Celery's child begins its session in a thread (workers/presence.py)

    @property
    def database(self) -> Database:
        return self.deployment.database

    @property
    def session(self) -> WorkerSession:
        """This process's worker session. If the last session was lost, this is a new session."""
        with self._open_lock:
            if self._session is None or self._session.lost:
                if self._session:
                    self._session.close()
                self._session = WorkerSession(self.database, self.settings, code_version(), self.pools, self.on_hang)
            return self._session

    @property
    def usable_pools(self) -> tuple[str, ...]:
        """The pools whose jobs this process can run, as far as it knows: without `gpu` after it found no GPU."""
        gpus = get_known_gpus()
        return tuple(pool for pool in self.pools if pool != Pool.GPU or gpus is None or gpus.number)

    def can_run(self, pool: str) -> bool:
        """Whether this process can run jobs of the pool. The first call for `gpu` takes up to 60 s.

        Raises SpecError when processes cannot start in a folder of LUMOS_HOME.
        """
        return pool != Pool.GPU or find_gpus(empty_folder(self.settings.home)).number > 0

    @property
    def is_present(self) -> bool:
        """Whether this process has a worker session that is not lost, or in which a slice still works."""
        session = self._session
        return session is not None and (session.working or not session.lost)

    def end_session(self) -> None:
        """End the worker session: its items are pending again. The next `session` is a new session."""
        session, self._session = self._session, None
        if session:
            session.close()

    def give_up_session(self) -> None:
        """End the worker session of a process whose event loop hangs.

        If the database answers, the items of the session are pending again.
        """
        if session := self._session:
            session.give_up()

    def close(self) -> None:
        """End the worker session and close the deployment."""
        self.end_session()
        self.deployment.close()


_contexts = PerProcess(lambda: WorkerContext(Deployment(read_settings())))


def current_context() -> WorkerContext:
    """The context of this process."""
    return _contexts.get()
