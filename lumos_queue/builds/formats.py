"""The formats of a build: the content of a row in each format, and the writers of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from lumos_queue.builds.candidates import BuildCandidate
from lumos_queue.errors import SpecError
from lumos_queue.prompts.conversations import Conversation
from lumos_queue.prompts.dialogue import render
from lumos_queue.util.extras import install_command
from lumos_queue.util.model_loading import import_libraries

ROW_GROUP_SIZE = 1000  #: rows of a Parquet row group
_TEXT_COLUMNS = (
    "id",
    "dataset",
    "benchmark",
    "domain",
    "formulation",
    "module",
    "question",
    "answer",
    "gold",
    "origin",
    "level",
    "licence",
)


class RowWriter(Protocol):
    """An open file to which rows are written."""

    def add(self, line: str) -> None:
        """Write a row. `line`: the JSON text of its columns."""
        ...

    def close(self) -> None: ...


def rows_of(conversation: Conversation, candidate: BuildCandidate, format: str) -> Iterator[tuple[str, int]]:
    """Yield (JSON text, number of replies) of each row of a conversation in that format.

    `lumos`: one row in the layout of the released LUMOS files; its `dataset` is the domain. `parquet`: one row with the
    same messages and with facts about the task.
    `trl-sft`: one row for each reply, with the `prompt` that is sent to the model and the `completion`. So a trainer on
    completions learns each reply once, after exactly the prompt of inference, whatever the chat template.
    """
    replies = len(conversation.turns) // 2
    if format == "lumos":
        yield replace(conversation, dataset=candidate.domain).as_json(), replies
    elif format == "parquet":
        yield json.dumps(_columns(conversation, candidate), ensure_ascii=False), replies
    else:
        for index in range(1, len(conversation.turns), 2):
            row = {
                "prompt": render(conversation.turns[:index], "train"),
                "completion": conversation.turns[index].content.strip(),
            }
            yield json.dumps(row, ensure_ascii=False), 1


def _columns(conversation: Conversation, candidate: BuildCandidate) -> dict[str, Any]:
    """Return the columns of a row. Gold answers are JSON text, so that every benchmark has the same columns."""
    episode = candidate.episode
    _, formulation, module = conversation.dataset.rsplit("/", 2)
    return {
        "id": conversation.id,
        "dataset": conversation.dataset,
        "benchmark": episode.task.benchmark,
        "domain": candidate.domain,
        "formulation": formulation,
        "module": module,
        "question": episode.task.question,
        "answer": candidate.annotation.answer,
        "gold": json.dumps(episode.task.gold, ensure_ascii=False, sort_keys=True),
        "origin": episode.origin,
        "level": candidate.level,
        "licence": episode.licence,
        "messages": [{"role": turn.role, "content": turn.content} for turn in conversation.turns],
    }


def suffix(format: str) -> str:
    return ".parquet" if format == "parquet" else ".jsonl"


def open_writer(path: Path, format: str) -> RowWriter:
    """Open the writer of a format. Raises SpecError when the format needs a library that is not installed."""
    return ParquetWriter(path) if format == "parquet" else LinesWriter(path)


def require_format(format: str) -> None:
    """Raise SpecError, before any episode is read, when the library for this format is not installed."""
    if format == "parquet":
        try:
            with import_libraries("pyarrow.parquet"):
                import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise SpecError(f"Parquet files need pyarrow: {install_command('export')}.") from None


class LinesWriter:
    """A writer of JSON lines."""

    def __init__(self, path: Path):
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def add(self, line: str) -> None:
        self._file.write(line + "\n")

    def close(self) -> None:
        self._file.close()


class ParquetWriter:
    """A writer of Parquet files. The columns are fixed before the first row, so that no row can change them."""

    def __init__(self, path: Path):
        with import_libraries():
            import pyarrow as pa
            import pyarrow.parquet as pq

        turn = pa.struct([("role", pa.string()), ("content", pa.string())])
        self._schema = pa.schema([*((name, pa.string()) for name in _TEXT_COLUMNS), ("messages", pa.list_(turn))])
        self._file = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._table = pa.Table
        self._rows: list[dict[str, Any]] = []

    def add(self, line: str) -> None:
        self._rows.append(json.loads(line))
        if len(self._rows) == ROW_GROUP_SIZE:
            self._flush()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        self._file.write_table(self._table.from_pylist(self._rows, schema=self._schema))
        self._rows = []
