"""Published files in the shapes that people have them in: lists and lines, other columns, nulls, twins under one id."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark, open_source
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.instructions import Instruction, read_instructions
from lumos_queue.records import Task
from tests.image_files import honest
from tests.source_rows import AOK, HOTPOT, MUSIQUE, ROWS, SPIDER, STRATEGY, TABLES, WEB

GSM = {"question": "What is 2 + 3?", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"}
SVAMP = {
    "ID": "chal-1",
    "Body": "A kite costs 4 dollars.",
    "Question": "What do 2 cost?",
    "Equation": "( 4.0 * 2.0 )",
    "Answer": 8.0,
    "Type": "Multiplication",
}
MASKED = {"Question": "Add number0 and number1 .", "Numbers": "2.0 3.0", "Equation": "+ number0 number1", "Answer": "5"}
ASDIV = {"ID": "n1", "Body": "Six cats sleep.", "Question": "How many?", "Answer": "6 (cats)", "Formula": "4+2=6"}
SCIENCE = {
    "question": "Which is a bird?",
    "choices": ["bat", "owl"],
    "answer": 1,
    "image": None,
    "hint": "It has feathers.",
}
SQL = {"db": "shop", "gold": "SELECT name FROM hat", "query": "Which hats?", "hardness": "easy"}
TOOLS = {
    "query_id": 7,
    "query": "Where is it?",
    "relevant APIs": [["suivi", "Latest"]],
    "api_list": [{"tool_name": "suivi", "api_name": "Latest", "required_parameters": [], "optional_parameters": []}],
}
GOAL = {
    "asin": "B1",
    "category": "fashion",
    "query": "hats",
    "name": "Hat",
    "product_category": "Hats",
    "instruction_text": "Find a hat",
    "attributes": ["warm"],
    "price_upper": 20.0,
    "goal_options": ["red"],
}
PLAN = {"instruction": "Plan.", "input": "Who?", "output": "Plan: Ask.\n#E1 = LLM[Who?]"}
PAGES = {
    **WEB,
    "actions": [
        {
            "cleaned_html": '<html><body><a backend_node_id="3">Hats</a></body></html>',
            "operation": {"op": "CLICK", "value": ""},
            "neg_candidates": [],
            "pos_candidates": [{"tag": "a", "attributes": "{}", "backend_node_id": "3"}],
        }
    ],
}
FILES = {
    "gsm8k": GSM,
    "svamp": SVAMP,
    "mawps": MASKED,
    "asdiv": ASDIV,
    "scienceqa": {**SCIENCE, "pid": "7"},
    "intercode_sql": SQL,
    "toolbench": TOOLS,
    "webshop": GOAL,
    "rewoo": PLAN,
    **ROWS,
    "mind2web": PAGES,
    "superni": {"definition": "Say it.", "inputs": "It barks.", "targets": "A dog"},
}
OPTIONS = {"scienceqa": {"subset": "all"}}


def read(name, path, teaching=False, **changes):
    benchmark = open_source(name) if teaching or name in ("spider", "prm800k", "rewoo") else open_benchmark(name)
    reader = benchmark.teaching if teaching else benchmark
    return list(reader.read(path, "train" if name != "intercode_sql" else "dev", **OPTIONS.get(name, {}), **changes))


def write(folder, rows, name="rows.json"):
    (folder / "tables.json").write_text(json.dumps(TABLES))
    path = folder / name
    path.write_text(json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows))
    return path


def one(name, folder, row, teaching=False):
    (task,) = read(name, write(folder, [row]), teaching)
    assert isinstance(task, Task), task
    return task


def refusals(name, task):
    """Why a row is not converted: by rule, and by a teacher."""
    reasons = []
    for method in (open_source(name).gold, open_source(name).rationale):
        with pytest.raises(NotConvertible) as error:
            method(task)
        reasons.append(error.value.reason)
    return reasons


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_list_lines_and_packed_lines_are_one_format(tmp_path, name):
    rows = [FILES[name]]
    lines = write(tmp_path, rows, "rows.jsonl")
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    tasks = read(name, write(tmp_path, rows))
    assert len(tasks) == 1 and isinstance(tasks[0], Task), tasks
    assert read(name, lines) == read(name, packed) == tasks


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_table_with_nested_values_as_json_is_the_same_rows(tmp_path, name):
    row = {key: value if isinstance(value, str) else json.dumps(value) for key, value in FILES[name].items()}
    row = {key: "" if value == "null" else value for key, value in row.items()}
    text = io.StringIO()
    writer = csv.DictWriter(text, list(row))
    writer.writeheader()
    writer.writerow(row)
    path, rows = tmp_path / "rows.csv", write(tmp_path, [FILES[name]])
    path.write_text(f"{text.getvalue()}\r\n")  # spreadsheets leave an empty line
    assert read(name, path) == read(name, rows)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_field_that_is_null_is_a_field_that_is_left_out(tmp_path, name):
    row = FILES[name]
    for field in row:
        without = read_or_refuse(name, tmp_path, [row, {key: value for key, value in row.items() if key != field}])
        null = read_or_refuse(name, tmp_path, [row, {**row, field: None}])
        if (name, field) == ("rewoo", "output"):  # exports have null in place of an empty text, which is left out
            assert isinstance(null, BadRow) and null.leave_out
        elif (name, field) != ("scienceqa", "choices"):
            assert str(null) == str(without), field


def read_or_refuse(name, folder, rows):
    return read(name, write(folder, rows))[1]


# --- what only a conversion needs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "row", "fields", "reason"),
    [
        ("gsm8k", {**GSM, "answer": "5"}, (), None),
        ("gsm8k", {**GSM, "answer": 5}, (), None),
        ("svamp", SVAMP, ("Equation", "Type", "ID"), "no_rationale"),
        ("svamp", MASKED, ("Equation",), "no_rationale"),
        ("mawps", MASKED, ("Equation",), "no_rationale"),
        ("mawps", {**MASKED, "Question": "Add 2 and 3."}, ("Equation", "Numbers"), "no_rationale"),
        ("asdiv", ASDIV, ("Formula", "ID"), "no_rationale"),
        ("asdiv", {name.lower(): value for name, value in ASDIV.items()}, ("formula",), "no_rationale"),
        ("strategyqa", STRATEGY, ("evidence",), "no_evidence"),
        ("strategyqa", STRATEGY, ("qid", "facts", "term"), None),
        ("strategyqa", STRATEGY, ("decomposition",), "no_rationale"),
        ("hotpotqa", HOTPOT, ("supporting_facts", "_id"), "no_support"),
        ("hotpotqa", HOTPOT, ("context", "supporting_facts"), "no_support"),
        ("musique", MUSIQUE, ("question_decomposition", "answer_aliases", "answerable", "id"), "no_rationale"),
        ("aokvqa", AOK, ("rationales", "image_id", "question_id"), "no_rationale"),
    ],
)
@pytest.mark.parametrize("absent", [True, False])
def test_a_row_without_what_a_conversion_needs_is_evaluated(tmp_path, name, row, fields, reason, absent):
    changed = {key: value for key, value in row.items() if key not in fields}
    if not absent:
        changed |= dict.fromkeys(fields)
    whole, task = one(name, tmp_path, row), one(name, tmp_path, changed)
    assert (task.question, task.gold["answer"]) == (whole.question, whole.gold["answer"])
    benchmark = open_benchmark(name)
    assert benchmark.score(task, EpisodeResult(benchmark.gold_answer(task)))[0].value == 1
    converted = one(name, tmp_path, changed, teaching=True)
    if reason:
        assert reason in refusals(name, converted)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("svamp", {"Equation": ["4", "2"]}),
        ("asdiv", {"Formula": 6}),
        ("strategyqa", {"evidence": [[["operation"]]]}),
        ("strategyqa", {"evidence": "none"}),
        ("strategyqa", {"decomposition": [1]}),
        ("musique", {"question_decomposition": ["x"]}),
        ("musique", {"question_decomposition": [{"question": "Who?", "answer": "Ann", "paragraph_support_idx": 9}]}),
        ("hotpotqa", {"supporting_facts": [["Ann Berg"]]}),
        ("aokvqa", {"rationales": "A cat."}),
    ],
)
def test_what_only_a_conversion_needs_is_noted_where_it_is_broken(tmp_path, name, changes):
    row = {**FILES[name], **changes}
    (task,) = read(name, write(tmp_path, [row]))
    assert isinstance(task, Task), task
    (field,) = changes
    assert any(
        f"1 of them cannot be converted; the first: row 1, field '{field}" in note
        for note in open_benchmark(name).notes
    )
    (bad,) = read(name, write(tmp_path, [row]), teaching=True)
    assert isinstance(bad, BadRow) and bad.field.startswith(field)


def test_supporting_pages_that_were_not_retrieved_are_noted(tmp_path):
    rows = [HOTPOT, {**HOTPOT, "_id": "h2", "supporting_facts": [["Acme (firm)", 0], ["Nobody", 0]]}]
    whole, partly = read("hotpotqa", write(tmp_path, rows))
    assert isinstance(partly, Task) and partly.inputs == whole.inputs and not partly.gold["pages"]
    assert "1 of them have pages, but not every supporting page" in open_benchmark("hotpotqa").notes[-1]
    converted = read("hotpotqa", write(tmp_path, rows), teaching=True)[1]
    assert isinstance(converted, Task) and refusals("hotpotqa", converted) == ["no_support", "no_support"]


def test_the_training_rows_of_strategyqa_must_have_their_evidence(tmp_path):
    trained = write(tmp_path, [STRATEGY, {key: STRATEGY[key] for key in ("qid", "question", "answer")}], "t.jsonl")
    with pytest.raises(SpecError, match=r"trained=.*row 2, field 'evidence': missing"):
        list(open_benchmark("strategyqa").read(write(tmp_path, [STRATEGY]), "clean", trained=str(trained)))


@pytest.mark.parametrize("answer", ["yes", "True", "YES", True])
def test_truth_may_be_text_and_facts_a_single_text(tmp_path, answer):
    task = one("strategyqa", tmp_path, {"question": "Is it so?", "answer": answer, "facts": "It is so."})
    assert (task.gold["answer"], task.gold["facts"]) == ("Yes", ["It is so."])


def test_examples_of_bigbench_are_read_as_rows(tmp_path):
    example = {"input": "Is it so?", "target_scores": {"Yes": 0, "No": 1}, "target": "No. It is not."}
    path = tmp_path / "task.json"
    for document in ({"name": "strategyqa", "examples": [example]}, [example]):
        path.write_text(json.dumps(document, indent=1))
        (task,) = read("strategyqa", path)
        assert (task.gold["answer"], task.gold["facts"]) == ("No", ["It is not."])


# --- MuSiQue's twins --------------------------------------------------------------------------------------------------


def twins(name):
    return [{**MUSIQUE, "id": name}, {**MUSIQUE, "id": name, "answerable": False}]


@pytest.mark.parametrize("turned", [False, True])
def test_an_unanswerable_twin_has_its_own_id_whichever_comes_first(tmp_path, turned):
    rows = [*twins("2hop__1"), {**MUSIQUE, "id": "2hop__3", "answerable": False}, *twins("2hop__4")]
    tasks = read("musique", write(tmp_path, rows[::-1] if turned else rows))
    found = {task.row: task.gold["answerable"] for task in tasks if isinstance(task, Task)}
    assert found == {
        "2hop__1": True,
        "2hop__1-unanswerable": False,
        "2hop__3": False,
        "2hop__4": True,
        "2hop__4-unanswerable": False,
    }


def test_a_row_that_a_file_has_twice_stays_bad(tmp_path):
    rows = [*twins("2hop__1"), *twins("2hop__1")]
    tasks = read("musique", write(tmp_path, rows))
    assert [isinstance(task, BadRow) and "occurs twice" in task.problem for task in tasks] == [False, False, True, True]


# --- choices, and images that rows bring along ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "answer", "right"),
    [
        (["bat", "owl"], 1, "owl"),
        (["bat", "owl"], "1", "owl"),
        (["bat", "owl"], 1.0, "owl"),
        (["bat", "owl"], "B", "owl"),
        (["bat", "owl"], "owl", "owl"),
        ({"text": ["bat", "owl"], "label": ["A", "B"]}, "B", "owl"),
        ({"text": ["bat", "owl"], "label": ["1", "2"]}, "1", "bat"),
        ({"text": ["bat", "owl"], "label": ["1", "2"]}, 1, "owl"),
        ([3, 4.0], "1", "4"),
        ("['bat' 'owl']", "1", "owl"),
    ],
)
def test_choices_and_their_answers_as_files_write_them(tmp_path, choices, answer, right):
    task = one("scienceqa", tmp_path, {**SCIENCE, "choices": choices, "answer": answer})
    assert task.gold["answer"] == right


@pytest.mark.parametrize("answer", [2, -1, "C", "2", True, "hen", 0.5])
def test_an_answer_that_is_no_choice_is_bad(tmp_path, answer):
    (bad,) = read("scienceqa", write(tmp_path, [{**SCIENCE, "answer": answer}]))
    assert isinstance(bad, BadRow) and bad.field == "answer"


def test_rows_of_scienceqa_are_read_by_the_split_that_they_state(tmp_path):
    rows = [{**SCIENCE, "pid": str(number), "split": split} for number, split in enumerate(("train", "val", "test"))]
    path, benchmark = write(tmp_path, rows), open_benchmark("scienceqa")
    found = {
        split: [task.row for task in benchmark.read(path, split, subset="all") if isinstance(task, Task)]
        for split in ("train", "val", "test", "trainval")
    }
    assert found == {"train": ["0"], "val": ["1"], "test": ["2"], "trainval": ["0", "1"]}
    with pytest.raises(SpecError, match=r"only ScienceQA's pid_splits\.json lists"):
        list(benchmark.read(path, "minitest", subset="all"))
    del rows[0]["split"], rows[0]["pid"]
    assert [task.row for task in benchmark.read(write(tmp_path, rows[:1]), "minitest", subset="all")] == ["1"]


def test_an_image_in_a_table_is_the_image_of_its_row(tmp_path):
    path, content = tmp_path / "rows.csv", honest()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("question", "choices", "answer", "image"))
        writer.writerow(("Which?", "['bat' 'owl']", 1, repr({"bytes": content, "path": "/data/cache/a.png"})))
        writer.writerow(("Which?", "['bat' 'owl']", 1, repr({"bytes": content[:-30], "path": None})))
        writer.writerow(("Which?", "['bat' 'owl']", 1, repr({"bytes": None, "path": "../../etc/b.png"})))
        writer.writerow(("Which?", "['bat' 'owl']", 1, ""))
    benchmark = open_benchmark("scienceqa")
    task, broken, missing = benchmark.read(path, "test")
    assert task.inputs["image_name"] == "a.png"
    (copy,) = benchmark.artifacts.values()
    assert copy.read_bytes() == content and list(benchmark.artifacts) == [task.inputs["image"]]
    assert isinstance(broken, BadRow) and broken.field == "image" and "the image of the row" in broken.problem
    assert isinstance(missing, Task) and missing.inputs["image"] is None
    assert "1 of 2 rows have no image" in benchmark.notes[0]
    del broken  # its traceback has what was read
    list(benchmark.read(path, "test"))
    assert not copy.exists()  # the copies of a reading are removed with it


def test_a_named_image_is_only_looked_for_below_the_folder(tmp_path):
    (tmp_path / "images").mkdir()
    (bad,) = read("scienceqa", write(tmp_path, [{**SCIENCE, "image": "../secret.png"}]))
    assert isinstance(bad, BadRow) and bad.field == "image"


# --- instructions -----------------------------------------------------------------------------------------------------


def test_instructions_with_null_are_those_without(tmp_path):
    rows = [{"instruction": "Name a fruit.", "input": None, "output": "A plum."}]
    rows += [{**rows[0], "output": None}, {**rows[0], "instruction": None}]
    good, empty, bad = read_instructions(write(tmp_path, rows))
    assert good == Instruction(1, "Name a fruit.", "", "A plum.")
    assert isinstance(empty, BadRow) and empty.leave_out
    assert isinstance(bad, BadRow) and (bad.field, bad.problem, bad.leave_out) == ("instruction", "missing", False)


def test_spider_is_read_beside_tables_in_lines(tmp_path):
    path = write(tmp_path, [SPIDER])
    expected = read("spider", path)
    (tmp_path / "tables.json").write_text("".join(json.dumps(table) + "\n" for table in TABLES))
    assert read("spider", path) == expected
