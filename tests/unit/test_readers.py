"""Reading the original files, and files that only claim to be."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import TESTABLE, open_benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers import delimited_rows, json_records
from lumos_queue.records import Task
from tests.cpu_limit import cpu_limit

GSM8K, SVAMP, ASDIV, MAWPS = (open_benchmark(name) for name in ("gsm8k", "svamp", "asdiv", "mawps"))
WITHOUT_DATA = ("open_ended", "openagi", "sum2act_visual", "tooleval", "toolworld", "webshop", "wordmath")
HEADER = "Question,Numbers,Equation,Answer\n"
PROBLEM = "<Problem ID='{id}'><Body>{body}</Body><Question>Q?</Question><Answer>8 (cats)</Answer>"
PROBLEM += "<Formula>6+2=8</Formula></Problem>"


def write(tmp_path, content, name="data"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def line(question="How many?", answer="1+1=<<1+1=2>>2\n#### 2"):
    return json.dumps({"question": question, "answer": answer}) + "\n"


def read(benchmark, path):
    return list(benchmark.read(path, "test"))


def bad(rows):
    return [(row.row, row.field, str(row)) for row in rows if isinstance(row, BadRow)]


ORIGINALS = [
    (GSM8K, "gsm8k/train.jsonl", 7473),
    (GSM8K, "gsm8k/test.jsonl", 1019),
    (GSM8K, "gsm8k/test_socratic.jsonl", 1019),
    (SVAMP, "svamp/SVAMP.json", 700),
    (SVAMP, "svamp/mawps-asdiv-a_svamp/dev.csv", 667),
    (MAWPS, "mawps/cv_mawps/fold0/train.csv", 1314),
    (ASDIV, "asdiv/ASDiv.xml", 1775),
    (ASDIV, "asdiv/cv_asdiv-a_fold0.csv", 944),
]


@pytest.mark.parametrize(("benchmark", "file", "count"), ORIGINALS, ids=[file for _, file, _ in ORIGINALS])
def test_every_row_of_the_original_files_is_read(shared_data, benchmark, file, count):
    rows = read(benchmark, shared_data / file)
    assert bad(rows) == []
    assert len(rows) == count
    for task in rows:
        assert (task.benchmark, task.dataset) == (benchmark.name, "")
        assert task.question.strip()
        assert benchmark.score(task, EpisodeResult(task.gold["answer"]))[0].value == 1
        assert benchmark.score(task, EpisodeResult())[0].value == 0
        json.dumps([task.inputs, task.gold], allow_nan=False)


def test_thousands_commas_are_no_part_of_a_gsm8k_answer(tmp_path):
    (task,) = read(GSM8K, write(tmp_path, line(answer="Sum.\n#### 1,080")))
    assert (task.row, task.gold) == ("1", {"answer": "1080", "solution": "Sum."})


def test_svamp_joins_body_and_question_with_one_space(tmp_path):
    row = {"ID": "chal-1", "Body": "If it is so", "Question": "How many?", "Equation": "( 8.0 - 2.0 )", "Answer": 6.0}
    (task,) = read(SVAMP, write(tmp_path, json.dumps([row])))
    assert (task.row, task.question, task.gold["answer"]) == ("chal-1", "If it is so How many?", "6")


def test_masked_numbers_are_filled_in_and_read_as_people_write_them(tmp_path):
    text = HEADER + "Mary 's cake wants number1 cups . It 's $ number0 ; number10 ?,8.0 2.50 1 1 1 1 1 1 1 1 7,"
    (task,) = read(MAWPS, write(tmp_path, text + "- number0 number1,5.5\n"))
    assert task.question == "Mary's cake wants 2.5 cups. It's $ 8; 7?"
    assert task.gold == {"answer": "5.5", "equation": "- 8 2.5"}


def test_asdiv_reads_attributes_and_texts(tmp_path):
    (task,) = read(
        ASDIV, write(tmp_path, "<?xml version='1.0'?><a>" + PROBLEM.format(id="n1", body="A &amp; B") + "</a>")
    )
    assert (task.row, task.question) == ("n1", "A & B Q?")
    assert task.gold == {"answer": "8", "formula": "6+2=8"}


def test_answers_that_are_text_are_compared_as_text(tmp_path):
    text = "<a>" + PROBLEM.format(id="n1", body="B").replace("8 (cats)", "The  Red one.") + "</a>"
    (task,) = read(ASDIV, write(tmp_path, text))
    assert [ASDIV.score(task, EpisodeResult(answer))[0].value for answer in ("the red one", "blue", None)] == [1, 0, 0]


@pytest.mark.parametrize("benchmark", [GSM8K, SVAMP, ASDIV, MAWPS], ids=lambda benchmark: benchmark.name)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        b"hello\nworld\n",
        b"\x00\x01\x02\xff",
        "Ünicode".encode("utf-16"),
        b"<html><body>404</body></html>",
        b"<a><Problem>",
        b'{"question": 1',
        b"[1, 2",
        b'"text"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"other": 1}',
        b'[{"other": 1}]',
        b"[1]",
        b"[]",
        HEADER.encode(),
        b"version https://git-lfs.github.com/spec/v1\n",
    ],
)
def test_another_file_is_refused_with_one_line(tmp_path, benchmark, content):
    path = write(tmp_path, content)
    with pytest.raises(SpecError) as caught:
        read(benchmark, path)
    message = str(caught.value)
    assert str(path) in message and "\n" not in message.strip() and len(message) < 500 + len(str(path))


@pytest.mark.parametrize("benchmark", [GSM8K, SVAMP, ASDIV, MAWPS], ids=lambda benchmark: benchmark.name)
def test_a_missing_file_is_named(tmp_path, benchmark):
    for path in (tmp_path / "no such file", tmp_path):
        with pytest.raises(SpecError, match=r"Cannot read .*Expected"):
            read(benchmark, path)
    with pytest.raises(SpecError, match="--data"):
        read(benchmark, None)


def test_bad_lines_are_named_and_the_others_read(tmp_path):
    content = [
        line(),
        "\n",
        "{not json\n",
        '{"question": "Q"}\n',
        '{"question": "", "answer": "#### 1"}\n',
        '{"question": ["Q"], "answer": "#### 1"}\n',
        line(answer="no number\n#### many"),
        line(answer="no mark"),
        line(answer="#### NaN"),
        line(answer="#### 1e999999"),
        "[1]\n",
        "NaN\n",
        '{"question": ' + "9" * 5000 + "}\n",
        line(),
    ]
    path = write(tmp_path, "".join(content).encode() + b'{"question": "\xff"}\n')
    rows = read(GSM8K, path)
    assert [row.row for row in rows if isinstance(row, Task)] == ["1", "14"]
    assert [row for row, _, _ in bad(rows)] == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15]
    assert {field for row, field, _ in bad(rows) if row in (4, 7, 8, 9, 10)} == {"answer"}
    assert "not UTF-8" in bad(rows)[-1][2]


def test_text_is_made_storable(tmp_path):
    (task,) = read(GSM8K, write(tmp_path, '{"question": "a\\u0000b\\ud800", "answer": "\\udfff\\n#### 1"}'))
    assert task.question == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"
    assert task.gold["solution"] == "\N{REPLACEMENT CHARACTER}"


def test_a_byte_order_mark_is_passed_over(tmp_path):
    assert len(read(GSM8K, write(tmp_path, b"\xef\xbb\xbf" + line().encode()))) == 1
    assert len(read(MAWPS, write(tmp_path, b"\xef\xbb\xbf" + (HEADER + "number0 ?,1,number0,1\n").encode()))) == 1
    assert len(read(SVAMP, write(tmp_path, b'\xef\xbb\xbf[{"ID": "1"}]'))) == 1


def test_fields_of_two_megabytes_are_read(tmp_path):
    long = "word " * 400_000
    with cpu_limit(20):
        (task,) = read(GSM8K, write(tmp_path, line(question=long, answer=long + "\n#### 1")))
        assert task.question == long
        (task,) = read(MAWPS, write(tmp_path, HEADER + f"{long}number0,1,number0,1\n"))
        assert len(task.question) > 1_800_000
        (task,) = read(ASDIV, write(tmp_path, "<a>" + PROBLEM.format(id="1", body=long) + "</a>"))
        assert len(task.question) > 1_800_000
        assert list(ASDIV.baselines([task])["best constant"]) == [True]


def test_a_longer_line_is_passed_over_without_being_held(tmp_path, monkeypatch):
    monkeypatch.setattr(json_records, "MAX_FIELD_BYTES", 1000)
    rows = read(GSM8K, write(tmp_path, line() + line(question="x" * 5000) + line()))
    assert [row.row for row in rows if isinstance(row, Task)] == ["1", "3"]
    assert "longer than 1.0 kB" in bad(rows)[0][2]


@pytest.mark.parametrize("answer", ["NaN", "Infinity", "-Infinity", "1e999", "true", "null", '"many"', "[1]"])
def test_an_answer_that_is_no_finite_number_makes_a_bad_row(tmp_path, answer):
    row = '{"ID": "1", "Body": "B", "Question": "Q", "Equation": "( 1.0 )", "Answer": %s}'
    (found,) = read(SVAMP, write(tmp_path, f"[{row % answer}]"))
    assert bad([found])[0][:2] == (1, "Answer")


def test_a_row_id_may_stand_only_once(tmp_path):
    row = {"ID": "chal-1", "Body": "B", "Question": "Q", "Equation": "1", "Answer": 1}
    rows = read(SVAMP, write(tmp_path, json.dumps([row, row, 5, row | {"ID": "x" * 201}])))
    assert [found[0] for found in bad(rows)] == [2, 3, 4]
    assert "occurs twice" in str(rows[1])


def test_bad_table_rows_are_named_and_the_others_read(tmp_path):
    lines = [
        "good number0,1,number0,1",
        "too few,1",
        "too many,1,number0,1,1",
        "no number1,1,number0,1",
        "no number,one,number0,1",
        "no answer,1,number0,nan",
        "nul \x00 number0,1,number0,1",
    ]
    rows = read(MAWPS, write(tmp_path, (HEADER + "\n".join(lines)).encode() + b"\n\xff,1,number0,1\n"))
    assert [(row, field) for row, field, _ in bad(rows)] == [
        (2, "row"),
        (3, "row"),
        (4, "Question"),
        (5, "Numbers"),
        (6, "Answer"),
        (8, "Question"),
    ]
    assert "\x00" not in rows[6].question


def test_an_open_quote_does_not_take_the_file_along_silently(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited_rows, "MAX_FIELD_BYTES", 1000)
    text = HEADER + "number0,1,number0,1\n" + '"open' + "\nnumber0,1,number0,1" * 100
    rows = read(MAWPS, write(tmp_path, text))
    assert isinstance(rows[0], Task)
    assert "the rest of the file was not read" in str(rows[-1])


BOMB = "<!DOCTYPE a [<!ENTITY x 'ha'><!ENTITY y '&x;&x;&x;&x;&x;&x;'>]><a><Problem>&y;</Problem></a>"
OUTSIDE = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><a><Problem>&x;</Problem></a>"


@pytest.mark.parametrize("content", [BOMB, OUTSIDE, "<!DOCTYPE a SYSTEM 'a.dtd'><a/>"])
def test_xml_with_a_document_type_is_refused(tmp_path, content):
    with pytest.raises(SpecError, match="document type"):
        read(ASDIV, write(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        "<a>" + "<b>" * 100_000,
        "<a>" + PROBLEM.format(id=1, body="B") + "<Problem>",
        "<a>" + PROBLEM.format(id=1, body="&#0;") + "</a>",
        "<a>" + PROBLEM.format(id=1, body="&undefined;") + "</a>",
        "<?xml version='1.0' encoding='no-such'?><a/>",
        b"<a>" + PROBLEM.format(id=1, body="B").encode() + b"\xff</a>",
    ],
)
def test_broken_xml_is_refused_with_its_line(tmp_path, content):
    with pytest.raises(SpecError, match=r"line 1, after [01] <Problem> elements"):
        read(ASDIV, write(tmp_path, content))


def test_a_problem_without_its_fields_is_a_bad_row(tmp_path):
    text = "<a><Problem ID='1'/>" + PROBLEM.format(id=2, body="<i>B</i>") + PROBLEM.format(id=3, body="B") + "</a>"
    rows = read(ASDIV, write(tmp_path, text))
    assert [row.row for row in rows if isinstance(row, Task)][-1] == "3"
    assert bad(rows)[0] == (1, "Body", "row 1, field 'Body': missing")


def test_files_are_read_row_by_row(tmp_path):
    rows = GSM8K.read(write(tmp_path, line() + "{broken"), "test")
    assert isinstance(next(rows), Task)


def test_an_unknown_benchmark_lists_the_known_ones():
    with pytest.raises(
        SpecError, match=r"No benchmark called .gsm9k.. Did you mean .gsm8k.. Choose one of: aokvqa, asdiv, gsm8k"
    ):
        open_benchmark("gsm9k")


@pytest.mark.parametrize("name", [name for name in TESTABLE if name not in WITHOUT_DATA])
def test_each_benchmark_says_what_it_is(name):
    benchmark = open_benchmark(name)
    assert (benchmark.name, benchmark.needs_data) == (name, True) and benchmark.domain in DOMAINS
    assert benchmark.licence and benchmark.splits


MIGRATED = import_module("migrations.versions.0015_plugins").OTHERS
AFTER_MIGRATION = ("toolworld",)  #: benchmarks that no job of before that migration can name


@pytest.mark.parametrize("name", TESTABLE)
def test_each_benchmark_names_its_metrics_once_and_the_migration_knew_its_main_one(name):
    metrics = open_benchmark(name).metrics
    assert len(set(metrics)) == len(metrics)
    assert name in AFTER_MIGRATION or metrics[0] == MIGRATED.get(name, "accuracy")
