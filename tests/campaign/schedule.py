"""The schedule of a campaign, which depends on its seed alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

HOUR = 60.0  #: minutes of a full campaign
EACH = 20  #: faults of each kind in a full campaign, at least
QUIET_BEFORE, QUIET_AFTER = 15.0, 20.0  #: seconds at the beginning and the end without a new fault
LINKS = ("database", "endpoint", "broker")
MODES = ("drop", "delay", "cut", "black_hole")  #: tests/tcp_proxy.py

#: kind: how long it lasts, in seconds. A kill is over at once; how long a TERM takes is measured.
SECONDS: dict[str, tuple[float, float]] = {
    "kill": (0.0, 0.0),
    "freeze": (1.0, 3.0),  # leases, not seconds
    "term": (0.0, 0.0),
    "status": (0.5, 5.0),
    "lie": (1.0, 10.0),
    "read_only": (1.0, 8.0),
    "full": (1.0, 8.0),
    **{f"{link} {mode}": (0.5, 6.0) for link in LINKS for mode in MODES},
}
KINDS = tuple(SECONDS)
MORE = {"status": 3}  #: factor of the number of these faults: there are 300 statuses
LONG_STATUS = 20.0  #: seconds that every tenth status may last
USUAL_STATUSES = (
    301,
    302,
    307,
    400,
    401,
    403,
    404,
    405,
    408,
    409,
    410,
    413,
    418,
    422,
    425,
    429,
    451,
    500,
    501,
    502,
    503,
    504,
    520,
    529,
    530,
)


@dataclass(frozen=True)
class Fault:
    kind: str
    at: float  #: seconds after the campaign's first minute begins
    seconds: float  #: how long it lasts (`freeze`: in leases)
    seed: int  #: chooses among the possible victims
    status: int = 0  #: of the kind `status`

    def pick(self) -> random.Random:
        return random.Random(self.seed)


def count_planned(kind: str, minutes: float) -> int:
    """Return the number of faults of a kind in a campaign of so many minutes."""
    return max(1, round(EACH * MORE.get(kind, 1) * minutes / HOUR))


def schedule(seed: int, minutes: float, kinds: Iterable[str] = KINDS) -> list[Fault]:
    """Return faults in the order of their times, which are random: some come together, and there are pauses."""
    pick = random.Random(f"campaign {seed} {minutes}")
    planned_kinds = [kind for kind in kinds for _ in range(count_planned(kind, minutes))]
    pick.shuffle(planned_kinds)
    end = max(QUIET_BEFORE + 1.0, minutes * 60.0 - QUIET_AFTER)
    moments = sorted(pick.uniform(QUIET_BEFORE, end) for _ in planned_kinds)
    return [_fault(kind, moment, pick) for kind, moment in zip(planned_kinds, moments, strict=True)]


def _fault(kind: str, moment: float, pick: random.Random) -> Fault:
    seconds, status = pick.uniform(*SECONDS[kind]), 0
    if kind == "status":
        status = pick.choice(USUAL_STATUSES) if pick.random() < 0.5 else pick.randint(300, 599)
        if pick.random() < 0.1:
            seconds = pick.uniform(SECONDS[kind][1], LONG_STATUS)
    return Fault(kind, round(moment, 2), round(seconds, 2), pick.randrange(2**32), status)


def as_json(faults: list[Fault]) -> list[dict]:
    return [asdict(fault) for fault in faults]


def count_kinds(faults: Iterable[Fault]) -> Counter[str]:
    return Counter(fault.kind for fault in faults)
