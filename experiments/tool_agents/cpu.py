"""CPU per model call of DFSDT and Sum2Act in one process on SQLite, beside bare loops that send the same prompts.

    python -m experiments.tool_agents.cpu [--pairs 5] [--episodes 664] [--out build/tool_agents_cpu.json]

`ref` runs the same two methods as lean scripts (scripts.py) in the bare loop (bare.py): it reads questions and replies,
looks recorded answers up, writes its prompts and stores calls and actions. `sent` is the same loop with all prompts
beforehand: it reads nothing and calls no tool.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lumos_queue.util.process import die_with_parent
from performance.processes import tree_cpu
from performance.statistics import estimate

NAMES = ("dfsdt", "sum2act")
KINDS = ("own", "ref", "sent")
IN_FLIGHT, LATENCY = 64, 0.05  #: as scenario B of docs/performance.md
WARM = 64  #: episodes before the measurement begins; then, by default, 600: as many as ToolBench's queries
LIMIT = 1.3  #: of the ratio


@contextmanager
def server(replies: Path) -> Iterator[str]:
    """The address, HOST:PORT, of a model server that has these replies."""
    command = [sys.executable, "-m", "tests.fake_endpoint", "--latency", str(LATENCY), "--slots", str(IN_FLIGHT)]
    process = subprocess.Popen(
        [*command, "--replies", str(replies)], stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
    )
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
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=die_with_parent)
    if process.returncode:
        raise RuntimeError(f"{kind} {name}: {(process.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return json.loads(process.stdout.splitlines()[-1])


def work(kind: str, name: str, address: str, folder: Path, episodes: int) -> dict[str, float]:
    """What the process does."""
    if kind != "own":
        return bare(kind, name, f"http://{address}/generate", folder, episodes)
    from experiments.tool_agents.product_run import Embedded, questions, rows_of

    rows = rows_of(questions(WARM, episodes))
    with TemporaryDirectory(dir=folder) as home:
        embedded = Embedded(Path(home), name, f"tgi://{address}", IN_FLIGHT)
        embedded.solve(rows_of(questions(0, WARM)))
        before = tree_cpu(os.getpid())
        calls = embedded.solve(rows)
        return {"calls": calls, "cpu": tree_cpu(os.getpid()) - before}


def bare(kind: str, name: str, url: str, folder: Path, episodes: int) -> dict[str, float]:
    """The same of the bare loop."""
    import orjson
    import uvloop

    from experiments.tool_agents.bare import begin, send, solve
    from experiments.tool_agents.product_run import answers, questions
    from experiments.tool_agents.scripts import SCRIPTS

    if kind == "sent":
        todo = [partial(send, prompts) for prompts in json.loads((folder / f"{name}.json").read_text())]
    else:
        api_answers, tasks = answers(), [question.task() for question in questions(0, episodes)]
        lines = [orjson.dumps([task.question, task.inputs["functions"]]) for task in tasks]
        todo = [partial(begin, SCRIPTS[name], line, api_answers) for line in lines]
    with TemporaryDirectory(dir=folder) as home:
        uvloop.run(solve(url, (begin_episode() for begin_episode in todo[:WARM]), Path(home) / "warm.db", IN_FLIGHT))
        before = tree_cpu(os.getpid())
        calls = uvloop.run(
            solve(url, (begin_episode() for begin_episode in todo[WARM:]), Path(home) / "work.db", IN_FLIGHT)
        )
        return {"calls": calls, "cpu": tree_cpu(os.getpid()) - before}


def measure(name: str, pairs: int, episodes: int, folder: Path) -> dict[str, Any]:
    """Milliseconds of CPU per call of each round, and the ratios of own to each bare loop."""
    from experiments.tool_agents.product_run import write_prompts

    write_prompts(name, episodes, folder)
    rounds: list[dict[str, float]] = []
    with server(folder / f"{name}.replies.json") as address:
        for pair in range(pairs):
            runs = {kind: run(kind, name, address, folder, episodes) for kind in KINDS[:: 1 if pair % 2 else -1]}
            if len({figures["calls"] for figures in runs.values()}) > 1:
                raise RuntimeError(f"{name}: not the same calls: {runs}")
            rounds.append({kind: 1000 * figures["cpu"] / figures["calls"] for kind, figures in runs.items()})
            summary = ", ".join(f"{kind} {value:.3f}" for kind, value in sorted(rounds[-1].items()))
            print(f"{name} {pair + 1}: ms of CPU per call: {summary}", flush=True)
    ratios = {kind: estimate([costs["own"] / costs[kind] for costs in rounds]) for kind in KINDS[1:]}
    return {"rounds": rounds} | {f"own / {kind}": asdict(ratio) for kind, ratio in ratios.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="CPU per model call of tool agents, beside bare loops.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=WARM + 600)
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
            results[name] = measure(name, options.pairs, options.episodes, Path(folder))
            for kind, target in (("ref", f", wanted ≤ {LIMIT}"), ("sent", "")):
                ratio = results[name][f"own / {kind}"]
                print(f"{name}: own / {kind} {ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]{target}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
