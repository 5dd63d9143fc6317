"""Score the starter agent end to end: planner, grounder and executor, greedy decoding, both formulations.

    python performance/starter_scores.py --agent models/starter --data ../shared/data --out scores.json

The rules beside each score use no model. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from collections import Counter
from pathlib import Path

from lumos_queue.actions.registry import open_interface
from lumos_queue.agent import Agent
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.wordmath import generate
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.local import Local
from lumos_queue.episode import Result, Step, run_episode
from lumos_queue.errors import BadRow
from lumos_queue.formulations.registry import formulation
from lumos_queue.perform import Performer
from lumos_queue.records import Outcome, Task

#: name: (benchmark, file below the data folder, split, how many)
SETS = {
    "wordmath-new": ("wordmath", None, "train", 300),  # the families trained on, problems that are not
    "wordmath-dev": ("wordmath", None, "dev", 300),
    "wordmath-test": ("wordmath", None, "test", 300),
    "mawps-dev": ("mawps", "mawps/cv_mawps/fold0/train.csv", "train", None),
    "asdiv": ("asdiv", "asdiv/ASDiv.xml", "test", None),
    "svamp": ("svamp", "svamp/SVAMP.json", "test", None),
    "gsm8k": ("gsm8k", "gsm8k/test.jsonl", "test", 300),
}
IN_FLIGHT = 64  #: episodes
NEW_SEED = 1  #: training problems are drawn with seed 0


class NoJournal:
    """Nothing recorded, nothing kept."""

    def recorded(self, position: int, branch: int) -> tuple[str, Result] | None:
        return None

    def record(self, step: Step) -> None: ...


def tasks_of(name: str, data: Path, limit: int | None) -> tuple[list[Task], object]:
    """The tasks of a set in a fixed order, the benchmark too. A limit takes a random sample, always the same."""
    benchmark_name, file, split, count = SETS[name]
    benchmark = open_benchmark(benchmark_name)
    if name == "wordmath-new":
        return list(generate("train", min(limit or count, count), NEW_SEED)), benchmark
    found = benchmark.read(data / file if file else None, split)
    tasks = [task for task in found if not isinstance(task, BadRow)]
    if name == "mawps-dev":
        tasks = mawps_dev(tasks, data)
    count = min(limit or len(tasks), count or len(tasks), len(tasks))
    return (random.Random(0).sample(tasks, count) if count < len(tasks) else tasks), benchmark


def mawps_dev(tasks: list[Task], data: Path) -> list[Task]:
    """The rows that no fit has seen."""
    from lumos_queue.training.sources import Sources, is_dev

    sources = Sources(data)
    held_out = sources.held_out()
    rows = {
        str(number)
        for number, record in enumerate(sources.mawps_records(), 1)
        if is_dev(record["Question"]) and not any(record["Question"] in problems for problems in held_out.values())
    }
    return [task for task in tasks if task.row in rows]


async def outcomes(tasks: list[Task], agent: Agent, name: str, folder: Path) -> list[Outcome]:
    """Run every task; the order is that of the tasks."""
    endpoint, actions = Local(f"local:{folder}", folder), open_interface(agent.domain)
    performer = Performer({"planner": endpoint, "grounder": endpoint}, actions, agent.sampling, seed=0)
    turn = asyncio.Semaphore(IN_FLIGHT)

    async def one(task: Task) -> Outcome:
        async with turn:
            return await run_episode(formulation(name), task, agent, NoJournal(), performer.of_episode(task, 0))

    try:
        return await asyncio.gather(*map(one, tasks))
    finally:
        await endpoint.close()
        await actions.close()


def wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval for a proportion (E. B. Wilson 1927)."""
    part = right / total
    middle = (part + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(part * (1 - part) / total + z * z / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def score(set_name: str, formulation_name: str, folder: Path, data: Path, limit: int | None) -> dict:
    tasks, benchmark = tasks_of(set_name, data, limit)
    agent = Agent(
        roles={"planner": f"local:{folder}", "grounder": f"local:{folder}"},
        domain="maths",
        sampling=Sampling(max_tokens=256),
    )
    began = time.monotonic()
    ended = asyncio.run(outcomes(tasks, agent, formulation_name, folder))
    verdicts = [
        bool(benchmark.score(task, outcome.answer)[0].value) for task, outcome in zip(tasks, ended, strict=True)
    ]
    low, high = wilson(sum(verdicts), len(verdicts))
    rules = {rule: round(sum(right) / len(tasks), 4) for rule, right in benchmark.baselines([*tasks]).items()}
    return {
        "set": set_name,
        "formulation": formulation_name,
        "right": sum(verdicts),
        "n": len(tasks),
        "accuracy": round(sum(verdicts) / len(tasks), 4),
        "interval": [round(low, 4), round(high, 4)],
        "baselines": rules,
        "endings": dict(Counter(outcome.ending for outcome in ended)),
        "seconds": round(time.monotonic() - began, 1),
        "rows_right": [task.row for task, right in zip(tasks, verdicts, strict=True) if right],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agent", type=Path, required=True, help="model folder; one-pass uses its subfolder one-pass")
    parser.add_argument("--data", type=Path, required=True, help="folder with the published benchmark files")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--formulations", nargs="+", default=["iterative", "one-pass"])
    parser.add_argument("--limit", type=int, help="at most so many tasks of each set")
    parser.add_argument("--out", type=Path, help="also write the rows as JSON lines")
    options = parser.parse_args()
    for formulation_name in options.formulations:
        folder = options.agent if formulation_name == "iterative" else options.agent / "one-pass"
        for set_name in options.sets:
            row = score(set_name, formulation_name, folder, options.data, options.limit)
            if options.out:
                with options.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            print(json.dumps({key: value for key, value in row.items() if key != "rows_right"}), flush=True)


if __name__ == "__main__":
    main()
