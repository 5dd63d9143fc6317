"""Hook of MkDocs that adds the files outside docs/ to which pages link.

On a code host a link such as ../lumos_queue/episode.py opens the file. In the site it opens a page with the text of the
file, which the build of the site makes: source/lumos_queue/episode.py.html. A folder's page lists its files.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
MAX_BYTES = 100_000  #: a longer file is not shown

_CODE = re.compile(r"^(```.*?^```|(?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_LANGUAGES = {".py": "python", ".sh": "sh", ".toml": "toml", ".yml": "yaml", ".json": "json"}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every file and folder outside docs/ that pages link to, directly or over such a page."""
    pages = [Path(file.abs_src_path) for file in files.documentation_pages() if file.abs_src_path]
    pending = [path for page in pages for path in _find_links(page)]
    visited: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in visited and not path.is_relative_to(DOCS):
            visited.add(path)
            files.append(File.generated(config, _site_uri(path), content=_write_page(path)))
            pending.extend(_find_links(path))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page whose links out of docs/ lead to the pages of those files."""
    source = page.file.abs_src_path
    return _rewrite_links(markdown, Path(source)) if source else markdown


def _find_links(path: Path) -> list[Path]:
    """Return the files and folders to which a page links, or the files of a folder."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if path.suffix != ".md":
        return []
    text = _CODE.sub("", path.read_text(encoding="utf-8"))
    return [_resolve_link(path, match[2]) for match in _LINK.finditer(text)]


def _resolve_link(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _rewrite_links(text: str, page: Path) -> str:
    """Return a page's text with its relative links as they are in the site."""
    folder = posixpath.dirname(_site_uri(page)) or "."

    def in_site(match: re.Match[str]) -> str:
        return f"{match[1]}{posixpath.relpath(_site_uri(_resolve_link(page, match[2])), folder)}{match[3]}"

    return "".join(piece if index % 2 else _LINK.sub(in_site, piece) for index, piece in enumerate(_CODE.split(text)))


def _site_uri(path: Path) -> str:
    """Return the address in the site of the page of a file or folder."""
    if path.is_relative_to(DOCS):
        return (path / "README.md" if path.is_dir() else path).relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return f"source/{name}" if path.suffix == ".md" else f"source/{name}.md"


def _write_page(path: Path) -> str:
    """Return the text of the page of a file or folder outside docs/. Raises SystemExit if there is none."""
    name = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        folder = posixpath.dirname(_site_uri(path))
        lines = (f"- [{file.name}]({posixpath.relpath(_site_uri(file), folder)})\n" for file in _find_links(path))
        return f"# {name}\n\n{''.join(lines)}"
    if not path.is_file():
        raise SystemExit(f"A page links to {name}, which does not exist.")
    data = path.read_bytes()
    if b"\0" in data or len(data) > MAX_BYTES:
        return f"# {name}\n\nA file of {len(data):,} bytes, which is not shown here.\n"
    if path.suffix == ".md":
        return _rewrite_links(data.decode(), path)
    fence = "`" * 4
    return f"# {name}\n\n{fence}{_LANGUAGES.get(path.suffix, '')}\n{data.decode().rstrip()}\n{fence}\n"
