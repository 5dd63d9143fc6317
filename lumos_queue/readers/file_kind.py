"""Detect the kind of a file from its first bytes, whatever its name. A file of a kind that is refused has a remedy."""

from __future__ import annotations

import re
from enum import StrEnum

UTF8_MARK = b"\xef\xbb\xbf"
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body|script)\b", re.IGNORECASE)


class FileKind(StrEnum):
    """The kinds of files that can be read; `OTHER` is refused."""

    TEXT = "text"
    GZIP = "gzip"
    PARQUET = "Parquet"
    ARROW = "an Arrow stream"
    OTHER = "other"


_READABLE = {b"\x1f\x8b": FileKind.GZIP, b"PAR1": FileKind.PARQUET, b"\xff\xff\xff\xff": FileKind.ARROW}
_AS_UTF8 = "convert it with: iconv -f UTF-{} -t UTF-8 FILE > NEW"
_AS_TABLE = "save its rows as CSV, JSON lines or Parquet"
_IMAGE = "name a file of rows; images are named in its rows"
#: The first bytes, the kind of such a file, and the remedy.
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer, not the file itself",
        "fetch it with: git lfs pull",
    ),
    (b"/annex/objects/", "a git-annex pointer, not the file itself", "fetch it with: git annex get"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet (.xlsx, .ods)", "unzip it, or save the sheet as CSV (UTF-8)"),
    (b"PK\x05\x06", "an empty zip archive", "name the file itself"),
    (b"BZh", "compressed with bzip2", "unpack it with: bunzip2"),
    (b"\xfd7zXZ\0", "compressed with xz", "unpack it with: unxz"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "unpack it with: unzstd"),
    (b"\x04\x22\x4d\x18", "compressed with LZ4", "unpack it with: unlz4"),
    (b"\x1f\x9d", "compressed with compress", "unpack it with: uncompress"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it with: 7z x"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it with: unrar x"),
    (b"PARE", "an encrypted Parquet file", "write it without encryption"),
    (b"ARROW1", "an Arrow file (Feather)", "write it as Parquet"),
    (b"FEA1", "a Feather file", "write it as Parquet"),
    (b"ORC", "an ORC file", "write it as Parquet"),
    (b"Obj\x01", "an Avro file", "write it as Parquet"),
    (b"\x89HDF\r\n", "an HDF5 file", _AS_TABLE),
    (b"SQLite format 3\0", "an SQLite database", "write its table as CSV: sqlite3 -csv -header FILE 'SELECT …'"),
    (b"%PDF-", "a PDF file", _AS_TABLE),
    (b"{\\rtf", "a text with formats (RTF)", "save it as plain text"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a file of an old Office program (.xls, .doc)",
        "save the sheet as CSV (UTF-8)",
    ),
    (b"\x93NUMPY", "a NumPy array", _AS_TABLE),
    (b"\x80\x02", "a pickle, which could run any code", _AS_TABLE),
    (b"\x80\x03", "a pickle, which could run any code", _AS_TABLE),
    (b"\x80\x04", "a pickle, which could run any code", _AS_TABLE),
    (b"\x80\x05", "a pickle, which could run any code", _AS_TABLE),
    (b"\x89PNG", "a PNG image", _IMAGE),
    (b"\xff\xd8\xff", "a JPEG image", _IMAGE),
    (b"GIF8", "a GIF image", _IMAGE),
    (b"\x7fELF", "a program", "name a file of rows"),
    (b"\xff\xfe\0\0", "UTF-32", _AS_UTF8.format(32)),
    (b"\0\0\xfe\xff", "UTF-32", _AS_UTF8.format(32)),
    (b"\xff\xfe", "UTF-16", _AS_UTF8.format(16)),
    (b"\xfe\xff", "UTF-16", _AS_UTF8.format(16)),
)
#: Characters that no text begins with: control characters except tabs, line breaks and the like.
_BINARY = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")


def kind_of(start: bytes) -> FileKind:
    """Return the kind of a file from its first 512 or more bytes, or from all bytes of a shorter file."""
    for beginning, kind in _READABLE.items():
        if start.startswith(beginning):
            return kind
    return FileKind.OTHER if refusal_of(start) else FileKind.TEXT


def refusal_of(start: bytes) -> str:
    """Return why a file is refused, with the remedy, as `it is UTF-16: convert it with …`; "" if it may be text."""
    for beginning, name, remedy in _OTHERS:
        if start.startswith(beginning):
            return f"it is {name}: {remedy}"
    if start[257:262] == b"ustar":
        return "it is a tar archive: unpack it with: tar -xf"
    text = start[:1024].removeprefix(UTF8_MARK).lstrip().decode("latin-1")
    if _HTML.match(text):
        return "it is a web page (HTML): download the file itself, not the page about it"
    if wide := _wide_encoding(start[:8]):
        return f"it is {wide} without a byte order mark: convert it with: iconv -f {wide} -t UTF-8 FILE > NEW"
    if not _BINARY.isdisjoint(start[:16]):
        return f"it is no text, and of no known kind (it begins with the bytes {start[:8].hex(' ')}): {_AS_TABLE}"
    return ""


def _wide_encoding(start: bytes) -> str:
    """Return UTF-16LE or UTF-16BE if the start looks like ASCII text in that encoding, otherwise ""."""
    if len(start) >= 4:
        if not any(start[1:4:2]) and all(start[0:4:2]):
            return "UTF-16LE"
        if not any(start[0:4:2]) and all(start[1:4:2]):
            return "UTF-16BE"
    return ""
