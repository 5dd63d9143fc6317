"""A cache of the facts of files, by content: parsing 1,800 files takes ten seconds, and few of them change."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tests.affected.facts import Facts, read_text_facts
from tests.affected.python_facts import read_python_facts

_HERE = Path(__file__).parent
FILE = "build/affected.json"  #: below the root
_READERS = ("facts.py", "python_facts.py", "parts.py", "fact_cache.py")
_MANY = 200  #: number of files from which several processes parse
_GENERATIONS = 3  #: stored facts per file above which old facts are removed
_STORED = TypeAdapter(tuple[str, dict[str, Facts]])  #: version of the readers; facts by digest
_LARGEST = 4 << 20  #: bytes of a file that is read as text


def read_facts(root: Path, paths: Iterable[str], cache: Path) -> dict[str, Facts]:
    """Return the facts of each file; those that the cache lacks are read and stored. Raises SyntaxError."""
    contents = {path: (root / path).read_bytes() for path in paths}
    digests = {path: _digest(path, content) for path, content in contents.items()}
    cached_facts = _load(cache)
    new_paths = {digest: path for path, digest in digests.items() if digest not in cached_facts}
    if new_paths:
        work = [(path, contents[path]) for path in new_paths.values()]
        if len(work) < _MANY:
            read = [_read_file(*item) for item in work]
        else:
            with ProcessPoolExecutor(os.cpu_count()) as pool:
                read = list(pool.map(_read_file, *zip(*work, strict=True), chunksize=50))
        if len(cached_facts) > _GENERATIONS * len(contents):
            cached_facts = {digest: cached_facts[digest] for digest in digests.values() if digest in cached_facts}
        cached_facts |= dict(zip(new_paths, read, strict=True))
        _save(cache, cached_facts)
    return {path: cached_facts[digest] for path, digest in digests.items()}


def is_helper(path: str) -> bool:
    """Return whether a file is a Python file below tests/ that pytest does not collect."""
    return path.startswith("tests/") and path.endswith(".py") and not Path(path).name.startswith("test_")


def _read_file(path: str, content: bytes) -> Facts:
    if path.endswith(".gz"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return Facts()
    if len(content) > _LARGEST:
        return Facts()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Facts()
    if path.endswith(".py"):
        return read_python_facts(text, has_parts=is_helper(path))
    return read_text_facts(text)


def _digest(path: str, content: bytes) -> str:
    kind = f"{Path(path).suffix} {is_helper(path)}"
    return hashlib.sha256(kind.encode() + b"\0" + content).hexdigest()


def _version() -> str:
    """Return the version of the readers: when their code changes, all facts are read again."""
    return hashlib.sha256(b"".join((_HERE / name).read_bytes() for name in _READERS)).hexdigest()


def _load(cache: Path) -> dict[str, Facts]:
    try:
        version, facts = _STORED.validate_json(cache.read_bytes())
    except (OSError, ValidationError):
        return {}
    return facts if version == _version() else {}


def _save(cache: Path, facts: dict[str, Facts]) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    part = cache.with_suffix(f".{os.getpid()}")
    part.write_bytes(_STORED.dump_json((_version(), facts)))
    part.replace(cache)
