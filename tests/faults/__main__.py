"""Run the fault cases one after the other, and print the costs of each.

    python -m tests.faults [--only NAME] [--seed N] [--json FILE]

Exits with 1 when a case fails. Logs of the workers of a failed case stay in the folder that is printed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.faults import every  # noqa: F401 - registers the cases
from tests.faults.lab import CASES, Case, Lab
from tests.faults.result import Result, format_table
from tests.services import start_postgres, start_rabbitmq, start_redis

SERVERS = {"postgres": start_postgres, "redis": start_redis, "rabbitmq": start_rabbitmq}


def run(name: str, make: Case, lab: Lab) -> Result:
    """Run one case; an exception is a problem of its result."""
    began = time.monotonic()
    try:
        result = make(lab)
    except pytest.skip.Exception as reason:
        result = Result(skipped=True, notes=f"skipped: {reason}")
    except (Exception, pytest.fail.Exception) as error:
        traceback.print_exc()
        result = Result(problems=[f"{type(error).__name__}: {error}"], seconds=round(time.monotonic() - began, 1))
    result.case = name
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="cases whose name contains this; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--json", type=Path, default=Path(".lumos/faults.json"), help="where to write the table as JSON"
    )
    options = parser.parse_args()
    cases = {
        name: make for name, make in CASES.items() if not options.only or any(part in name for part in options.only)
    }
    if not cases:
        parser.error("no such case; there are: " + "; ".join(CASES))
    folder, results = Path(tempfile.mkdtemp(prefix="lumos-faults-")), []
    with ExitStack() as stack:
        lab = Lab(folder, options.seed, cache(lambda name: stack.enter_context(SERVERS[name]())))
        for name, make in cases.items():
            results.append(run(name, make, lab))
            cells = results[-1].cells()
            print(f"{cells[-1]}  {name}  ({cells[-2]} s)", flush=True)
    print("\n" + format_table(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([result.as_json() for result in results], indent=1, default=str))
    if all(result.passed for result in results):
        shutil.rmtree(folder)
        return 0
    print(f"\nlogs: {folder}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
