"""Read the rows of a Parquet file part by part. No code of the file runs: no extension types and no pickles."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lumos_queue.errors import BadRow
from lumos_queue.readers.arrow_rows import ROWS_AT_ONCE, ArrowRows, damage_error, import_arrow
from lumos_queue.readers.gzip_file import MAX_RATIO, MAX_UNPACKED_BYTES, SLACK_BYTES
from lumos_queue.readers.opened_file import seekable
from lumos_queue.readers.source import Row, Source
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.untrusted_json import MAX_DEPTH
from lumos_queue.util.wording import format_bytes

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

_BUFFER_BYTES = 2**20  #: of a column, read at once
_MAX_NAMES = 1_000_000  #: of parts in a footer
_MAX_FOOTER = 64 * 2**20  #: bytes of a text in a footer
#: A column with fewer encoded bytes in total, or for each value, is read as distinct values instead of a value for each
#: row, because a few bytes can encode a large text for each of a million rows.
_SMALL_BYTES, _SMALL_VALUE_BYTES = 8 * 2**20, 8


def read_parquet_rows(file: io.BufferedReader, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the rows of a Parquet file. Raises SpecError for a file that is damaged or unpacks beyond the limits."""
    import_arrow(source)
    with import_libraries("pyarrow", "pyarrow.parquet.ParquetFile", "pyarrow.parquet.read_metadata"):
        import pyarrow
        from pyarrow.parquet import ParquetFile, read_metadata

    with seekable(file, source) as data:
        try:
            metadata = read_metadata(data)
            _check_size(metadata, data.seek(0, io.SEEK_END), source)
            table = ParquetFile(
                data,
                read_dictionary=_list_repeated(metadata),
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES,
                thrift_string_size_limit=_MAX_FOOTER,
                thrift_container_size_limit=_MAX_NAMES,
                schema_depth_limit=MAX_DEPTH,
                page_checksum_verification=True,
                arrow_extensions_enabled=False,
            )
            schema = table.schema_arrow
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise damage_error(source, error) from error
        rows = ArrowRows(schema, source, fields)
        yield from rows.read(table.iter_batches(ROWS_AT_ONCE, use_threads=False))


def _list_repeated(metadata: FileMetaData) -> list[str]:
    """Return the columns that are small in the file, but whose repeated values may unpack to much more."""
    names = set[str]()
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        for column in range(group.num_columns):
            chunk = group.column(column)
            if chunk.total_uncompressed_size < max(_SMALL_BYTES, _SMALL_VALUE_BYTES * chunk.num_values):
                names.add(chunk.path_in_schema)
    return sorted(names)


def _check_size(metadata: FileMetaData, size: int, source: Source) -> None:
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    unpacked_size = sum(max(group.total_byte_size, 0) for group in groups)
    if unpacked_size > min(MAX_UNPACKED_BYTES, MAX_RATIO * size + SLACK_BYTES):
        raise source.refuse(
            f"it unpacks to {format_bytes(unpacked_size)}, more than {MAX_RATIO} times its size or "
            f"{format_bytes(MAX_UNPACKED_BYTES)}. Split the file, or write it without compression"
        )
