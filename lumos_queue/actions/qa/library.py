"""Store the index of each corpus in a folder that is named after the corpus' sha256. All episodes share an index."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from lumos_queue.actions.qa.corpus import FORMATS, CorpusReader, check_form, digest_of
from lumos_queue.actions.qa.index import FORMAT, Index
from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.util.regular_file import read_regular_text

FOLDER = "corpora"  #: in LUMOS_HOME; it can be deleted when no job runs
_WARNING = "warning.txt"


def prepare_corpus(path: Path, home: Path) -> dict[str, str]:
    """Return the tool options of a corpus: its absolute path, sha256, and a warning if parts of it could not be read.

    Builds the corpus' index, unless it exists. Raises SpecError if there is no corpus, or no part of it can be read.
    """
    path = path.absolute()
    check_form(path)
    digest = digest_of(path)
    folder = _index_folder(home, digest)
    if not folder.is_dir():
        _build(path, folder, digest)
    warning = read_regular_text(folder / _WARNING)
    options = {"corpus": str(path), "corpus_sha256": digest}
    return {**options, "corpus_warning": warning} if warning else options


class Library:
    """Opens the index of one corpus at the first query. `digest` is the sha256 of the corpus at submission."""

    def __init__(self, path: Path, digest: str, home: Path):
        """Raises SpecError if neither the corpus nor its index is on this machine."""
        self._path, self._digest, self._folder = path, digest, _index_folder(home, digest)
        self._lock = asyncio.Lock()
        self._index: Index | None = None
        if not self._folder.is_dir():
            check_form(path)

    async def index(self) -> Index:
        """Return the index. Builds it if it is missing; raises InfrastructureError if the corpus has changed."""
        async with self._lock:
            if self._index is None:
                self._index = await asyncio.to_thread(self._open)
            return self._index

    def _open(self) -> Index:
        if not self._folder.is_dir():
            try:
                digest = digest_of(self._path)
                if digest != self._digest:
                    raise SpecError(
                        f"'{self._path}' has the sha256 {digest[:12]}…, expected {self._digest[:12]}… as submitted."
                    )
                _build(self._path, self._folder, self._digest)
            except SpecError as error:
                raise InfrastructureError(str(error)) from error
        return _load(self._folder)


@lru_cache(maxsize=4)
def _load(folder: Path) -> Index:
    return Index.load(folder)


def _index_folder(home: Path, digest: str) -> Path:
    return home.absolute() / FOLDER / f"{digest}-{FORMAT}"


def _build(path: Path, folder: Path, digest: str) -> None:
    """Build the index in a temporary folder, then rename the folder: two processes may build it at the same time.

    Raises SpecError if nothing can be read, or if the corpus has another digest after it was read.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=folder.parent))
    try:
        corpus = CorpusReader(path)
        Index.build(corpus, part).close()
        if not corpus.pages:
            raise SpecError(f"Nothing in '{path}' can be read. Expected {FORMATS}. {corpus.warning}".rstrip())
        if digest_of(path) != digest:
            raise SpecError(f"'{path}' was changed while it was read. Try again when nothing writes to it.")
        (part / _WARNING).write_text(corpus.warning, encoding="utf-8")
        try:
            os.rename(part, folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
