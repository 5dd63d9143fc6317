"""Table 4 over several conversions of a source: every row counts once, and what is not comparable is named."""

from __future__ import annotations

import json

import pytest

from db.engine.connection import open_database
from lumos_queue.cli.main import main
from lumos_queue.papers.comparison import papers_tables
from lumos_queue.reports.json_values import as_json
from lumos_queue.row_origins.origins import STATED_REMARK
from lumos_queue.settings import read_settings


def row(number: int, right: bool = True) -> dict[str, str]:
    total = number + 3 if right else number + 4
    return {
        "question": f"A shelf holds {number} jars and 3 more are put on it. How many are there?",
        "answer": f"There are {number}+3=<<{number}+3={total}>>{total} jars.\n#### {total}",
    }


@pytest.fixture
def convert(tmp_path, monkeypatch, capsys):
    """Convert these rows of GSM8K by rule; returns the job's id."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))

    def run(*rows: dict[str, str], options: tuple[str, ...] = ()) -> str:
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        options = options if "--split" in options else ("--split", "train", *options)
        assert (
            main(["convert", "gsm8k", "--data", str(path), "--deterministic", "--published", "--json", *options]) == 0
        )
        return json.loads(capsys.readouterr().out.splitlines()[-1])["job"]

    return run


def shown(name: str = "maths: gsm8k") -> dict:
    database = open_database(read_settings().database)
    with database.engine.connect() as connection:
        (table,) = as_json(papers_tables(connection, ["4"]))
    database.close()
    return next(one for one in table["rows"] if one["row"] == name)


def figures(found: dict) -> tuple[str, int, int, int]:
    return tuple(found["ours"][name] for name in ("n", "value", "plan", "ground"))


def test_jobs_that_convert_halves_are_added_up(convert):
    first = convert(row(5), row(8, right=False), row(11))
    second = convert(row(14), row(17))
    found = shown()
    assert figures(found) == ("5", 4, 4, 4), "the wrong row is in the denominator"
    assert found["ours"]["job"] == f"{second}, {first}" and found["ours"]["turns"] == 2.0
    assert found["status"] == f"n differs: 5 of 7,473; {STATED_REMARK}"


def test_a_row_that_two_jobs_converted_counts_once_as_the_newest_judged_it(convert):
    convert(row(5), row(8), row(11))
    convert(row(5), {**row(8), "answer": row(8, right=False)["answer"]}, options=("--limit", "2"))
    assert figures(shown()) == ("3", 2, 2, 2)
    convert(row(5), row(8), row(11), row(14), options=("--perturbations", "2"))
    assert figures(shown()) == ("4", 4, 4, 4)


def test_a_row_whose_question_differs_in_white_space_counts_once(convert):
    """Readers left out white space in earlier versions."""
    convert(row(5), row(8))
    spaced = row(5)
    convert({**spaced, "question": spaced["question"].replace(" are ", "  are ")}, row(8))
    assert figures(shown()) == ("2", 2, 2, 2)


def test_equal_rows_of_one_file_are_rows_each(convert):
    convert(row(5), row(5), row(8))
    assert shown()["ours"]["n"] == "3"


def test_what_is_not_comparable_is_left_out_and_named(convert):
    dev = convert(row(5), options=("--split", "test"))
    found = shown()
    assert "ours" not in found
    assert found["status"] == f"not run: lumos convert gsm8k; left out: {dev} (split is test, not train)"
    train = convert(row(8))
    longer = convert(row(11), options=("--longest", "2000"))
    found = shown()
    assert (figures(found)[0], found["ours"]["job"]) == ("1", train)
    assert f"left out: {longer} (most_tokens is 2000, not 1024); {dev} (split is test, not train)" in found["status"]


def test_a_total_adds_up_what_its_sources_show(convert, tmp_path, capsys):
    convert(row(5))
    convert(row(8))
    asdiv = tmp_path / "asdiv.xml"
    asdiv.write_text(
        "<Machine-Reading-Corpus-File><ProblemSet><Problem ID='1' Grade='1' Source='x'><Body>Ann has 2 hats.</Body>"
        "<Question>How many with 3 more?</Question><Solution-Type>Addition</Solution-Type><Answer>5 (hats)</Answer>"
        "<Formula>2+3=5</Formula></Problem></ProblemSet></Machine-Reading-Corpus-File>"
    )
    assert main(["convert", "asdiv", "--data", str(asdiv), "--deterministic", "--published", "--json"]) == 0
    prm = tmp_path / "prm.jsonl"
    question = {"problem": "What is 2+3?", "ground_truth_answer": "5"}
    prm.write_text(json.dumps({"question": question, "label": {}}) + "\n")
    assert main(["convert", "prm800k", "--data", str(prm), "--deterministic", "--published", "--json"]) == 0
    capsys.readouterr()
    total = shown("maths: annotations")
    assert (total["ours"]["n"], total["ours"]["plan"], total["ours"]["ground"]) == ("4", 3, 3)
    assert total["status"] == f"n differs: 4 of 19,778; {STATED_REMARK}"
