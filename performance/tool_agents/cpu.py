"""CPU per model call of DFSDT and Sum2Act in one process on SQLite, beside a bare loop that sends the same prompts.

    python -m performance.tool_agents.cpu [--pairs 5] [--episodes 400] [--out build/tool_agents_cpu.json]

The bare loop is as in performance/ref.py: uvloop, aiohttp, orjson, each episode stored in one transaction. It has all
prompts beforehand: it reads no reply, keeps no transcript or state, and calls no tool, so the ratio is an upper bound.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lumos_queue.util.process import die_with_parent
from performance.processes import tree_cpu
from performance.statistics import Estimate, estimate

NAMES = ("dfsdt", "sum2act")
IN_FLIGHT, LATENCY = 64, 0.05  #: as scenario B of docs/performance.md
WARM = 64  #: episodes before the measurement begins
LIMIT = 1.3  #: of the ratio


@contextmanager
def server(replies: Path) -> Iterator[str]:
    """The address, HOST:PORT, of a model server that has these replies."""
    command = [sys.executable, "-m", "tests.fake_endpoint", "--latency", str(LATENCY), "--slots", str(IN_FLIGHT)]
    process = subprocess.Popen([*command, "--replies", str(replies)], stdout=subprocess.PIPE, text=True,
                               preexec_fn=die_with_parent)  # fmt: skip
    try:
        assert process.stdout
        yield f"127.0.0.1:{process.stdout.readline().split()[-1]}"
    finally:
        process.kill()
        process.wait()


def run(kind: str, name: str, address: str, folder: Path, episodes: int) -> dict[str, float]:
    """One run in a process of its own: model calls and CPU seconds of what follows the warm-up."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--run", kind, "--name", name]
    command += ["--address", address, "--folder", str(folder), "--episodes", str(episodes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=die_with_parent)
    if done.returncode:
        raise RuntimeError(f"{kind} {name}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def work(kind: str, name: str, address: str, folder: Path, episodes: int) -> dict[str, float]:
    """What the process does."""
    if kind == "ref":
        from performance.tool_agents.bare import solve

        texts = json.loads((folder / f"{name}.json").read_text())
        url = f"http://{address}/generate"
        with TemporaryDirectory(dir=folder) as place:
            asyncio.run(solve(url, texts[:WARM], Path(place) / "warm.db", IN_FLIGHT))
            before = tree_cpu(os.getpid())
            calls = asyncio.run(solve(url, texts[WARM:], Path(place) / "work.db", IN_FLIGHT))
            return {"calls": calls, "cpu": tree_cpu(os.getpid()) - before}
    from performance.tool_agents.embedded import Embedded, questions, rows_of

    rows = rows_of(questions(WARM, episodes))
    with TemporaryDirectory(dir=folder) as place:
        own = Embedded(Path(place), name, f"tgi://{address}", IN_FLIGHT)
        own.solve(rows_of(questions(0, WARM)))
        before = tree_cpu(os.getpid())
        calls = own.solve(rows)
        return {"calls": calls, "cpu": tree_cpu(os.getpid()) - before}


def measure(name: str, pairs: int, episodes: int, folder: Path) -> tuple[Estimate, list[dict[str, Any]]]:
    """The ratio of CPU per call, from interleaved pairs."""
    from performance.tool_agents.embedded import write_prompts

    write_prompts(name, episodes, folder)
    found = []
    with server(folder / f"{name}.replies.json") as address:
        for pair in range(pairs):
            kinds = ("own", "ref") if pair % 2 else ("ref", "own")
            done = {kind: run(kind, name, address, folder, episodes) for kind in kinds}
            if done["own"]["calls"] != done["ref"]["calls"]:
                raise RuntimeError(f"{name}: {done['own']['calls']} calls beside {done['ref']['calls']}")
            found.append({kind: 1000 * one["cpu"] / one["calls"] for kind, one in done.items()})
            print(f"{name} {pair + 1}: ms of CPU per call: own {found[-1]['own']:.3f}, ref {found[-1]['ref']:.3f}, "
                  f"ratio {found[-1]['own'] / found[-1]['ref']:.2f}", flush=True)  # fmt: skip
    return estimate([one["own"] / one["ref"] for one in found]), found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="CPU per model call of tool agents, beside a bare loop.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("build/tool_agents_cpu.json"))
    for name in ("--run", "--name", "--address", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        print(json.dumps(work(options.run, options.name, options.address, Path(options.folder), options.episodes)))
        return
    results = {}
    with TemporaryDirectory(prefix="lumos-tool-agents-") as folder:
        for name in NAMES:
            ratio, found = measure(name, options.pairs, options.episodes, Path(folder))
            results[name] = {"median": ratio.median, "low": ratio.low, "high": ratio.high, "pairs": found}
            print(f"{name}: own / ref {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}], wanted ≤ {LIMIT}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
