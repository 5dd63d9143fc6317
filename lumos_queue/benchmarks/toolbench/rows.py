"""Read the queries of ToolBench and StableToolBench: a file, or a folder of six files; an invented row:

    {"query_id": 7, "query": "Where is my parcel CA1?", "relevant APIs": [["suivi-colis", "Latest"]],
     "api_list": [{"category_name": "Logistics", "tool_name": "suivi-colis", "api_name": "Latest",
                   "api_description": "Latest state", "required_parameters": [{"name": "colisId", "type": "STRING",
                   "description": "", "default": ""}], "optional_parameters": [], "method": "GET",
                   "template_response": {"status": "str"}}]}

If `query` is a list, its first text is the query. Rows without `api_list` need retrieved tools. An entry of `api_list`
may lack descriptions and parameters, because demonstration files only have names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.source import Row
from lumos_queue.records import Task
from lumos_queue.util.sanitize import storable_json

FIELDS = ("query",)
FORMAT = "a ToolBench query file: rows with 'query', 'query_id' and 'api_list'"
#: Split to the published file of its queries.
FILES = {
    "I1-inst": "G1_instruction.json",
    "I1-tool": "G1_tool.json",
    "I1-cat": "G1_category.json",
    "I2-inst": "G2_instruction.json",
    "I2-cat": "G2_category.json",
    "I3-inst": "G3_instruction.json",
}
_TEXTS = ("category_name", "tool_name", "api_name", "api_description", "method", "tool_description")
_LISTS = ("required_parameters", "optional_parameters")


def file_of(path: Path | None, split: str) -> Path | None:
    """Return the file with a split's rows: the path itself, or the split's file in this folder. Raises SpecError."""
    if path is None or not path.is_dir():
        return path
    if split not in FILES:
        raise SpecError(f"'{path}' is a folder of test queries: give the file of the split '{split}'.")
    if not (file := path / FILES[split]).is_file():
        raise SpecError(f"'{path}' has no file '{FILES[split]}' for the split '{split}'. Expected {FORMAT}.")
    return file


def files_of(path: Path) -> list[Path]:
    """Return the file itself, or the published files in this folder."""
    return [file for name in FILES.values() if (file := path / name).is_file()] if path.is_dir() else [path]


def query_rows(path: Path | None) -> Iterator[Row | BadRow]:
    """Yield the records of a query file with their row numbers. Raises SpecError for a file of another format."""
    return read_records(path, FORMAT, FIELDS)


def query_task(row: int, record: Mapping[str, Any]) -> Task:
    """Return the task of a record, with the functions that the record lists. Raises BadRow.

    `inputs["functions"]` is None if the record lists none.
    """
    node = RowNode(row, "", record)
    functions = apis_of(node)
    relevant = _relevant(node, functions)
    inputs = {"functions": functions}
    return Task("toolbench", "", _row_name(node, row), _query(node["query"]), inputs, {"relevant": relevant})


def read_listed_apis(path: Path) -> list[dict[str, Any]]:
    """Return all APIs that the good rows of a file or of a folder's files list. Raises SpecError if they list none."""
    apis: list[dict[str, Any]] = []
    for file in files_of(path):
        for item in query_rows(file):
            try:
                apis += [] if isinstance(item, BadRow) else apis_of(RowNode(item[0], "", item[1])) or []
            except BadRow:
                continue  # reported when the row is read as a task
    if not apis:
        raise SpecError(
            f"No row of '{path}' lists APIs, so no tools can be retrieved. Use a file whose rows list APIs."
        )
    return apis


def apis_of(node: RowNode) -> list[dict[str, Any]] | None:
    """Return the entries of a record's `api_list`, as `_api` does; None without this field. Raises BadRow."""
    if "api_list" not in node:
        return None
    apis = [_api(item) for item in node["api_list"].items()]
    if not apis:
        raise node["api_list"].bad("empty")
    return apis


def _api(item: RowNode) -> dict[str, Any]:
    """Return an entry with only the fields that a function needs. Missing texts become '', missing lists []."""
    for name in ("api_name", "tool_name"):
        item[name].raw_text()
    api: dict[str, Any] = {name: _text(item, name) for name in _TEXTS}
    for name in _LISTS:
        parameters = item[name].items() if name in item else []
        for parameter in parameters:
            parameter["name"].raw_text()
        api[name] = [parameter.fields() for parameter in parameters]
    if "template_response" in item.fields():  # null is an answer, too
        api["template_response"] = item.fields()["template_response"]
    return storable_json(api)


def _text(item: RowNode, name: str) -> str:
    """Return a text; '' if it is missing or null."""
    value = item[name].value if name in item else None
    if value is not None and not isinstance(value, str):
        raise item[name].bad("expected text")
    return value or ""


def _relevant(node: RowNode, functions: list[dict[str, Any]] | None) -> list[list[str]]:
    """Return the (tool, API) pairs of the relevant APIs, without the duplicates that a published row has."""
    pairs = [_pair(item) for item in node["relevant APIs"].items()] if "relevant APIs" in node else []
    known_apis = {(api["tool_name"], api["api_name"]) for api in functions or ()}
    for pair in pairs:
        if functions is not None and pair not in known_apis:
            raise node["relevant APIs"].bad(f"'{pair[1][:80]}' of '{pair[0][:80]}' is not in api_list")
    return [list(pair) for pair in dict.fromkeys(pairs)]


def _pair(item: RowNode) -> tuple[str, str]:
    if not item.is_list() or len(item.items()) != 2:
        raise item.bad("expected the names of a tool and of an API")
    tool, api = (name.raw_text() for name in item.items())
    return tool, api


def _query(node: RowNode) -> str:
    """Return the query, the first if the field has a list of queries."""
    if isinstance(node.value, list):
        if not node.value:
            raise node.bad("empty")
        return node.items()[0].text(verbatim=True)
    return node.text(verbatim=True)


def _row_name(node: RowNode, row: int) -> str:
    """Return the query's own number or name, or else the row's number."""
    if "query_id" not in node:
        return str(row)
    identifier = node["query_id"]
    return identifier.text() if isinstance(identifier.value, str) else str(identifier.whole())
