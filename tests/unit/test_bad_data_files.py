"""Data files that are damaged, hostile, or something else than their name says: one clear line each, little memory."""

from __future__ import annotations

import errno
import functools
import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lumos_queue.cli.main import main
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers import delimited_rows, gzip_file, json_records, opened_file, xml
from lumos_queue.readers.records import read_records
from tests.conftest import ROOT

if TYPE_CHECKING:
    import pyarrow

WHAT = "a file of questions"
TABLE = b"question,answer\n" + b"How many?,1\n" * 2_000


def make_parquet(table: pyarrow.Table, **options) -> bytes:
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


def make_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", TABLE)
    return file.getvalue()


@functools.cache
def good_parquet() -> bytes:
    import pyarrow

    return make_parquet(pyarrow.table({"question": ["a", "b"] * 500, "answer": list(range(1_000))}))


def parquet_without_rows() -> bytes:
    import pyarrow

    return make_parquet(pyarrow.table({"question": ["a"], "answer": [1]})[:0])


def parquet_with_a_double_column() -> bytes:
    import pyarrow

    return make_parquet(pyarrow.Table.from_arrays([pyarrow.array([1])] * 2, ["answer", "answer"]))


GIT_LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n"

#: What is in each file, or a function that makes it with pyarrow, and why the file is refused.
REFUSED: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "only a header": (b"question,answer\n\n", "has no row"),
    "empty list": (b"[]", "has no row"),
    "Git LFS": (GIT_LFS, "a Git LFS pointer.*git lfs pull"),
    "zip": (make_zip(), "a zip archive or a spreadsheet.*save the sheet as CSV"),
    "web page": (b"\n <!DOCTYPE html><html><body>404", "a web page .HTML.: download"),
    "web page without a type": (b"<HTML lang='en'>", "a web page"),
    "xml": (b"<?xml version='1.0'?><a/>", "XML"),
    "bzip2": (b"BZh91AY&SY", "bzip2.*bunzip2"),
    "xz": (b"\xfd7zXZ\0\0", "xz.*unxz"),
    "Zstandard": (b"\x28\xb5\x2f\xfd1", "Zstandard.*unzstd"),
    "SQLite": (b"SQLite format 3\0" + bytes(100), "an SQLite database.*sqlite3"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3", "a PDF file"),
    "pickle": (pickle.dumps(["question"]), "a pickle, which could run any code"),
    "tar": (b"data.csv".ljust(257, b"\0") + b"ustar\x0000", "a tar archive"),
    "unknown": (b"\x01\x02\x03", "no text.*01 02 03"),
    "UTF-16": (TABLE.decode().encode("utf-16"), "UTF-16: convert it with: iconv -f UTF-16"),
    "UTF-16 without its mark": (TABLE.decode().encode("utf-16-le"), "UTF-16LE"),
    "UTF-32": (TABLE.decode().encode("utf-32"), "UTF-32"),
    "gzip twice": (gzip.compress(gzip.compress(TABLE)), "compressed twice"),
    "gzip of a zip archive": (gzip.compress(make_zip()), "a zip archive"),
    "gzip cut off": (gzip.compress(os.urandom(10_000).hex().encode())[:-6], "gzip data is cut off"),
    "gzip damaged": (gzip.compress(TABLE)[:-8] + b"damaged!", "gzip data is damaged.*incorrect data check"),
    "gzip with more behind it": (gzip.compress(TABLE) + b"more", "gzip data is damaged"),
    "double column": (b"question,answer,question\na,1,b\n", "two of its columns have the name 'question'. Rename"),
    "missing column": (b"query,reply\na,1\n", "its first line has the columns: query, reply"),
    "unclear separators": (b"text;label,topic\na,b\n", "commas and semicolons, and it is not clear"),
    "many columns": (",".join(f"c{number}" for number in range(10_001)).encode(), "10,001 columns, and at most 10,000"),
    "open quotation mark in the header": (b'"question,answer\na,1\n', "in its first line is never closed"),
    "Latin-1 in the header": ("Frage,R\xe9ponse\na,1\n".encode("latin-1"), "first line is not UTF-8.*iconv -f LATIN1"),
    "Latin-1 in a list": ('[{"question": "\xe9", "answer": 1}]'.encode("latin-1"), "not UTF-8 near byte 15"),
    "a number": (b"[1, 2]", "expected a JSON object, found '1'"),
    "object of many lines": (b'{\n "data": [{"question": 1}]\n}', "first line is only a part of a JSON object.*jq -c"),
    "list cut off": (b'[{"question": 1, "answer": 1}, {"question', "row 2: "),
    "list without an end": (b'[{"question": 1, "answer": 1},', "row 2: "),
    "list with a last comma": (b'[{"question": 1, "answer": 1},]', "row 2: Expecting value"),
    "list without commas": (b'[{"question": 1, "answer": 1} {}]', "row 2: expected ',' or ']'"),
    "list with more behind it": (b'[{"question": 1, "answer": 1}] []', "more text after the end of the list"),
    "nested without end": (b"[" * 200_000, "nested more than 100 levels deep"),
    "nested objects without end": (b'{"question": ' * 200_000, "nested more than 100 levels deep"),
    "nested list": (b'[{"question": %s1%s}]' % (b"[" * 101, b"]" * 101), "nested more than 100 levels deep"),
    "parquet without its footer": (lambda: good_parquet()[:-9], "damaged or cut off.*[Pp]arquet"),
    "parquet with a broken footer": (
        lambda: good_parquet()[:-40] + b"\xff" * 32 + good_parquet()[-8:],
        "damaged or cut off",
    ),
    "parquet with a broken page": (
        lambda: good_parquet()[:30] + b"\xff" * 40 + good_parquet()[70:],
        "damaged or cut off",
    ),
    "parquet of four bytes": (b"PAR1", "damaged or cut off"),
    "parquet without rows": (parquet_without_rows, "has no row"),
    "parquet with a double column": (parquet_with_a_double_column, "two of its columns have the name 'answer'"),
    "Arrow stream cut off": (b"\xff\xff\xff\xff" + bytes(100), "damaged or cut off"),
    "Feather": (b"ARROW1\0\0", "an Arrow file .Feather.: write it as Parquet"),
}


def read(path: Path, **options):
    return list(read_records(path, WHAT, **options))


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_read_is_refused_with_one_line(tmp_path, content, reason):
    path = tmp_path / "data.csv"
    path.write_bytes(content() if callable(content) else content)
    with pytest.raises(SpecError, match=reason) as refused:
        read(path, fields=("question", "answer"))
    message = str(refused.value)
    assert str(path) in message and WHAT in message and message.isprintable() and len(message) < 500 + len(str(path))


def bad_rows(path: Path) -> list[tuple[int, str]]:
    return [(row.row, str(row)) for row in read(path) if isinstance(row, BadRow)]


def test_bad_rows_of_a_table_are_named_and_the_others_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b'question,answer\na,1\nb\n"c\nd",2,3\ncaf\xe9,4\ne,5\n')
    assert bad_rows(path) == [
        (2, "row 2, field 'row': 1 cells, expected 2"),
        (3, "row 3, field 'row': 3 cells, expected 2"),
        (4, "row 4, field 'question': not UTF-8: convert the file, as with: iconv -f LATIN1 -t UTF-8"),
    ]
    assert [row[0] for row in read(path) if not isinstance(row, BadRow)] == [1, 5]


def test_an_open_quotation_mark_is_a_bad_row_also_at_the_end(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b'question,answer\na,1\nb,"2\nc,3\n')
    ((number, problem),) = bad_rows(path)
    assert number == 2 and "never closed; the rest of the file was not read" in problem


def test_bad_lines_are_named_and_the_others_read(tmp_path):
    path = tmp_path / "data.jsonl"
    wide = json.dumps(dict.fromkeys(map(str, range(10_001))))
    path.write_bytes(b'{"a": 1}\n{"a": "\xe9"}\n[1]\nNaN\n{"a"\n%s\n{"a": 2}' % wide.encode())
    assert [number for number, _ in bad_rows(path)] == [2, 3, 4, 5, 6]
    assert "not UTF-8 at byte 7: convert the file" in bad_rows(path)[0][1] and "10,001 fields" in bad_rows(path)[-1][1]


def test_a_cell_beyond_the_limit_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited_rows, "MAX_FIELD_BYTES", 1_000)
    path = tmp_path / "data.csv"
    path.write_text(f"question,answer\na,1\n{'x' * 3_000},2\n")
    ((number, problem),) = bad_rows(path)
    assert number == 2 and "a cell of more than 1.0 kB" in problem


def test_a_tag_beyond_the_limit_is_refused_with_the_limit_in_the_form_of_all_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "MAX_TAG_BYTES", 1_000)
    path = tmp_path / "data.xml"
    path.write_text(f"<list><row question='{'x' * 100_000}'/></list>")
    with pytest.raises(SpecError, match=r"a tag or a comment of more than 1\.0 kB"):
        list(xml.elements(path, "a list", "row"))


def test_an_element_of_a_list_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_records, "MAX_FIELD_BYTES", 1_000)
    monkeypatch.setattr(json_records, "_CHUNK_BYTES", 100)
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"question": "a"}, {"question": "x" * 3_000}]))
    with pytest.raises(SpecError, match=r"row 2: longer than 1\.0 kB"):
        read(path)


LIMITED = """
import resource, sys
from pathlib import Path
from lumos_queue.errors import SpecError
from lumos_queue.readers.records import read_records
import pyarrow.parquet
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    print(sum(1 for _ in read_records(Path(sys.argv[1]), "rows")))
except SpecError as error:
    print(error)
"""


def read_in_little_memory(path: Path, megabytes: int) -> str:
    """Read a file in a process that may use so much more memory; return what it prints."""
    command = [sys.executable, "-c", LIMITED, str(path), str(megabytes * 2**20)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    return done.stdout or done.stderr[-500:]


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"question,answer\n", b"what,1\n" * 100_000),
        (b"question,answer\n", b"x" * 700_000),
        (b'{"question": "', b"x" * 700_000),
        (b'[{"question": "', b"x" * 700_000),
        (b"\n", b"\n" * 700_000),
    ],
    ids=["rows", "cell", "line", "element", "blank"],
)
def test_a_gzip_bomb_is_refused_in_little_memory(tmp_path, start, part):
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(start)
        for _ in range(600):
            file.write(part)
    assert path.stat().st_size < 2_000_000
    message = read_in_little_memory(path, 300)
    assert "unpacks to more than 200 times its size" in message or "is empty" in message, message


def test_the_size_of_what_is_unpacked_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(gzip_file, "MAX_UNPACKED_BYTES", 10_000)
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(TABLE))
    with pytest.raises(SpecError, match="unpacks to more than"):
        read(path)


def test_a_copy_that_is_needed_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(opened_file, "MAX_COPY_BYTES", 1_000)
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(good_parquet()))
    with pytest.raises(SpecError, match="Write it to a file first"):
        read(path)


def test_a_large_text_of_parquet_is_not_repeated_in_memory(tmp_path):
    import pyarrow

    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 20_000, pyarrow.int32()), ["x" * 2**20])
    path = tmp_path / "data.parquet"
    path.write_bytes(make_parquet(pyarrow.table({"question": texts}), store_schema=False, compression="zstd"))
    assert path.stat().st_size < 10_000
    assert read_in_little_memory(path, 150).strip() == "20000"


def test_a_parquet_bomb_is_refused(tmp_path):
    import pyarrow

    path = tmp_path / "data.parquet"
    path.write_bytes(make_parquet(pyarrow.table({"question": ["x" * 2**26, "y"]}), compression="zstd"))
    assert "unpacks to 67.1 MB, more than 200 times its size" in read_in_little_memory(path, 200)


def test_extension_types_and_unions_are_refused(tmp_path):
    import pyarrow
    from pyarrow import ipc

    extension = pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), pyarrow.array([bytes(16)], pyarrow.binary(16)))
    numbers, kinds = pyarrow.array([1]), pyarrow.array([0], "int8")
    columns = {
        "of the extension type 'arrow.uuid'": extension,
        "of the extension type": pyarrow.StructArray.from_arrays([numbers, extension], ["a", "b"]),
        "a union of types": pyarrow.UnionArray.from_dense(kinds, pyarrow.array([0], "int32"), [numbers]),
    }
    for reason, column in columns.items():
        table = pyarrow.Table.from_arrays([column], ["answer"])
        with ipc.new_stream(str(tmp_path / "data.arrow"), table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(SpecError, match=f"column 'answer' is {reason}"):
            read(tmp_path / "data.arrow")


def many_long_texts() -> pyarrow.Array:
    import pyarrow

    return pyarrow.array(["x" * 2**20] * 64)


def one_text_of_a_dictionary() -> pyarrow.Array:
    import pyarrow

    return pyarrow.array(["x" * 2**26]).dictionary_encode()


@pytest.mark.parametrize("column", [many_long_texts, one_text_of_a_dictionary], ids=["column0", "column1"])
@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_a_compressed_stream_is_refused_before_it_is_unpacked(tmp_path, column, compression):
    import pyarrow
    from pyarrow import ipc

    table = pyarrow.table({"answer": column()})
    path = tmp_path / "data.arrow"
    with ipc.new_stream(str(path), table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    if compression:
        assert "its parts are compressed" in read_in_little_memory(path, 32)
    else:
        assert len(read(path)) == len(table)


def test_the_command_names_what_a_file_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    pointer = tmp_path / "test.jsonl"
    pointer.write_bytes(GIT_LFS)
    arguments = ["--data", str(pointer), "--formulation", "direct", "--solver", "scripted:none.jsonl"]
    assert main(["evaluate", "gsm8k", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.endswith("it is a Git LFS pointer, not the file itself: fetch it with: git lfs pull.")


@pytest.mark.parametrize("good_reads", [0, 1])
def test_a_disk_that_fails_is_told_with_the_name_of_the_file(tmp_path, monkeypatch, good_reads):
    class FailingFile(io.FileIO):
        reads = 0

        def readinto(self, buffer) -> int:
            FailingFile.reads += 1
            if FailingFile.reads > 2 * good_reads:  # the file is opened twice: to see what it is, and to read it
                raise OSError(errno.EIO, "Input/output error")
            return super().readinto(buffer)

    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "answer": "1"}\n' * 10_000)
    monkeypatch.setattr(
        "lumos_queue.readers.opened_file.open_regular", lambda path, folder=None: io.BufferedReader(FailingFile(path))
    )
    with pytest.raises(SpecError) as raised:
        list(read_records(path, "a file of rows"))
    assert str(raised.value) == f"Cannot read '{path}': Input/output error. Expected a file of rows."
