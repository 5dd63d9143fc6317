"""Nested values that tables hold as text, as NumPy and pandas really print them, and texts that only look like it."""

from __future__ import annotations

import json

import pytest

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import Node, RowNode
from lumos_queue.readers.written_values import read_written
from tests.cpu_limit import cpu_limit

VALUES = [
    {"title": ["Ann's", 'Bob "B"'], "sent_id": [0, 2]},
    {"sentences": [["It's so.\n", " Yes\t\\n \u00e9 \u6f22 \x07\u200b\U0001f600"], []]},
    [["a"], [], ["b", "c"]],
    [{"idx": 0, "is": True, "title": None}, {"idx": 1, "is": False, "title": "x" * 300}],
    [True, False, True],
    [-1, 10**12],
    ["a, b", "[c]", "...", "array([1])", "None"],
    [str(number) for number in range(1_000)],
    {"name": 0.1, "deep": {"deeper": [{"deepest": ["x"]}]}},
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_what_a_table_of_pandas_has_is_read(value):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    assert isinstance(pandas.DataFrame, type)
    (cell,) = pyarrow.table({"cell": [value]}).to_pandas()["cell"]
    assert read_written(str(cell)) == value
    assert read_written(repr(value)) == value
    assert read_written(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("['a' 'b' ... 'y' 'z']", "left out"),
        ("array(['a', ..., 'z'], dtype=object)", "left out"),
        ("array(['a'], shape=(1200,), dtype=object)", "left out"),
        ("[0.5 1.25]", "rounded"),
        ("{'a': array([0.12345679])}", "rounded"),
        ("[" * 1_000, "nested more than"),
        ("{1: 2}", "no text"),
        ("{'a': 1 'b': 2}", "at ''b''"),
        ("['a'] x", "at 'x'"),
        ("['a'", "at its end"),
        ("['a", "at ''a'"),
        ("['\\U00110000']", "no character"),
        ("[" + "1" * 500 + " 2]", "more than 400 digits"),
        ("[1-2 3]", "no number"),
        ("(1, 2)", "at '('"),
        ("[b'\\u0100']", "bytes"),
        ("__import__('os').system('true')", "at '__import__"),
        ("[f() for f in (exit,)]", "at 'f'"),
        ("[nan 'x']", "at 'nan'"),
        ("", "at its end"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=r".") as error:
        read_written(text)
    assert reason in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 200


@pytest.mark.parametrize("part", ["[", "'", "\\'", "1 ", "- ", "b", " ", "1.", "array(", "{'a':", "... ", "'a'", "\n"])
def test_hostile_texts_take_time_in_proportion_to_their_length(part):
    with cpu_limit(20), pytest.raises(ValueError, match=r"."):
        read_written(f"['{part * (2**20 // len(part))}")


def test_a_value_is_read_where_a_list_or_an_object_is_expected_only():
    row = RowNode(1, "", {"list": "['a' 'b']", "object": "{'a': 1}", "text": "[a]", "number": "3.0", "truth": "False"})
    assert row["list"].texts() == ["a", "b"] and row["object"]["a"].whole() == 1
    assert row["text"].text() == "[a]" and row["number"].whole() == 3 and row["truth"].truth() is False
    with pytest.raises(BadRow, match=r"field 'text': neither JSON nor"):
        row["text"].items()
    with pytest.raises(BadRow, match="expected a list"):
        row["object"].items()
    for text in ("3.5", "1e3", "x", "٣"):
        with pytest.raises(BadRow, match="whole number"):
            RowNode(1, "n", text).whole()


def test_null_is_absent_in_every_row():
    for kind in (Node, RowNode):
        row = kind(1, "", {"null": None, "list": [None]})
        assert "null" not in row and "list" in row
        with pytest.raises(BadRow, match="field 'null': missing"):
            row["null"]
    assert "empty" in Node(1, "", {"empty": ""}) and "empty" not in RowNode(1, "", {"empty": ""})
