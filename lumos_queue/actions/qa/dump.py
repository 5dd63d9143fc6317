"""The articles of a Wikipedia dump (pages-articles, `.xml` or `.xml.bz2`), one by one, however large the file is.

The XML is read by expat as for the benchmarks: no document types, so no entities, and nothing is fetched. Only one
page at a time is in memory. Redirects and pages that are not articles are skipped.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from lumos_queue.actions.qa.pages import TextPage
from lumos_queue.actions.qa.wikitext import facts_of, paragraphs_of
from lumos_queue.errors import SpecError
from lumos_queue.readers.xml import read_elements
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.sanitize import storable

WHAT = "a pages-articles dump of Wikipedia"
MAX_WIKITEXT = 2**21  #: characters of one page that are read; MediaWiki allows no more bytes than that
#: How many times its size a file may unpack to: bz2 reaches 5 with Wikipedia's text and a million with a bomb's zeros.
MAX_RATIO = 50
SLACK = 64 * 2**20  #: bytes that may be unpacked in any case
_REDIRECT = re.compile(r"\s*#redirect\b", re.IGNORECASE)


def dump_pages(path: Path) -> Iterator[TextPage | str]:
    """Yield the articles. If the file is incomplete or is no such dump, the last item is a line with the problem."""
    try:
        with open_regular(path) as packed_file:
            file = cast(IO[bytes], _Bounded(packed_file)) if path.suffix == ".bz2" else packed_file
            for _, record in read_elements(file, path, WHAT, "page"):
                if page := _article(record):
                    yield page
    except SpecError as error:
        yield str(error)
    except (OSError, EOFError) as error:
        yield f"cannot be read further: {error}"


class _Bounded:
    """A bz2 file that raises OSError if it unpacks to more than MAX_RATIO times its size, as no text does."""

    def __init__(self, packed_file: IO[bytes]):
        self._packed_file, self._unpacked_bytes = packed_file, 0
        self._file = bz2.BZ2File(packed_file)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._unpacked_bytes += len(data)
        if self._unpacked_bytes > MAX_RATIO * self._packed_file.tell() + SLACK:
            raise OSError(f"it unpacks to more than {MAX_RATIO} times its size, as no text does")
        return data


def _article(record: Mapping[str, str]) -> TextPage | None:
    text = storable(record.get("text", ""))[0][:MAX_WIKITEXT]
    if record.get("ns", "0").strip() != "0" or "redirect" in record or _REDIRECT.match(text):
        return None
    title, paragraphs, facts = storable(record.get("title", "").strip())[0], paragraphs_of(text), facts_of(text)
    return TextPage(title, paragraphs, facts) if title and (paragraphs or facts) else None
