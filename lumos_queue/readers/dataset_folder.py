"""Read the rows of a folder that `save_to_disk` of the library `datasets` wrote: a description and Arrow streams."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.arrow_messages import is_compressed
from lumos_queue.readers.arrow_rows import ArrowRows, damage_error, import_arrow
from lumos_queue.readers.file_kind import FileKind
from lumos_queue.readers.opened_file import open_data, seekable
from lumos_queue.readers.source import MAX_LISTED, Row, Source
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.regular_file import read_regular
from lumos_queue.util.untrusted_json import read_json

if TYPE_CHECKING:
    import pyarrow

STATE, SPLITS = "state.json", "dataset_dict.json"
_MAX_STATE_BYTES = 2**20
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
_DATA_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".gz", ".arrow")


def read_dataset_folder(folder: Path, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the rows of a dataset's folder. Raises SpecError for other folders, and if it has several splits."""
    if (folder / SPLITS).exists():
        raise SpecError(
            f"Cannot read '{folder}': it has several splits. Name one of them: {_list_splits(folder, source)}"
        )
    if not (folder / STATE).exists():
        raise SpecError(f"Cannot read '{folder}': it is a folder{_describe(folder)}. Expected {source.description}.")
    names = _file_names(_read_description(folder, STATE, source), source)
    streams = (open_data(folder / name, "an Arrow stream of a dataset", folder, (FileKind.ARROW,)) for name in names)
    yield from read_arrow(streams, source, fields)


def read_arrow(streams: Iterable[io.BufferedReader], source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the rows of a table whose parts are the `streams`. Raises SpecError for damaged streams."""
    import_arrow(source)
    batches = _read_batches(streams, source)
    first = next(batches, None)
    if first is None:
        raise source.refuse_empty()
    rows = ArrowRows(first.schema, source, fields)
    yield from rows.read(batch for part in ([first], batches) for batch in part)


def _read_batches(streams: Iterable[io.BufferedReader], source: Source) -> Iterator[pyarrow.RecordBatch]:
    with import_libraries("pyarrow", "pyarrow.ipc"):
        import pyarrow
        from pyarrow import ipc

    for stream in streams:
        with seekable(stream, source) as file:
            if file.seek(0, io.SEEK_END) < len(_STREAM_END) or file.seek(-len(_STREAM_END), io.SEEK_END) < 0:
                raise damage_error(source, EOFError("the end is missing"))
            if file.read() != _STREAM_END:
                raise damage_error(source, EOFError("the end is missing"))
            file.seek(0)
            try:
                if is_compressed(file):
                    raise source.refuse("its parts are compressed. Write the file without compression, or as Parquet")
                file.seek(0)
                for batch in ipc.open_stream(file):
                    batch.validate(full=True)
                    yield batch
            except (pyarrow.ArrowException, OSError, ValueError, IndexError, struct.error) as error:
                if isinstance(error, SpecError):
                    raise
                raise damage_error(source, error) from error


def _read_description(folder: Path, name: str, source: Source) -> Any:
    try:
        return read_json(read_regular(folder / name, folder, _MAX_STATE_BYTES))
    except (OSError, ValueError) as error:
        raise source.refuse(f"its file {name} cannot be read ({error})") from error


def _file_names(state: Any, source: Source) -> list[str]:
    """Return the file names of the streams, which are not checked yet. Raises SpecError if there are none."""
    files = state.get("_data_files") if isinstance(state, dict) else None
    names = [file.get("filename") if isinstance(file, dict) else None for file in files or []]
    texts = [name for name in names if isinstance(name, str) and name.endswith(".arrow")]
    if not names or texts != names:
        raise source.refuse(f"its {STATE} does not name its files (*.arrow). Write it again with save_to_disk")
    if isinstance(state, dict) and state.get("_indices_files"):
        raise source.refuse(
            "it uses only some rows of its files (indices). Write it again with flatten_indices().save_to_disk"
        )
    return texts


def _list_splits(folder: Path, source: Source) -> str:
    description = _read_description(folder, SPLITS, source)
    splits = description.get("splits") if isinstance(description, dict) else None
    names = [name for name in splits or [] if isinstance(name, str) and Path(name).name == name]
    path_list = ", ".join(f"'{folder / name}'" for name in names[:MAX_LISTED])
    return f"{path_list or 'its folders'}{' and others' if len(names) > MAX_LISTED else ''}."


def _describe(folder: Path) -> str:
    """Return the end of the message about a folder without a dataset: the path of a file to name instead, if any."""
    files = sorted(path for path in folder.glob("*") if path.suffix in _DATA_FILES and path.is_file())
    if not files:
        return ", and none that `save_to_disk` of datasets wrote"
    return f". Name one of its files, such as '{files[0]}'"
