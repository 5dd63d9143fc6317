"""Let models give hostile replies in every domain, and print the endings of the episodes.

    python -m tests.fuzz [--domain NAME] [--episodes 60] [--seed N] [--minutes 5] [--held SECONDS]
                         [--data ../shared/data] [--json FILE]

Exits with 1 when an item did not end, ended by a fault of the infrastructure, or cannot be shown; when the process took
too much time or memory; or when one call held the interpreter or an event loop for longer than --held seconds. The
folder with the database, the replies and the stacks of a failed domain stays, and is printed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.fuzz.domains import DOMAINS
from tests.fuzz.run import Bounds, Outcome, run_domain

_HEAD = "domain         episodes  seconds   at work     shown  interpreter  event loop  endings"


def _line(outcome: Outcome) -> str:
    values = outcome.values
    endings = ", ".join(f"{many} {ending}" for ending, many in sorted(values.get("endings", {}).items()))
    work, shown = (f"{values.get('memory', {}).get(phase, 0) / 2**20:.0f} MiB" for phase in ("work", "shown"))
    gaps = f"{outcome.held('interpreter'):10.2f} s {outcome.held('loop'):9.2f} s"
    state = endings or "no result"
    return (
        f"{outcome.domain:14} {values.get('episodes', 0):8} {outcome.seconds:8.0f} {work:>9} {shown:>9} {gaps}  {state}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", action="append", choices=list(DOMAINS), help="may be given again; default: all")
    parser.add_argument("--episodes", type=int, default=60, help="of each domain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=5.0, help="that a domain may take")
    parser.add_argument("--held", type=float, default=2.0, help="seconds that one call may take; 0: do not judge")
    parser.add_argument("--memory", type=float, default=4.0, help="GiB that a domain may take")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of real rows")
    parser.add_argument("--json", type=Path, help="where to write the results as JSON")
    options = parser.parse_args()
    bounds = Bounds(60 * options.minutes, int(options.memory * 2**30), options.held or 1e9)
    folder, outcomes = Path(tempfile.mkdtemp(prefix="lumos-fuzz-")), []
    print(_HEAD, flush=True)
    for domain in options.domain or DOMAINS:
        outcomes.append(
            run_domain(domain, folder / domain, options.data.resolve(), options.episodes, options.seed, bounds)
        )
        print(_line(outcomes[-1]), flush=True)
        for reason in outcomes[-1].values.get("skipped", ()):
            print(f"    left out: {reason}", flush=True)
        for problem in outcomes[-1].violations:
            print("    " + problem.strip().replace("\n", "\n        "), flush=True)
        if not outcomes[-1].violations:
            shutil.rmtree(folder / domain)
    if options.json:
        results = [
            {"domain": outcome.domain, "violations": outcome.violations, **outcome.values} for outcome in outcomes
        ]
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if any(outcome.violations for outcome in outcomes):
        print(f"\ndatabases, replies and stacks: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
