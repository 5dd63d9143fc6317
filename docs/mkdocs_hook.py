"""Hook of MkDocs: files outside docs/ that pages link to are in the site.

On a code host a link such as ../lumos_queue/episode.py opens the file. In the site it opens a page with its text, made
while the site is built: source/lumos_queue/episode.py.html. A folder's page lists its files.
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
    """Add a page for every file and folder outside docs/ that a page links to, and for those that these link to."""
    pages = [Path(file.abs_src_path) for file in files.documentation_pages() if file.abs_src_path]
    pending = [path for page in pages for path in _find_linked(page)]
    visited: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in visited and not path.is_relative_to(DOCS):
            visited.add(path)
            files.append(File.generated(config, _site_uri(path), content=_page_of(path)))
            pending.extend(_find_linked(path))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links out of docs/ name the pages that show what they name."""
    source = page.file.abs_src_path
    return _with_links(markdown, Path(source)) if source else markdown


def _find_linked(path: Path) -> list[Path]:
    """The files and folders that a page or a folder leads to."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if path.suffix != ".md":
        return []
    text = _CODE.sub("", path.read_text(encoding="utf-8"))
    return [_target(path, match[2]) for match in _LINK.finditer(text)]


def _target(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _with_links(text: str, page: Path) -> str:
    """A page's text with its relative links as they are in the site."""
    folder = posixpath.dirname(_site_uri(page)) or "."

    def in_site(match: re.Match[str]) -> str:
        return f"{match[1]}{posixpath.relpath(_site_uri(_target(page, match[2])), folder)}{match[3]}"

    return "".join(piece if index % 2 else _LINK.sub(in_site, piece) for index, piece in enumerate(_CODE.split(text)))


def _site_uri(path: Path) -> str:
    """Where the site has the page of a file or folder of the project."""
    if path.is_relative_to(DOCS):
        return (path / "README.md" if path.is_dir() else path).relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return f"source/{name}" if path.suffix == ".md" else f"source/{name}.md"


def _page_of(path: Path) -> str:
    """The text of the page of a file or folder outside docs/. One that does not exist ends the build."""
    name = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        folder = posixpath.dirname(_site_uri(path))
        lines = (f"- [{file.name}]({posixpath.relpath(_site_uri(file), folder)})\n" for file in _find_linked(path))
        return f"# {name}\n\n{''.join(lines)}"
    if not path.is_file():
        raise SystemExit(f"A page links to {name}, which does not exist.")
    data = path.read_bytes()
    if b"\0" in data or len(data) > MAX_BYTES:
        return f"# {name}\n\nA file of {len(data):,} bytes, which is not shown here.\n"
    if path.suffix == ".md":
        return _with_links(data.decode(), path)
    fence = "`" * 4
    return f"# {name}\n\n{fence}{_LANGUAGES.get(path.suffix, '')}\n{data.decode().rstrip()}\n{fence}\n"
