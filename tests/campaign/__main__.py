"""An hour of random faults against `lumos up`, which may cost only time and a bounded number of calls.

    python -m tests.campaign [--minutes 60] [--seed N] [--only KIND] [--json FILE]

Three streams of jobs always have pending items. The campaign needs root (it mounts a small disk), PostgreSQL and Redis.
A shorter campaign has fewer faults of each kind, at least one. Exits with 1 when anything fails; the logs and the
schedule of a failed campaign stay in the folder that is printed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.campaign.account import account, as_json, judge_faults, judge_memory, write_kind_table
from tests.campaign.ending import end
from tests.campaign.schedule import EACH, HOUR, KINDS, Fault, count_kinds, schedule
from tests.campaign.schedule import as_json as schedule_as_json
from tests.campaign.site import Site
from tests.campaign.strikes import Event, strike
from tests.campaign.watch import Feeder, Memory, wait_until_done
from tests.faults.result import format_table

SETTLE_SECONDS = 1500.0  #: for the pending items after the last fault: an item may wait for minutes after deaths
TASKS_A_MINUTE = 300  #: of one stream, at most


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=HOUR)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", metavar="KIND", help="kinds whose name contains this")
    parser.add_argument("--json", type=Path, default=Path(".lumos/campaign.json"))
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if not options.only or any(part in kind for part in options.only)]
    if not kinds:
        parser.error("no such kind; there are: " + "; ".join(KINDS))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="lumos-campaign-"))
    faults = schedule(options.seed, options.minutes, kinds)
    (folder / "schedule.json").write_text(json.dumps(schedule_as_json(faults), indent=1))
    _introduce(options.seed, options.minutes, faults, folder)
    tasks = int(TASKS_A_MINUTE * max(options.minutes, 2.0))
    with Site(folder, options.seed, tasks, disk="full" in kinds) as site:
        report = _campaign(site, faults, options.minutes)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(
        json.dumps({"seed": options.seed, "minutes": options.minutes, **report}, indent=1, default=str)
    )
    if report["problems"]:
        print(f"\nlogs and schedule: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _introduce(seed: int, minutes: float, faults: list[Fault], folder: Path) -> None:
    print(f"seed {seed}, {minutes:g} minutes, {len(faults)} faults; schedule: {folder / 'schedule.json'}")
    if minutes < HOUR:
        fewest = min(count_kinds(faults).values())
        print(f"shorter than an hour: of some kinds only {fewest} faults instead of {EACH}")
    sys.stdout.flush()


def _campaign(site: Site, faults: list[Fault], minutes: float) -> dict:
    feeder, memory, problems = Feeder(site), Memory(site), []
    feeder.start()
    memory.start()
    events, ups = _bring_about(site, faults, minutes)
    feeder.submitting = False
    settling = wait_until_done(site, SETTLE_SECONDS)
    feeder.stop()
    result = account(site, events)
    problems += ups + judge_faults(events, minutes, count_kinds(faults))
    memory.stop()
    terms, late = end(site, events)
    problems += late + judge_memory(memory.most)
    if feeder.problem:
        problems.append(f"a stream was not fed: {feeder.problem}")
    dry = sum(feeder.dry.values())
    if dry > feeder.looks // 100:
        problems.append(f"streams owed nothing at {dry} of {feeder.looks} looks")
    result.problems += problems
    print("\n" + write_kind_table(events) + "\n\n" + format_table([result]) + "\n")
    print("resident memory, MB: " + ", ".join(f"{role} {size / 2**20:.0f}" for role, size in memory.most.items()))
    print(f"TERM, seconds: {', '.join(f'{seconds:.1f}' for seconds in terms)}")
    print(
        f"streams owed nothing at {dry} of {feeder.looks} looks; {settling:.0f} s from the last fault to the last job"
    )
    return as_json(result, events, memory=dict(memory.most), terms=terms, dry=dict(feeder.dry), settled=settling)


def _bring_about(site: Site, faults: list[Fault], minutes: float) -> tuple[list[Event], list[str]]:
    """Bring about all faults, each in its own thread; return the events, and the ends of `lumos up` as problems."""
    began, pending, events, threads, problems = time.monotonic(), list(faults), [], [], []
    while pending or time.monotonic() - began < minutes * 60.0 or any(thread.is_alive() for thread in threads):
        now = time.monotonic() - began
        while pending and pending[0].at <= now:
            fault = pending.pop(0)
            events.append(event := Event(fault.kind, fault.at))
            threads.append(threading.Thread(target=_strike_and_tell, args=(site, fault, event), daemon=True))
            threads[-1].start()
        if not site.up.alive:
            problems.append(f"`lumos up` ended after {now:.0f} s:\n{site.up.last_lines()}")
            print(problems[-1], flush=True)
            site.up.start()
        time.sleep(0.1)
    return events, problems


def _strike_and_tell(site: Site, fault: Fault, event: Event) -> None:
    strike(site, fault, event)
    hit = "work in flight" if event.hit else "no work"
    print(
        f"{fault.at:7.1f} s  {fault.kind:<20} {event.victim}  {event.ended - event.began:.1f} s, {hit}  "
        f"{event.note} {event.problem}".rstrip(),
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
