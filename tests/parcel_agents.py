"""A small ToolBench data set in the six files, recorded answers to part of its calls, and scripted models for it.

Three questions a subset: where parcels P1, P2 and P3 are. Of P1 and P2 the answer is recorded. For control flow only.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from lumos_queue.benchmarks.toolbench.rows import FILES
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES, record
from tests.tool_judges import AGAIN, ANSWER, PAIR, TASK, find_answers, kind_of, label
from tests.tool_scripts import call, finish, give_up

NUMBERS = (1, 2, 3)


def write_queries(folder: Path) -> Path:
    """The folder of the six files, each with other `query_id`s."""
    folder.mkdir()
    for index, name in enumerate(FILES.values()):
        rows = [
            {
                "query_id": 10 * index + number,
                "query": f"Where is parcel P{number}? (case {index})",
                "api_list": [LATEST, OFFICES],
                "relevant APIs": [["Swift Post", "Latest"]],
            }
            for number in NUMBERS
        ]
        (folder / name).write_text(json.dumps(rows), encoding="utf-8")
    return folder


def write_records(path: Path) -> Path:
    records = [record(arguments={"parcelid": f"P{number}"}, response={"town": "Ombry"}) for number in (1, 2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
    return path


def number_of(prompt: str) -> int | None:
    """The parcel that a prompt asks about; None for a client's control."""
    numbers = re.findall(r"Where is parcel P(\d+)", prompt)
    return int(numbers[-1]) if numbers else None


def look_up(number: int) -> str:
    return call(LATEST_NAME, f"P{number} can be looked up.", parcelid=f"P{number}")


def policy(prompt: str) -> str | None:
    """Looks the parcel up once, and answers; gives up on P3."""
    number = number_of(prompt)
    if number is None:
        return None
    if "Observation" not in prompt:
        return look_up(number)
    return give_up() if number == 3 else finish("It is in Ombry." if number == 1 else "Sorry, nothing was found.")


def state_agent(prompt: str) -> str | None:
    """Router and state manager in one: P2 is looked up again, the first reply on P3 cannot be read.

    The records lie: that of P2, whose call is `ok`, is a failure, that of P3, of which nothing is recorded, a success.
    """
    number = number_of(prompt)
    if number is None:
        return None
    if "You record what" in prompt:
        if number == 2:
            return '{"status": "failure", "aim": "the town", "reason": "it is empty"}'
        return '{"status": "success", "aim": "the town", "answer": "Ombry"}'
    if number == 3 and "could not be read" not in prompt and "Results:\nnone" in prompt:
        return "Let me think."
    if "made before" in prompt or (f"- {LATEST_NAME}" in prompt and number != 2):
        return finish("It is in Ombry.")
    return look_up(number)


def judge(prompt: str) -> str | None:
    """Answers that name the town solve; of two runs the one that names it is better."""
    if "Request: " not in prompt:
        return None
    kind = kind_of(prompt)
    if kind == ANSWER:
        (answer,) = find_answers(prompt)
        return label("Solved" if "Ombry" in answer else "Unsolved")
    if kind == PAIR:
        first, second = ("Ombry" in answer for answer in find_answers(prompt))
        return label("Tie" if first == second else "First" if first else "Second")
    return label({AGAIN: "Solved", TASK: "Solvable"}[kind])
