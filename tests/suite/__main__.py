"""`python -m tests.suite FOLDER`: print how a run spent its time, from the records of `pytest --times FOLDER`.

Seconds are worker seconds: three workers spend three of them in each second. `make test-times` records a run and calls
this.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.suite.costs import Costs, read_costs
from tests.suite.schedule import FILE

ROWS = 30  #: of each table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--write", action="store_true", help=f"also store the times that the schedule uses: {FILE.name}"
    )
    options = parser.parse_args()
    costs = read_costs(options.folder)
    if not costs.tests:
        parser.error(f"{options.folder} has no records of tests: run pytest with --times={options.folder} first")
    print_tables(costs)
    if options.write:
        write_times(costs)


def print_tables(costs: Costs) -> None:
    """Print shares, folders, and the slowest files, tests and fixtures."""
    print(f"{len(costs.tests)} tests, {costs.seconds:.0f} s of {costs.workers} workers, {costs.processor:.0f} CPU s\n")
    print("seconds  share  kind")
    for kind, seconds in costs.shares.items():
        print(f"{seconds:7.0f}  {seconds / costs.seconds:5.1%}  {kind}")
    for title, values in (
        ("folder", costs.folders),
        ("file", costs.files),
        ("test", costs.tests),
        ("fixture", costs.fixtures),
    ):
        print(f"\nseconds  {title}")
        for name, seconds in sorted(values.items(), key=lambda entry: -entry[1])[:ROWS]:
            print(f"{seconds:7.1f}  {name}")


def write_times(costs: Costs) -> None:
    """Store the seconds of each file, and which files use torch."""
    seconds = {file: round(seconds, 1) for file, seconds in sorted(costs.files.items())}
    FILE.write_text(json.dumps({"seconds": seconds, "torch": sorted(costs.torch)}, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
