"""A few rows of each benchmark in its original form, written for the tests, and the options to read them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.image_files import honest
from tests.sql_shop import make_databases

ROWS = 6  #: of each file, by default
HTML = """<html backend_node_id="1"><body backend_node_id="2"><a backend_node_id="3"><text>Hats</text></a>
<a backend_node_id="4"><text>Shoes</text></a><input backend_node_id="5" type="search" name="colour"/>
<select backend_node_id="6" name="size"><option><text>M</text></option></select></body></html>"""
FACES = ["cat", "dog", "owl", "bat"]


def write_originals(folder: Path, rows: int = ROWS) -> dict[str, list[str]]:
    """By name of the benchmark or source: the options of the command line that read its file, which lies in `folder`.

    Numbers and names differ from row to row, so that no two prompts are the same.
    """
    files = {
        "gsm8k": ("gsm8k.jsonl", "\n".join(json.dumps(_gsm8k(number)) for number in range(rows))),
        "svamp": ("svamp.json", json.dumps([_svamp(number) for number in range(rows)])),
        "mawps": ("mawps.csv", _mawps(rows)),
        "asdiv": ("asdiv.xml", _asdiv(rows)),
        "strategyqa": ("strategyqa.json", json.dumps([_strategyqa(number) for number in range(rows)])),
        "hotpotqa": ("hotpotqa.json", json.dumps([_hotpotqa(number) for number in range(rows)])),
        "musique": ("musique.jsonl", "\n".join(json.dumps(_musique(number)) for number in range(rows))),
        "mind2web": ("mind2web.json", json.dumps([_mind2web(number) for number in range(rows)])),
        "aokvqa": ("aokvqa.json", json.dumps([_aokvqa(number) for number in range(rows)])),
        "scienceqa": ("problems.json", json.dumps({str(number): _scienceqa(number) for number in range(rows)})),
        "superni": ("superni.json", json.dumps(_superni(rows))),
        "intercode_sql": ("intercode.json", json.dumps([_intercode(number) for number in range(rows)])),
        "prm800k": ("prm800k.jsonl", "\n".join(json.dumps(_prm800k(number)) for number in range(rows))),
        "spider": ("spider/spider.json", json.dumps([_spider(number) for number in range(rows)])),
    }
    (folder / "spider").mkdir(parents=True)
    (folder / "databases").mkdir()
    databases = make_databases(folder / "databases")
    options = {}
    for name, (file, text) in files.items():
        (folder / file).write_text(text, encoding="utf-8")
        options[name] = ["--data", str(folder / file)]
    (folder / "pid_splits.json").write_text(json.dumps({"test": [str(number) for number in range(rows)]}))
    (folder / "spider" / "tables.json").write_text(json.dumps(_tables()))
    pictures, captions = folder / "pictures", {}
    for number in range(rows):
        for path in (pictures / f"{number:012d}.png", folder / "images" / "test" / str(number) / "image.png"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(honest(size=(6 + number, 4)))
        captions[number] = f"An animal sits on mat {number}."
    options["aokvqa"] += ["--option", f"images={pictures}"]
    options["intercode_sql"] += ["--tool", f"databases={databases}"]
    return options


def words(command: str, folder: Path, paths: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of a command of `lumos`. FILES are the options that read the file of the named benchmark.

    `paths` has the replacements of other words in capitals, alone or after a `=`.
    """
    files = write_originals(folder / "files")
    _, name, *_ = parts = command.split(" ")
    for word in parts:
        if word == "FILES":
            yield from files.get(name, ())
            continue
        role, _, path = word.rpartition("=")
        yield f"{role}={paths[path]}" if role and path in paths else paths.get(word, word)


def _gsm8k(number: int) -> dict:
    total, ate = 12 + number, 3 + number % 3
    return {
        "question": f"Ida baked {total} tarts in each of 4 hours and ate {ate} of them. How many tarts are left?",
        "answer": f"Ida baked {total}*4 = <<{total}*4={total * 4}>>{total * 4} tarts.\n"
        f"There are {total * 4}-{ate} = <<{total * 4}-{ate}={total * 4 - ate}>>{total * 4 - ate} left.\n"
        f"#### {total * 4 - ate}",
    }


def _svamp(number: int) -> dict:
    return {
        "ID": f"x-{number}",
        "Body": f"A kite costs {40 + number} dollars. It gets 13 dollars cheaper.",
        "Question": "How much does it cost now?",
        "Equation": f"( {40 + number}.0 - 13.0 )",
        "Answer": 27.0 + number,
        "Type": "Subtraction",
    }


def _mawps(count: int) -> str:
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["Question", "Numbers", "Equation", "Answer"])
    for number in range(count):
        question = "A rope is number0 metres long . How long are number1 ropes ?"
        rows.writerow([question, f"2.5 {number + 2}.0", "* number0 number1", 2.5 * (number + 2)])
    return file.getvalue()


def _asdiv(count: int) -> str:
    problems = "".join(
        f'<Problem ID="x-{number}" Grade="1" Source="none"><Body>There are {number + 6} grey and 2 white cats.</Body>'
        f"<Question>How many cats are there?</Question><Solution-Type>Addition</Solution-Type>"
        f"<Answer>{number + 8} (cats)</Answer><Formula>{number + 6}+2={number + 8}</Formula></Problem>"
        for number in range(count)
    )
    body = f"<Machine-Reading-Corpus-File><ProblemSet>{problems}</ProblemSet></Machine-Reading-Corpus-File>"
    return f'<?xml version="1.0" encoding="UTF-8"?>{body}'


def _strategyqa(number: int) -> dict:
    return {
        "qid": f"s{number}",
        "term": f"Ann {number}",
        "question": f"Could Ann {number} have met Bob {number}?",
        "answer": bool(number % 2),
        "facts": [f"Ann {number} died in 18{number}0.", f"Bob {number} was born in 1845."],
        "decomposition": [f"When did Ann {number} die?", f"When was Bob {number} born?", "Is #2 before #1?"],
        "evidence": [[[["Ann-3"]], [["Bob-1", "Bob-2"]], ["operation"]]],
    }


def _hotpotqa(number: int) -> dict:
    return {
        "_id": f"h{number}",
        "question": f"What is sold by the firm that Ann Berg {number} led?",
        "answer": "ink",
        "supporting_facts": [[f"Acme {number}", 0], [f"Ann Berg {number}", 1], [f"Acme {number}", 2]],
        "context": [
            ["Other", ["No."]],
            [f"Acme {number}", [f"Acme {number} is in Oslo.", "It is old.", " It sells ink."]],
            [f"Ann Berg {number}", ["Ann is a poet.", f"She led Acme {number}."]],
        ],
    }


def _musique(number: int) -> dict:
    return {
        "id": f"2hop__{number}_2",
        "question": f"Where was the founder of Acme {number} born?",
        "answer": "Oslo",
        "answerable": True,
        "answer_aliases": ["Kristiania"],
        "paragraphs": [
            {
                "idx": 0,
                "title": f"Acme {number}",
                "paragraph_text": f"Acme {number} was founded by Ann Berg {number}.",
                "is_supporting": True,
            },
            {
                "idx": 1,
                "title": f"Ann Berg {number}",
                "paragraph_text": f"Ann Berg {number} was born in Oslo.",
                "is_supporting": True,
            },
        ],
        "question_decomposition": [
            {"question": f"Acme {number} >> founded by", "answer": f"Ann Berg {number}", "paragraph_support_idx": 0},
            {"question": "The town in which #1 was born?", "answer": "Oslo", "paragraph_support_idx": 1},
        ],
    }


def _mind2web(number: int) -> dict:
    def page(node: int, op: str, value: str) -> dict:
        elements = {
            number: {
                "tag": "a",
                "attributes": json.dumps({"backend_node_id": str(number)}),
                "backend_node_id": str(number),
            }
            for number in (3, 4, 5, 6)
        }
        return {
            "cleaned_html": HTML,
            "operation": {"op": op, "value": value},
            "pos_candidates": [elements[node] | {"rank": 0}],
            "neg_candidates": [candidate for name, candidate in elements.items() if name != node],
        }

    return {
        "annotation_id": f"w{number}",
        "website": "acme",
        "confirmed_task": f"Buy {number} red hats",
        "action_reprs": ["[link]  Hats -> CLICK", "[searchbox]  Colour -> TYPE: red", "[combobox]  Size -> SELECT: M"],
        "actions": [page(3, "CLICK", ""), page(5, "TYPE", "red"), page(6, "SELECT", "M")],
    }


def _aokvqa(number: int) -> dict:
    return {
        "split": "val",
        "image_id": number,
        "question_id": f"q{number}",
        "question": f"What is on mat {number}?",
        "correct_choice_idx": number % 4,
        "choices": FACES,
        "rationales": [f"A {FACES[number % 4]} sits on mat {number}.", f"It is a {FACES[number % 4]}.", "It sleeps."],
    }


def _scienceqa(number: int) -> dict:
    return {
        "question": f"Which animal in box {number} is a bird?",
        "choices": FACES,
        "answer": 2,
        "hint": f"Birds have feathers; box {number} has four animals.",
        "image": "image.png",
        "split": "test",
        "subject": "natural science",
    }


def _superni(count: int) -> dict:
    return {
        "Definition": ["Say which animal is meant."],
        "Categories": ["Naming"],
        "Instances": [
            {"id": f"x-{number}", "input": f"Animal {number} barks.", "output": ["A dog", "dog"]}
            for number in range(count)
        ],
    }


def _intercode(number: int) -> dict:
    return {
        "db": "shop",
        "gold": f"SELECT name FROM hat WHERE price > {number} ORDER BY price LIMIT 1",
        "query": f"Which hat of more than {number} crowns is cheapest?",
        "hardness": "medium",
        "db_tables": {"hat": ["name", "price"]},
    }


def _prm800k(number: int) -> dict:
    return {
        "question": {
            "problem": f"What is ${number}+3$?",
            "ground_truth_answer": str(number + 3),
            "ground_truth_solution": f"Add:\n${number + 3}$",
        },
        "label": {},
    }


def _spider(number: int) -> dict:
    return {
        "db_id": "shop",
        "question": f"Which hats sold more than {number} times?",
        "query": "SELECT  T1.name ,  count(*) FROM hat AS T1 JOIN sale AS T2 ON T1.id = T2.hat_id "
        f"GROUP BY T1.name HAVING count(*) > {number}",
    }


def _tables() -> list[dict]:
    return [
        {
            "db_id": "shop",
            "table_names_original": ["hat", "sale"],
            "column_types": ["text", "number", "text", "number"],
            "column_names": [],
            "column_names_original": [[-1, "*"], [0, "id"], [0, "name"], [1, "hat_id"]],
        }
    ]
