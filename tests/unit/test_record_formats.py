"""Rows of data files of every format: one function reads them, and the first bytes say what a file is."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers import json_records
from lumos_queue.readers.records import read_records
from lumos_queue.records import Task
from tests.conftest import ROOT

if TYPE_CHECKING:
    import pyarrow

ROWS = [
    {"question": "How many\ntarts, Zoë?", "answer": "5"},
    {"question": "What is 1; 2?", "answer": "3"},
]
TABLE = 'question,answer\n"How many\ntarts, Zoë?",5\nWhat is 1; 2?,3\n'
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS)


def make_parquet(table: pyarrow.Table) -> bytes:
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


def rows_as_parquet() -> bytes:
    import pyarrow

    return make_parquet(pyarrow.Table.from_pylist(ROWS))


#: What is in each file, or a function that makes it with pyarrow.
CONTENTS: dict[str, bytes | Callable[[], bytes]] = {
    "csv": TABLE.encode(),
    "csv with carriage returns": TABLE.replace(",5\n", ",5\r\n").replace("r\n", "r\r\n").encode(),
    "csv without a last line break": TABLE.rstrip().encode(),
    "csv with a byte order mark": b"\xef\xbb\xbf" + TABLE.encode(),
    "csv with a quoted header": TABLE.replace("question,answer", '"question","answer"').encode(),
    "csv of a spreadsheet": ("sep=,\n" + TABLE).encode(),
    "tsv": b'question\tanswer\n"How many\ntarts, Zo\xc3\xab?"\t5\nWhat is 1; 2?\t3\n',
    "semicolons": b'question;answer\n"How many\ntarts, Zo\xc3\xab?";5\n"What is 1; 2?";3\n',
    "json lines": LINES.encode(),
    "json lines with a byte order mark": b"\xef\xbb\xbf" + LINES.encode(),
    "json list": json.dumps(ROWS).encode(),
    "json list of many lines": json.dumps(ROWS, indent=2, ensure_ascii=False).encode(),
    "json list with a byte order mark": b"\xef\xbb\xbf\n " + json.dumps(ROWS).encode(),
    "parquet": rows_as_parquet,
}


@pytest.fixture
def write(tmp_path):
    def write(content: bytes | str, name: str = "data") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def read(path: Path, **options):
    return list(read_records(path, "rows", **options))


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_same_rows_are_read_from_every_format(write, content, packed):
    content = content() if callable(content) else content
    path = write(gzip.compress(content) if packed else content, "data.txt")
    assert read(path, fields=("question",)) == list(enumerate(ROWS, start=1))


def test_a_folder_that_datasets_saved_is_read_in_all_its_parts(tmp_path):
    import datasets

    rows = [{"question": f"q{number}", "answer": number} for number in range(10)]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "saved", num_shards=3)
    assert read(tmp_path / "saved", fields=("question",)) == list(enumerate(rows, start=1))
    assert read(tmp_path / "saved" / "data-00001-of-00003.arrow")[0] == (1, rows[4])


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_what_datasets_exports_is_read(tmp_path, form):
    import datasets

    table = datasets.Dataset.from_list(ROWS)
    getattr(table, f"to_{form}")(tmp_path / "data")
    assert read(tmp_path / "data") == list(enumerate(ROWS, start=1))


def test_empty_rows_are_counted_and_skipped_in_tables_as_in_json_lines(write):
    table = "question,answer\n\na,1\n\n,\n   \nb,2\n\n\n"
    lines = '\n{"question": "a", "answer": "1"}\n\n \n\n{"question": "b", "answer": "2"}\n\n'
    expected = [(2, {"question": "a", "answer": "1"}), (6, {"question": "b", "answer": "2"})]
    assert read(write(table)) == read(write(lines)) == expected


def test_a_published_table_with_an_empty_last_line_has_no_bad_row(write):
    path = write("Question,Numbers,Equation,Answer\r\nIda has number0 tarts .,2,number0,2\r\n\r\n")
    (task,) = open_benchmark("mawps").read(path, "dev")
    assert isinstance(task, Task) and task.question == "Ida has 2 tarts."


@pytest.mark.parametrize(
    ("table", "first"),
    [
        (
            "id,question; with a sign,answer\n1,a,2\n2,b; c; d,3\n",
            {"id": "1", "question; with a sign": "a", "answer": "2"},
        ),
        ("question;answer\na;1,5\n", {"question": "a", "answer": "1,5"}),
        ("question\tanswer, in litres\na\t1\nb\t2,5\n", {"question": "a", "answer, in litres": "1"}),
        (",question,answer\n0,a,1\n", {"question": "a", "answer": "1"}),
        (" question , answer\na,1\n", {"question": "a", "answer": "1"}),
        ("question,answer,,\na,1,,\n", {"question": "a", "answer": "1"}),
        ("question\na\n", {"question": "a"}),
        ('question,answer\n"he said ""no""",1\n', {"question": 'he said "no"', "answer": "1"}),
    ],
)
def test_the_header_says_what_separates_the_columns(write, table, first):
    assert read(write(table))[0] == (1, first)


def test_a_field_decides_between_separators(write):
    path = write("a,b;question\n1,2;3\n")
    assert read(path, fields=("question",)) == [(1, {"a,b": "1,2", "question": "3"})]


def test_elements_of_a_list_are_read_one_by_one_wherever_a_part_ends(write, monkeypatch):
    monkeypatch.setattr(json_records, "_CHUNK_BYTES", 7)
    rows = [{"a": 'ö\ud800\\"' * 20, "b": [1.25e3, -7, True, None, {}]}, {"c": {"d": "[{,"}}, {}, {"e": 12345678901}]
    path = write(json.dumps(rows, ensure_ascii=True, indent=1))
    assert read(path) == list(enumerate(rows, start=1))
    path = write(json.dumps(rows[1:] * 9, ensure_ascii=False, separators=(",", ":")))
    assert read(path) == list(enumerate(rows[1:] * 9, start=1))
    _, *others = read(write('[{},123456789,12345678,1234567,123456,12345,1234,1.5e10,"\\u00e9\\u00e9"]'))
    values = [str(row).rpartition("found ")[2] for row in others]
    assert values == [
        "'123456789'",
        "'12345678'",
        "'1234567'",
        "'123456'",
        "'12345'",
        "'1234'",
        "'15000000000.0'",
        "'éé'",
    ]


def test_a_list_of_any_length_is_not_held_in_memory(write):
    rows = read_records(write('[{"a": 1}, ' * 1 + '{"a": 2}, ' * 200_000 + "{broken"), "rows")
    assert next(rows) == (1, {"a": 1})
    with pytest.raises(SpecError, match="row 200002: "):
        list(rows)


def test_values_of_parquet_are_those_of_json(write):
    import pyarrow

    table = pyarrow.table(
        {
            "text": ["a", None],
            "large": pyarrow.array(["b", "c"], pyarrow.large_string()),
            "kind": pyarrow.array(["x", "x"]).dictionary_encode(),
            "number": [1.5, float("nan")],
            "truth": [True, None],
            "list": [["x", None], []],
            "object": [{"path": "a.png", "bytes": b"\x89P\xff"}, None],
            "day": pyarrow.array([0, 1], pyarrow.date32()),
            "moment": pyarrow.array([1, 2], pyarrow.timestamp("ns")),
            "money": pyarrow.array(["8.50", None]).cast(pyarrow.decimal128(10, 2)),
            "bytes": [b"plain", b"\xff\xfe"],
        }
    )
    (_, first), (_, second) = read(write(make_parquet(table)))
    assert json.loads(json.dumps([first, second], allow_nan=False)) == [first, second]
    assert first == {
        "text": "a",
        "large": "b",
        "kind": "x",
        "number": 1.5,
        "truth": True,
        "list": ["x", None],
        "object": {"path": "a.png", "bytes": {"bytes": 3}},
        "day": "1970-01-01",
        "moment": "1970-01-01 00:00:00.000000001",
        "money": "8.50",
        "bytes": "plain",
    }
    assert [name for name, value in second.items() if value is None] == ["text", "number", "truth", "object", "money"]
    assert second["bytes"] == {"bytes": 2}


def test_nan_is_null_and_an_infinite_number_a_bad_row(write):
    import pyarrow

    values = ["NaN", "Infinity", "-Infinity", "1e999", "[1, {}, [-1e999]]", "1e30"]
    records = [f'{{"question": "q", "answer": {value}}}' for value in values]
    for content in ("\n".join(records), f"[{','.join(records)}]"):
        first, *bad, last = read(write(content))
        assert (first, last) == ((1, {"question": "q", "answer": None}), (6, {"question": "q", "answer": 1e30}))
        assert [(row.row, row.field) for row in bad] == [(number, "answer") for number in (2, 3, 4, 5)]
    table = pyarrow.table({"answer": [float("nan"), float("inf")], "list": [[1.0], [float("-inf")]]})
    good, bad = read(write(make_parquet(table)))
    assert good == (1, {"answer": None, "list": [1.0]}) and isinstance(bad, BadRow) and bad.field == "answer"


def test_a_cell_of_ten_megabytes_is_read(write):
    import pyarrow

    long = "x" * 10_000_000
    table = pyarrow.table({"question": [long]})
    for content in (f"question,answer\n{long},1\n", json.dumps([{"question": long}]), make_parquet(table)):
        ((_, record),) = read(write(content))
        assert record["question"] == long


def test_ten_thousand_columns_are_read(write):
    names = [f"column {number}" for number in range(10_000)]
    ((_, record),) = read(write(f"{','.join(names)}\n{','.join('1' * 10_000)}\n"))
    assert list(record) == names
    assert len(read(write(json.dumps([dict.fromkeys(names, 1)])))[0][1]) == 10_000


PIPE = """
import sys
from pathlib import Path
from lumos_queue.readers.opened_file import open_raw
from lumos_queue.readers.records import read_records
from lumos_queue.util.regular_file import accept_pipe
path = Path("/dev/stdin")
accept_pipe(path)
first = list(read_records(path, "rows"))
assert len(first) == 2, first
assert list(read_records(path, "rows")) == first
assert len(open_raw(path, "rows").read()) == int(sys.argv[1])
print("read")
"""


@pytest.mark.parametrize("name", ["csv", "json list", "parquet", "gzip"])
def test_a_pipe_that_a_person_named_is_read_as_often_as_needed(name):
    content = CONTENTS.get(name) or gzip.compress(rows_as_parquet())
    content = content() if callable(content) else content
    done = subprocess.run(
        [sys.executable, "-c", PIPE, str(len(content))], input=content, capture_output=True, cwd=ROOT, timeout=60
    )
    assert done.stdout.decode().strip().endswith("read"), done.stderr.decode()


def test_without_pyarrow_one_line_names_the_extra(write):
    code = """
import sys
sys.modules["pyarrow"] = None
from pathlib import Path
from lumos_queue.errors import SpecError
from lumos_queue.readers.records import read_records
assert len(list(read_records(Path(sys.argv[1]), "rows"))) == 2
try:
    list(read_records(Path(sys.argv[2]), "rows"))
except SpecError as error:
    print(error)
"""
    paths = [write(TABLE, "data.csv"), write(rows_as_parquet(), "data.parquet")]
    done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, cwd=ROOT)
    assert "need pyarrow. Install it with: pip install" in done.stdout and "[export]" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
