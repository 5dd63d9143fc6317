"""A person's own rows: which field is what, which scorer fits, what a task has, and how answers are scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.from_file.definition import FieldNames, FileDefinition, JudgeDefinition
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.submission.file_options import FileOptions
from lumos_queue.submission.file_request import define_file, define_rows, is_own_file, resolve_file, title_of
from tests.image_files import honest


def define(rows: list[dict], reader: dict | None = None, kind: str = "evaluate", **stated) -> FileDefinition:
    return define_rows(rows, FileOptions(**stated), reader or {}, lambda _: None, kind=kind)


def read(tmp_path: Path, rows: list[dict], reader: dict | None = None, **stated) -> list[Task | BadRow]:
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    definition = define_file(file, FileOptions(**stated), reader or {}, lambda _: None)
    return list(FileBenchmark(definition).read(file, "own"))


def problem(*arguments, **options) -> str:
    with pytest.raises(SpecError) as raised:
        define(*arguments, **options)
    assert "\n" not in str(raised.value)
    return str(raised.value)


# --- which field is what ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["question", "Prompt", "INPUT", "query"])
@pytest.mark.parametrize("answer", ["answer", "Target", "output", "LABEL"])
def test_usual_names_are_recognised_whatever_their_case(question, answer):
    fields = define([{question: "Two and two?", answer: "4", "topic": "sums"}]).fields
    assert (fields.question, fields.answers) == (question, (answer,))


def test_two_candidates_for_one_field_are_an_error_that_lists_them():
    rows = [{"question": "q", "input": "x", "answer": 1, "label": 2}]
    assert "question, input" in problem(rows) and "--question" in problem(rows)
    assert "answer, label" in problem(rows, question="input") and "--answer" in problem(rows, question="input")
    assert define(rows, question="input", answer=("label",)).fields.answers == ("label",)


def test_a_missing_field_is_an_error_that_lists_what_there_is():
    assert "It has: frage, antwort" in problem([{"frage": "q", "antwort": 1}])
    assert "no field 'frage', which --question names. It has: question, answer" in problem(
        [{"question": "q", "answer": 1}], question="frage"
    )
    wide = {f"column_{number}": number for number in range(10_000)}
    assert len(problem([wide])) < 500 and "9,992 more" in problem([wide])


def test_one_field_has_one_use():
    assert "--question and --id both" in problem([{"question": "q", "answer": 1}], question="question", id="question")


def test_what_is_guessed_is_told_in_one_line():
    lines: list[str] = []
    rows = [{"prompt": "q", "answer": number, "topic": "t"} for number in range(1_200)]
    define_rows(rows, FileOptions(), {}, lines.append)
    assert lines == ["fields: question=prompt, answer=answer; scorer: number (1,000 of 1,000 answers are numbers)"]


# --- which scorer fits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "scorer", "domain"),
    [
        ([4, "12 apples", "$1,000"], "number", "maths"),
        (["Yes", "no", True], "yes_no", "complex_qa"),
        (["true", "False."], "yes_no", "complex_qa"),
        (["0", "1"], "number", "maths"),
    ],
)
def test_a_scorer_is_guessed_where_all_answers_fit(answers, scorer, domain):
    found = define([{"question": "q", "answer": answer} for answer in answers])
    assert (found.scorer, found.domain) == (scorer, domain)


def test_where_none_fits_all_answers_it_has_to_be_named():
    told = problem([{"question": "q", "answer": answer} for answer in (4, 5, "Paris")])
    assert "row 3: 'Paris'" in told and "--scorer" in told and "includes" in told and "regex:PATTERN" in told
    assert define([{"question": "q", "answer": "Paris"}], scorer="exact").scorer == "exact"
    told = problem([{"question": "q", "answer": 1}], scorer="exakt")
    assert "No scorer called 'exakt'. Did you mean 'exact'?" in told


def test_an_inference_needs_neither_answers_nor_a_scorer():
    assert define([{"question": "q"}], kind="infer").scorer == ""
    assert define([{"question": "q", "answer": "Paris"}], kind="infer").fields.answers == ("answer",)
    assert FileBenchmark(define([{"question": "q", "answer": 3}], kind="infer")).answers == AnswerKind.NUMBER


def test_domains_that_need_more_than_a_question_are_refused():
    assert "web_agent" in problem([{"question": "q", "answer": 1}], domain="web_agent")
    assert define([{"question": "q", "answer": 1}], domain="complex_qa").domain == "complex_qa"


# --- choices ----------------------------------------------------------------------------------------------------------

COLOURS = ["red", "green", "blue"]
LABELLED = list(zip(COLOURS, "XYZ", strict=True))


@pytest.mark.parametrize(
    ("choices", "answers", "form"),
    [
        (COLOURS, ["green", "Red", "blue"], "text"),
        (COLOURS, ["B", "a", "(C)"], "letter"),
        (COLOURS, [1, "0", 2], "index0"),
        (COLOURS, ["2", 1, 3], "index1"),
        ({"text": COLOURS, "label": ["1", "2", "3"]}, ["2", "1", "3"], "label"),
        ([{"text": text, "label": label} for text, label in LABELLED], ["Y", "X", "Z"], "label"),
        ({"X": "red", "Y": "green", "Z": "blue"}, ["Y", "X", "Z"], "label"),
        ("red | green | blue", ["B", "A", "C"], "letter"),
        ("red\ngreen\n\nblue", ["B", "A", "C"], "letter"),
        (json.dumps(COLOURS), ["B", "A", "C"], "letter"),
    ],
)
def test_choices_and_answers_of_every_form_mean_the_same(tmp_path, choices, answers, form):
    rows = [{"question": "Which?", "choices": choices, "answer": answer} for answer in answers]
    tasks = read(tmp_path, rows)
    assert define(rows).answer_form == form
    assert [task.gold for task in tasks if isinstance(task, Task)] == [
        {"answer": colour, "choices": COLOURS} for colour in ("green", "red", "blue")
    ]
    assert tasks[0].question == "Which? There're some choices: A. red, B. green, C. blue."


def test_choices_may_stand_in_columns_of_their_own(tmp_path):
    rows = [{"question": "Which?", "A": "red", "B": "green", "C": "", "answer": "B", "topic": "light"}]
    [task] = read(tmp_path, rows, choices="A,B,C", scorer="choice")
    assert task.gold == {"answer": "green", "choices": ["red", "green"], "meta": {"topic": "light"}}


def test_indices_that_may_begin_at_0_or_at_1_have_to_be_stated(tmp_path):
    rows = [{"question": "Which?", "choices": COLOURS, "answer": answer} for answer in (1, 2, 1)]
    assert "numbers from 0 and as numbers from 1" in problem(rows) and "row 1" in problem(rows)
    answers = {form: read(tmp_path, rows, {"answer_form": form})[0].gold["answer"] for form in ("index0", "index1")}
    assert answers == {"index0": "green", "index1": "red"}


def test_numbers_among_choices_are_texts_first(tmp_path):
    rows = [{"question": "?", "choices": ["5", "7", "9"], "answer": answer} for answer in (7, "5", 9)]
    assert [task.gold["answer"] for task in read(tmp_path, rows)] == ["7", "5", "9"]


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        (["red"], "1 choices, expected 2 to 8"),
        ([str(number) for number in range(9)], "9 choices, expected 2 to 8"),
        (["red", ""], "choice 2 is empty"),
        (["red", ["green"]], "choice 2 is a list"),
        ("red", "separated by |"),
        (None, "empty"),
        (5, "separated by |"),
    ],
)
def test_bad_choices_are_bad_rows(tmp_path, choices, told):
    rows = [{"question": "?", "choices": value, "answer": "red"} for value in (COLOURS, choices)]
    bad = read(tmp_path, rows, scorer="choice")[1]
    assert isinstance(bad, BadRow) and told in str(bad)


def test_an_answer_that_is_no_choice_is_a_bad_row(tmp_path):
    rows = [{"question": "?", "choices": COLOURS, "answer": answer} for answer in ("red", "green", "pink")]
    bad = read(tmp_path, rows, scorer="choice")[2]
    assert isinstance(bad, BadRow) and "'pink' is none of the 3 choices" in str(bad)


# --- what a task has --------------------------------------------------------------------------------------------------


def test_other_columns_are_meta_and_nothing_but_the_question_is_shown(tmp_path):
    row = {
        "key": "k7",
        "prompt": " 2 + 2? ",
        "short": 4,
        "long": ["4.0", "four apples", None],
        "rationale": "Add.",
        "topic": "sums",
        "hard": False,
        "source": None,
    }
    [task] = read(tmp_path, [row], id="key", answer=("short", "long"), scorer="exact")
    assert task == Task(
        "file:mine",
        "",
        "k7",
        "2 + 2?",
        {},
        {
            "answer": "4",
            "answers": ["4", "4.0", "four apples"],
            "rationale": "Add.",
            "meta": {"topic": "sums", "hard": False, "source": None},
        },
    )
    assert task.without_gold().gold is None


def test_a_cell_of_a_table_may_list_answers(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('question,answer,more\nWho?,"[""Ann"", ""Anna""]",\nWhat?,"[1, 2]",x\n')
    options = FileOptions(answer=("answer", "more"), scorer="exact")
    first, second = FileBenchmark(define_file(file, options, {}, lambda _: None)).read(file, "own")
    assert first.gold["answers"] == ["Ann", "Anna"] and second.gold["answers"] == ["[1, 2]", "x"]


def test_rows_are_numbered_and_ids_differ(tmp_path):
    rows = [{"question": "q", "answer": 1, "key": key} for key in (7, "x", 7.0, None)]
    assert [task.row for task in read(tmp_path, rows)] == ["1", "2", "3", "4"]
    kinds = [task.row if isinstance(task, Task) else str(task) for task in read(tmp_path, rows, id="key")]
    assert kinds[:2] == ["7", "x"] and "'7' occurs twice" in kinds[2] and "empty" in kinds[3]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"question": "", "answer": 1}, "empty"),
        ({"answer": 1}, "missing"),
        ({"question": ["q"], "answer": 1}, "expected text, found a list"),
        ({"question": "q", "answer": None}, "no answer"),
        ({"question": "q", "answer": "Paris"}, "expected a number, found 'Paris'"),
        ({"question": "q", "answer": {"a": 1}}, "found an object"),
        ({"question": "q", "answer": float("nan")}, "no answer"),
        ({"question": "q", "answer": float("inf")}, "an infinite number"),
    ],
)
def test_bad_rows_name_the_field(tmp_path, row, told):
    bad = read(tmp_path, [{"question": "q", "answer": 1}, row], scorer="number")[1]
    assert isinstance(bad, BadRow) and told in str(bad) and bad.row == 2


def test_numbers_are_written_plainly_and_truth_values_as_words(tmp_path):
    numbers = read(tmp_path, [{"question": "q", "answer": one} for one in (8.0, "$1,234.50", "3/4")], scorer="number")
    assert [task.gold["answer"] for task in numbers] == ["8", "1234.5", "0.75"]
    truths = read(tmp_path, [{"question": "q", "answer": one} for one in (True, "no", 0, "Y")], scorer="yes_no")
    assert [task.gold["answer"] for task in truths] == ["Yes", "No", "No", "Yes"]


def test_images_are_looked_for_below_the_folder_of_the_file_only(tmp_path):
    (tmp_path / "data" / "pictures").mkdir(parents=True)
    (tmp_path / "data" / "pictures" / "cat.png").write_bytes(honest())
    (tmp_path / "secret.png").write_bytes(honest())
    (tmp_path / "data" / "link.png").symlink_to(tmp_path / "secret.png")
    named = [
        "pictures/cat.png",
        "./pictures/cat.png",
        "",
        "../secret.png",
        str(tmp_path / "secret.png"),
        "link.png",
        "no.png",
        ["pictures/cat.png", "x.png"],
        5,
        "https://host/cat.png",
    ]
    rows = [{"question": "q", "answer": "cat", "picture": name} for name in named]
    (tmp_path / "data" / "mine.jsonl").touch()
    found = read(tmp_path / "data", rows, images="picture", scorer="exact")
    assert [task.inputs["image_name"] for task in found[:3]] == ["pictures/cat.png", "pictures/cat.png", ""]
    assert all(isinstance(bad, BadRow) for bad in found[3:])
    assert "no image 'no.png' below the file's folder" in str(found[6])
    for index in (3, 4, 9):  # a path out of the folder, an absolute one, an address
        assert "expected a path below the file's folder, such as a/b.png, found" in str(found[index])
    assert "rows of a program have none" in problem(rows, images="picture", scorer="exact")


# --- scores -----------------------------------------------------------------------------------------------------------


def score(scorer: str, answer: str | None, *right: str, choices: tuple[str, ...] = ()) -> dict[str, float]:
    gold: dict = {"answer": right[0]} if right else {}
    gold |= {"answers": list(right)} if len(right) > 1 else {}
    gold |= {"choices": list(choices)} if choices else {}
    benchmark = FileBenchmark(FileDefinition("x", FieldNames("question"), scorer))
    scores = benchmark.score(Task("file:x", "", "1", "q", gold=gold or None), EpisodeResult(answer))
    assert tuple(one.metric for one in scores) == benchmark.metrics
    return {one.metric: one.value for one in scores}


@pytest.mark.parametrize(
    ("scorer", "answer", "right", "value"),
    [
        ("number", "12 apples", ("12",), 1),
        ("number", "13", ("12", "13.0"), 1),
        ("number", "14", ("12", "13"), 0),
        ("number", None, ("12",), 0),
        ("exact", "The Paris.", ("paris",), 1),
        ("exact", "Answer: Anna", ("Ann", "Anna"), 1),
        ("exact", "Paris, France", ("Paris",), 0),
        ("exact", "5", ("-5",), 0),
        ("exact", "15", ("1.5",), 0),
        ("exact", "2,000", ("2000",), 1),
        ("exact", "+", ("-",), 0),
        ("exact", "-", ("-",), 1),
        ("exact", "the", ("a",), 0),
        ("exact", "", ("the",), 0),
        ("exact", None, ("the",), 0),
        ("includes", "It is  PARIS, I think", ("Paris",), 1),
        ("includes", "new\nyork city", ("New York",), 1),
        ("includes", "14", ("4",), 0),
        ("includes", "14 and 4", ("4",), 1),
        ("includes", "concatenate", ("cat",), 0),
        ("includes", "東京です", ("東京",), 1),
        ("includes", "", ("x",), 0),
        ("includes", None, ("x",), 0),
        ("f1", "the red car", ("red car", "blue"), 1),
        ("f1", "red", ("red car",), 2 / 3),
        ("f1", None, ("red car",), 0),
        ("yes_no", "Yes, it is.", ("Yes",), 1),
        ("yes_no", "false", ("No",), 1),
        ("yes_no", "perhaps", ("No",), 0),
        ("yes_no", None, ("No",), 0),
        ("regex:^[0-9]+ km$", "12 km", (), 1),
        ("regex:^[0-9]+ km$", "12 km away", (), 0),
        ("regex:(?i)paris", "In PARIS.", (), 1),
        ("regex:.*", None, (), 0),
    ],
)
def test_the_best_of_the_right_answers_counts(scorer, answer, right, value):
    assert next(iter(score(scorer, answer, *right).values())) == pytest.approx(value)


def test_a_choice_is_read_as_its_letter_or_its_text():
    assert score("choice", "B", "green", choices=tuple(COLOURS)) == {"accuracy": 1.0, "unparsed": 0.0}
    assert score("choice", "blue", "green", "blue", choices=tuple(COLOURS)) == {"accuracy": 1.0, "unparsed": 0.0}
    assert score("choice", "purple", "green", choices=tuple(COLOURS)) == {"accuracy": 0.0, "unparsed": 1.0}
    assert score("choice", None, "green", choices=tuple(COLOURS)) == {"accuracy": 0.0, "unparsed": 0.0}


def test_an_unreadable_truth_is_counted():
    assert score("yes_no", "perhaps", "Yes") == {"accuracy": 0.0, "unparsed": 1.0}


@pytest.mark.parametrize("pattern", ["(?=x)", r"(a)\1", "(", "x" * 1_001, "", "[z-a]"])
def test_patterns_that_are_not_linear_or_not_valid_are_refused(pattern):
    assert "attern" in problem([{"question": "q"}], scorer=f"regex:{pattern}")


def test_a_pattern_is_matched_in_linear_time():
    """Python's own matcher would not end: 2 to the power of 50,000 steps."""
    assert score("regex:^(a+)+$", "a" * 50_000 + "\ud800b") == {"matches": 0.0}


def test_right_answers_that_include_everything_are_not_included():
    assert score("includes", "anything", " ") == {"includes": 0.0}


# --- names ------------------------------------------------------------------------------------------------------------


def test_a_path_is_a_file_and_a_registered_name_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gsm8k", "wordmath", "mine", "x.y:z"):
        Path(name).write_text("question,answer\nq,1\n")
    assert [is_own_file(name) for name in ("gsm8k", "./gsm8k", "mine", "x.y:z")] == [False, True, True, True]
    assert not is_own_file("nothing") and not is_own_file("package.module:object") and not is_own_file("x" * 5_000)
    for name in ("nothing.csv", "folder/nothing", "nothing.jsonl.gz", "nothing.toml"):
        with pytest.raises(SpecError, match="does not exist"):
            is_own_file(name)
    found = resolve_file("./gsm8k", None, "", FileOptions(), (), lambda _: None)
    assert found.benchmark == "file:gsm8k" and found.definition


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("gsm8k.csv", "gsm8k"),
        ("my.questions.JSONL.gz", "my.questions"),
        ("rows", "rows"),
        (".csv", ".csv"),
        ("v1.2", "v1.2"),
    ],
)
def test_the_title_is_the_name_of_the_file(name, title):
    assert title_of(Path(name)) == title


def test_a_stored_name_is_never_imported():
    with pytest.raises(SpecError, match="made from a data file"):
        open_benchmark("file:os:path")


@pytest.mark.parametrize("judge", [None, JudgeDefinition("{answer}", 5, 3)])
@pytest.mark.parametrize("form", ["", "index1"])
def test_a_definition_is_read_back_as_it_was_written(judge, form):
    fields = FieldNames("q", ("a", "b"), "id", "c", "i", "r")
    written = FileDefinition("t", fields, "choice", "maths", "MIT", judge, form)
    assert FileDefinition.from_json(json.loads(json.dumps(written.as_json()))) == written
