"""How often the two rules of feasibility agree on random plans: by types, and as in OpenAGI's released code.

    python -m experiments.experts.rules [--plans 100]

A random plan is the gold plan of a task as a list of steps, with one to three random edits: a name is put in, left out,
replaced, repeated or moved. Plans are read as replies are. The seed is fixed.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter

from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.parsing import parse_plan
from lumos_queue.experts.released_feasibility import find_released_refusal

SEED = 51
COLUMNS = ("plans", "types", "released", "both", "only types", "only released", "of these repetitions")


def edit(names: list[str], rng: random.Random) -> list[str]:
    """Return the names after one random edit."""
    position, kind = rng.randrange(len(names)) if names else 0, rng.randrange(5)
    head, tail = names[:position], names[position + 1 :]
    if kind == 0 or not names:
        return [*names[:position], rng.choice(PLANNABLE), *names[position:]]
    if kind == 1:
        return [*head, *tail]
    if kind == 2:
        return [*head, rng.choice(PLANNABLE), *tail]
    if kind == 3:
        again = rng.randrange(position, len(names)) + 1
        return [*names[:again], names[position], *names[again:]]
    target = rng.randrange(len(names))
    rest = [*head, *tail]
    return [*rest[:target], names[position], *rest[target:]]


def count_verdicts(plans: int, seed: int = SEED) -> dict[str, Counter[str]]:
    """Return for each category of tasks the number of random plans by verdict, keyed by COLUMNS."""
    rng = random.Random(seed)
    counts: dict[str, Counter[str]] = {}
    for task in TASKS:
        counter = counts.setdefault(task.category, Counter())
        for _ in range(plans):
            names = list(task.plan.names)
            for _ in range(rng.randint(1, 3)):
                names = edit(names, rng)
            plan = parse_plan("\n".join(f"Step {n}: {name}," for n, name in enumerate(names, 1)), task.signature).plan
            by_types = not infeasible_because(plan, task.signature)
            as_released = not find_released_refusal(plan.names, task.id)
            counter["plans"] += 1
            counter["types"] += by_types
            counter["released"] += as_released
            counter["both"] += by_types and as_released
            counter["only types"] += by_types and not as_released
            counter["only released"] += as_released and not by_types
            is_repetition = not infeasible_because(plan, task.signature, strict=False)
            counter["of these repetitions"] += as_released and not by_types and is_repetition
    return counts


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description="compare the two rules of feasibility on random plans")
    parser.add_argument("--plans", type=int, default=100, help="random plans for each of the 185 tasks")
    counts = count_verdicts(parser.parse_args().plans)
    total: Counter[str] = sum(counts.values(), Counter())
    print(f"| category | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for name, counter in {**counts, "all": total}.items():
        print(f"| {name} | {' | '.join(f'{counter[column]:,}' for column in COLUMNS)} |")


if __name__ == "__main__":
    main()
