"""Split MAWPS for examples/loop.sh: `python loop_split.py DATA FOLDER`, where DATA holds mawps, asdiv and svamp.

`gold.csv`      rows the starter was trained on: round one learns their gold annotations again
`new.csv`       rows it never saw: the round tries them knowing the answers only
`held-out.csv`  rows it never saw: scored, never trained on

MAWPS is a single file. A hash of each question, with its numbers and names masked, decides its part: no two parts share
a masked question.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path

from lumos_queue.builds.heldout import mask
from lumos_queue.training.starter.data import StarterData, is_dev


def choose_part(question: str, learnt: set[str]) -> str:
    """Return the part of a question. `learnt`: the masked questions on which the starter was trained."""
    text = mask(question)
    if text in learnt:
        return "gold"
    return "held-out" if hashlib.sha256(text.encode()).digest()[0] % 2 else "new"


def main(data: Path, folder: Path) -> None:
    sources = StarterData(data)
    held_out_sets = sources.load_held_out().values()  # the starter was not trained on problems equal to these
    rows = list(sources.mawps_records())
    learnt = {
        mask(row["Question"])
        for row in rows
        if not is_dev(row["Question"]) and not any(row["Question"] in problems for problems in held_out_sets)
    }
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[dict[str, str]]] = {"gold": [], "new": [], "held-out": []}
    for row in rows:
        parts[choose_part(row["Question"], learnt)].append(row)
    for name, part_rows in parts.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(part_rows)
        print(f"MAWPS {name}: {len(part_rows)} rows", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
