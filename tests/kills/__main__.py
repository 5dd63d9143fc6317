"""`python -m tests.kills`: kill tool agents at each step of a search and at random instants of a job, and plans of
experts at random instants. Takes some minutes.

python -m tests.kills [--kills 50] [--episodes 100] [--expert-kills 20] [--seed 0] [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.kills.experts import kill_experts
from tests.kills.many import kill_often
from tests.kills.search import ROW, kill_at, make_recorded_search, prepare
from tests.recorded_search import answer_files


def kill_at_every_step(data: Path, folder: Path) -> bool:
    """Kill a search at each of its steps; return whether it had the same end each time and repeated no step."""
    content = dict(answer_files(data)).get(ROW)
    if content is None:
        print(f"no search of query {ROW} in {data}/toolbench/answer: give --data", file=sys.stderr)
        return False
    search = prepare(*make_recorded_search(content), "I3-inst", folder)
    began, failures = time.monotonic(), 0
    for step in range(search.steps):
        try:
            stored_steps, executed_steps, repeated_steps = kill_at(search, step)
            is_failure = (stored_steps, executed_steps, repeated_steps) != (step, search.steps - step, 0)
            problem = (
                f"stored {stored_steps}, carried out {executed_steps}, of them {repeated_steps} again"
                if is_failure
                else ""
            )
        except AssertionError as error:
            is_failure, problem = True, str(error).split("\n")[0]
        failures += is_failure
        if is_failure:
            print(f"killed at step {step}: {problem}")
    seconds = time.monotonic() - began
    print(f"search {ROW}: killed at each of {search.steps} steps, {failures} failures, {seconds:.0f} s")
    return not failures


def kill_at_random_instants(folder: Path, episodes: int, kills: int, seed: int) -> bool:
    began = time.monotonic()
    account = kill_often(folder, episodes, kills, seed, longest=1.5)
    print(f"random instants: {account}, {time.monotonic() - began:.0f} s")
    return not (account.repeated or account.different)


def kill_experts_at_random(folder: Path, kills: int, seed: int) -> bool:
    began = time.monotonic()
    account = kill_experts(folder, kills, seed, longest=1.0)
    print(f"plans of experts: {account}, {time.monotonic() - began:.0f} s")
    return not (account.repeated or account.different or account.orphans)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--expert-kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lumos-kills-") as folder:
        (search_folder := Path(folder) / "search").mkdir()
        sound = kill_at_every_step(options.data, search_folder)
        sound &= kill_at_random_instants(Path(folder), options.episodes, options.kills, options.seed)
        (experts_folder := Path(folder) / "experts").mkdir()
        sound &= kill_experts_at_random(experts_folder, options.expert_kills, options.seed)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
