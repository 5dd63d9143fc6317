"""Pools, the kinds of work: the worker sessions that can run a pool's jobs, and advice when none can."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from lumos_queue.records import TextEnum
from lumos_queue.util.wording import format_bytes


class Pool(TextEnum):
    """The kinds of work. The values are stored, and are the names of Celery's queues."""

    CPU = "cpu"
    LLM = "llm"  #: waits for model servers most of the time
    GPU = "gpu"  #: needs a GPU


POOLS = tuple(Pool)


class Gpus(NamedTuple):
    """The GPUs that a process can use."""

    number: int
    mib: int  #: memory of the smallest one, in MiB; 0 without a GPU


class SessionPools(Protocol):
    """What a worker session reports about its pools: the columns of its row."""

    @property
    def pools(self) -> str:
        """Written by `write_pools`."""
        ...

    @property
    def gpus(self) -> int | None:
        """The number of GPUs; None if the process has not looked for them yet."""
        ...


class SessionGpus(SessionPools, Protocol):
    """The same, and the memory of its GPUs."""

    @property
    def gpu_mib(self) -> int | None:
        """The memory of the smallest GPU in MiB; 0 without a GPU."""
        ...


def write_pools(pools: Iterable[str]) -> str:
    """Return the names of pools in the form in which a worker session stores them: `cpu,llm`."""
    return ",".join(pools)


def serves(session: SessionPools, pool: str) -> bool:
    """Whether a worker session was started for the pool."""
    return pool in session.pools.split(",")


def can_run(session: SessionPools, pool: str) -> bool:
    """Whether a worker session may take jobs of the pool. A session that has not looked for GPUs yet may."""
    return serves(session, pool) and not (pool == Pool.GPU and session.gpus == 0)


def describe_gpus(session: SessionGpus) -> str:
    """Describe the GPUs of a worker session: `2, at least 85.5 GB each`; `not asked` if unknown."""
    if session.gpus is None:
        return "not asked" if serves(session, Pool.GPU) else ""
    memory = format_bytes((session.gpu_mib or 0) << 20)
    if session.gpus < 2:
        return f"1, {memory}" if session.gpus else "none"
    return f"{session.gpus:,}, at least {memory} each"


def describe_lack(sessions: Collection[SessionPools], pool: str) -> str:
    """Explain why no live worker session can run jobs of the pool, with advice.

    Return '' when a session can, and when no session is alive.
    """
    if not sessions or any(can_run(session, pool) for session in sessions):
        return ""
    if not any(serves(session, pool) for session in sessions):
        machine = " on a machine with a GPU" if pool == Pool.GPU else ""
        return f"no live worker serves the pool {pool}: start `lumos worker --pools {pool}`{machine}"
    return "no live worker has a GPU: start `lumos worker --pools gpu` on a machine with a GPU"
