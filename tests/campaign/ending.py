"""Check that processes end in time after SIGTERM."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.campaign.site import Site
from tests.campaign.up import is_gone
from workers.up import LEAVING_SECONDS

if TYPE_CHECKING:
    from tests.campaign.strikes import Event

SLACK = 1.0  #: seconds that a busy machine may add
OTHERS = 2.0  #: seconds more that a whole deployment may take (workers/up.py: its broker comes last)


def end(site: Site, events: Sequence[Event]) -> tuple[list[float], list[str]]:
    """Send SIGTERM to `lumos up`; return the seconds of each TERM, this one last, and the problems."""
    limit = site.settings.drain_seconds + LEAVING_SECONDS + SLACK
    terms = [event for event in events if event.kind == "term" and not event.problem]
    took = [float(event.note.removesuffix(" s")) for event in terms]
    problems = [
        f"TERM: {event.victim} took {seconds} s at {event.planned:.0f} s, at most {limit:g} are allowed"
        + f"; meanwhile: {_list_concurrent(event, events)}"
        for event, seconds in zip(terms, took, strict=True)
        if seconds > limit
    ]
    family, began = [process for _, process in site.up.processes()], time.monotonic()
    site.up.process.terminate()
    while time.monotonic() < began + 60 and (site.up.alive or not all(map(is_gone, family))):
        time.sleep(0.05)
    took.append(round(time.monotonic() - began, 1))
    if took[-1] > limit + OTHERS:
        problems.append(f"`lumos up` took {took[-1]} s to end, at most {limit + OTHERS:g} are allowed")
    remaining = [process for process in family if not is_gone(process)]
    if remaining:
        problems.append(f"{len(remaining)} processes are left after the end of `lumos up`")
    return took, problems


def _list_concurrent(event: Event, events: Sequence[Event]) -> str:
    """List the faults at the same time, or in the 5 seconds before."""
    concurrent_faults = [
        f"{fault.kind} ({fault.victim})"
        for fault in events
        if fault is not event and fault.began < event.ended and fault.ended > event.began - 5
    ]
    return ", ".join(concurrent_faults) or "nothing"
