"""Bring about each kind of fault: a function of the site and the fault, which records the victim in the event.

Faults may come together, but each victim has a lock: it gets one fault of a kind of treatment at a time.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psutil
from psycopg import Error as ServerError

from tests.campaign.schedule import LINKS, MODES, Fault
from tests.campaign.site import DISK, LEASE, Site
from tests.campaign.streams import Replica, count_in_flight
from tests.campaign.up import GONE, HOLDING, is_gone

TERM_GIVEN_UP = 60.0  #: seconds to wait for a process to end after SIGTERM
VICTIM_WITHIN = 30.0  #: seconds to wait for a process that may be hit


@dataclass
class Event:
    """A fault that happened."""

    kind: str
    planned: float
    victim: str = ""
    began: float = 0.0  #: Unix seconds
    ended: float = 0.0
    hit: bool = False  #: whether the victim had work in flight
    lost: int = 0  #: items that a process held
    note: str = ""
    problem: str = ""  #: why the fault could not happen
    endpoints: list[int] = field(default_factory=list)  #: ports of the model servers that were struck


Strike = Callable[[Site, Fault, Event, Random], None]
STRIKES: dict[str, Strike] = {}
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_choice_lock = threading.Lock()


def strike(site: Site, fault: Fault, event: Event) -> None:
    """Bring a fault about, and wait until it is over."""
    try:
        STRIKES[fault.kind](site, fault, event, fault.pick())
    except Exception as error:
        event.problem = f"{type(error).__name__}: {error}"
    event.ended = time.time()
    event.began = event.began or event.ended
    site.faults.append(event.ended)


def _kind(name: str) -> Callable[[Strike], Strike]:
    def enter(function: Strike) -> Strike:
        STRIKES[name] = function
        return function

    return enter


# Processes


def _choose(find: Callable[[], list[Any]], pick: Random) -> Any:
    """Wait until there are possible victims, and return a random one. Raises TimeoutError."""
    until = time.monotonic() + VICTIM_WITHIN
    while not (victims := sorted(find(), key=lambda victim: victim[0])):
        if time.monotonic() > until:
            raise TimeoutError("no process there that may be hit")
        time.sleep(0.2)
    return pick.choice(victims)


def _find_holders(site: Site) -> list[tuple[str, psutil.Process]]:
    """Return the processes that hold items; if none does, those that may claim items."""
    holders = site.up.holders()
    return [holder for holder in holders if _count_held(site, [holder[1].pid])] or holders


def _count_held(site: Site, pids: list[int]) -> int:
    """Count the items that these processes hold."""
    return site.ask(
        "SELECT count(*) FROM item i JOIN worker_session w ON w.id = i.session "
        "WHERE i.state = 'claimed' AND w.ended_at IS NULL AND w.pid = ANY(:pids)",
        pids=pids,
    )


def _family(process: psutil.Process) -> list[int]:
    with suppress(*GONE):
        return [process.pid, *(child.pid for child in process.children(recursive=True))]
    return []


@_kind("kill")
def kill(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    """Kill a child of a Celery worker, or a child of `lumos up` if it may die once more."""
    with _choice_lock:
        is_own_child = pick.random() < 0.4
        role, victim = _choose(lambda: (is_own_child and site.up.children()) or _find_holders(site), pick)
        site.up.record_death(role)
    event.lost = _count_held(site, _family(victim))
    event.victim, event.hit, event.began = f"{role} {victim.pid}", event.lost > 0, time.time()
    with suppress(*GONE):
        victim.kill()


@_kind("freeze")
def freeze(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    with _choice_lock:
        role, victim = _choose(lambda: _find_holders(site), pick)
        site.up.frozen.add(victim.pid)
    try:
        event.lost = _count_held(site, [victim.pid])
        event.victim, event.hit, event.began = f"{role} {victim.pid}", event.lost > 0, time.time()
        with suppress(*GONE):
            victim.suspend()
        time.sleep(fault.seconds * LEASE)
    finally:
        with suppress(*GONE):
            victim.resume()
        site.up.frozen.discard(victim.pid)


@_kind("term")
def term(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    """Send SIGTERM to a worker. `lumos up` starts another one."""
    with _choice_lock:
        workers = (*HOLDING, "dispatcher")
        role, victim = _choose(lambda: [child for child in site.up.children() if child[0] in workers], pick)
        site.up.record_death(role)
    event.lost = _count_held(site, _family(victim))
    event.victim, event.hit, event.began = f"{role} {victim.pid}", event.lost > 0, time.time()
    with suppress(*GONE):
        victim.terminate()
    until = time.monotonic() + TERM_GIVEN_UP
    while not is_gone(victim) and time.monotonic() < until:
        time.sleep(0.05)
    event.note = f"{time.time() - event.began:.1f} s"
    until = time.monotonic() + VICTIM_WITHIN
    while not any(name == role and process.pid != victim.pid for name, process in site.up.processes()):
        if time.monotonic() > until:
            event.problem = f"{role} was not started again"
            return
        time.sleep(0.1)


# Links


def _link(name: str, mode: Any) -> Strike:
    def strike_link(site: Site, fault: Fault, event: Event, pick: Random) -> None:
        if name == "endpoint":
            replicas = _choose_replicas(site, pick)
            links = [replica.link for replica in replicas]
            event.endpoints = [replica.endpoint.port for replica in replicas]
            event.victim = _name_replicas(site, replicas)
        else:
            links, event.victim = [site.links[name]], name
        with _VictimLocks([f"link {link.port}" for link in links]):
            event.hit = _has_work(site, event)
            event.began = time.time()
            for link in links:
                link.mode = mode
            time.sleep(fault.seconds)
            for link in links:
                link.mode = "pass"

    return strike_link


for _name in LINKS:
    for _mode in MODES:
        STRIKES[f"{_name} {_mode}"] = _link(_name, _mode)


class _VictimLocks:
    """Locks of several victims, taken in one order."""

    def __init__(self, names: list[str]):
        self._names = sorted(names)

    def __enter__(self) -> None:
        for name in self._names:
            _locks[name].acquire()

    def __exit__(self, *_: object) -> None:
        for name in reversed(self._names):
            _locks[name].release()


def _has_work(site: Site, event: Event) -> bool:
    if event.endpoints:
        return any(
            count_in_flight(endpoint) for endpoint in site.endpoint.endpoints if endpoint.port in event.endpoints
        )
    return bool(site.ask("SELECT count(*) FROM item WHERE state = 'claimed'"))


# Model servers


def _choose_replicas(site: Site, pick: Random) -> list[Replica]:
    """Choose one replica, all replicas of a stream, or all replicas."""
    stream = pick.choice(site.streams)
    all_replicas = [replica for campaign_stream in site.streams for replica in campaign_stream.replicas]
    return pick.choice([[pick.choice(stream.replicas)], stream.replicas, all_replicas])


def _name_replicas(site: Site, replicas: list[Replica]) -> str:
    names = {
        id(replica): f"{stream.kind.name}-{index}"
        for stream in site.streams
        for index, replica in enumerate(stream.replicas)
    }
    return " ".join(names[id(replica)] for replica in replicas)


def _treat(site: Site, fault: Fault, event: Event, pick: Random, mode: str) -> None:
    replicas = _choose_replicas(site, pick)
    event.victim, event.note = _name_replicas(site, replicas), mode
    event.endpoints = [replica.endpoint.port for replica in replicas]
    with _VictimLocks([f"endpoint {port}" for port in event.endpoints]):
        event.hit, event.began = _has_work(site, event), time.time()
        try:
            for replica in replicas:
                replica.endpoint.control(mode=mode)
            time.sleep(fault.seconds)
        finally:
            for replica in replicas:
                replica.endpoint.control(mode="ok")


@_kind("status")
def status(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    _treat(site, fault, event, pick, str(fault.status))


@_kind("lie")
def lie(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    _treat(site, fault, event, pick, "lying")


# The database


@_kind("read_only")
def read_only(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    with _VictimLocks(["server"]):
        event.victim, event.hit, event.began = "database", _has_work(site, event), time.time()
        try:
            site.server("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
            time.sleep(fault.seconds)
        finally:
            _make_writable(site)


def _make_writable(site: Site) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            return site.server(
                "SET default_transaction_read_only = off",
                "ALTER SYSTEM RESET default_transaction_read_only",
                "SELECT pg_reload_conf()",
            )
        except ServerError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@_kind("full")
def full(site: Site, fault: Fault, event: Event, pick: Random) -> None:
    """Shrink the disk to its content: filling it would take memory."""
    assert site.disk
    with _VictimLocks(["disk"]):
        event.victim, event.hit, event.began = "disk", _has_work(site, event), time.time()
        until = time.monotonic() + fault.seconds
        try:
            while time.monotonic() < until:  # files that are deleted meanwhile make no room either
                with suppress(Exception):
                    site.resize_disk(psutil.disk_usage(str(site.disk)).used // 1024)
                time.sleep(0.2)
        finally:
            site.resize_disk(DISK * 1024)
