"""Builds: the list of training sets, one training set, and the difference between two."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from db.queries.changes import Change
from lumos_queue.builds import summary
from lumos_queue.builds.difference import compare_builds
from lumos_queue.builds.folder import (
    CARD,
    LINEAGE,
    MANIFEST,
    all_builds,
    find_changed_files,
    find_named_build,
    read_manifest,
)
from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import open_regular_text
from lumos_queue.util.sanitize import storable
from lumos_queue.web.answers import answer_part
from lumos_queue.web.rendering import render
from lumos_queue.web.request_context import NotFound, Reading, RequestContext
from lumos_queue.web.shared_results import SharedResult

router = APIRouter()
PAGE = 100  #: builds
MAX_ROWS = 100  #: of a difference, of each kind
MAX_CARD = 20_000  #: characters of a card
_TAKEN = ("new", "difference")  #: names whose address is another page


@router.get("/builds")
def builds_page(visit: Reading, after: str = "") -> Response:
    """The named builds, ordered by name."""
    folders = [folder for folder in all_builds(visit.site.settings) if folder.name > after]
    builds, problems = [], []
    for folder in folders[:PAGE]:
        try:
            manifest = read_manifest(folder)
        except SpecError as error:
            problems.append(str(error))
            continue
        benchmarks = sorted({name for names in manifest["licences"].values() for name in names})
        builds.append((folder.name, address_of_build(folder.name), manifest, benchmarks))
    drafts = visit.site.drafts.list() if visit.may("operator") else []
    last = folders[PAGE - 1].name if len(folders) > PAGE else ""
    return render(visit, "builds.html", builds=builds, damaged=problems, drafts=drafts, last=last)


@router.get("/builds/difference")
async def difference_page(visit: Reading, one: str = "", other: str = "") -> Response:
    """Show the options, files and rows that differ. Rows are loaded after the page, because comparing them is slow."""
    if "hx-request" not in visit.request.headers:
        return await run_in_threadpool(_show_difference_page, visit, one, other)
    folders = await run_in_threadpool(lambda: [find_build(visit, name) for name in (one, other)])
    files = [folder / name for folder in folders for name in (MANIFEST, LINEAGE)]
    result = await _share(visit, ("difference", *folders), files, lambda: _compare(*folders))
    kinds = {f"Only in {one}": "only_a", f"Only in {other}": "only_b", "Changed": "changed"}
    return await answer_part("build_difference_part.html", result, lambda: {"found": result.value}, kinds=kinds)


def _compare(first: Path, second: Path) -> dict[str, Any]:
    """The difference as a page displays it: the first rows of each kind, and their numbers."""
    difference = compare_builds(first, second)
    rows = {kind: difference[kind] for kind in ("only_a", "only_b", "changed")}
    return {
        "same": difference["same"],
        "options": difference["options"],
        "rows": {kind: listed_rows[:MAX_ROWS] for kind, listed_rows in rows.items()},
        "lengths": {kind: len(listed_rows) for kind, listed_rows in rows.items()},
        "counts": {kind: sum(row["rows"] for row in listed_rows) for kind, listed_rows in rows.items()},
    }


def _show_difference_page(visit: RequestContext, one: str, other: str) -> Response:
    manifests = [read_manifest(find_build(visit, name)) for name in (one, other)]
    return render(
        visit,
        "build_difference.html",
        one=one,
        other=other,
        manifests=manifests,
        addresses=[address_of_build(one), address_of_build(other)],
        where=visit.request.url.query,
    )


@router.get("/builds/{name}")
@router.get("/builds/named/{name}")
def build_page(visit: Reading, name: str) -> Response:
    """A build: its options, sources, files and card."""
    folder = find_build(visit, name)
    manifest = read_manifest(folder)
    other_names = [build.name for build in all_builds(visit.site.settings)[: 10 * PAGE] if build.name != name]
    return render(
        visit,
        "build.html",
        name=name,
        manifest=manifest,
        folder=str(folder),
        others=other_names,
        card=_read_card(folder),
        address=f"/builds/named/{quote(name)}",
        **facts_of(manifest),
    )


@router.get("/builds/named/{name}/files")
async def files_part(visit: Reading, name: str) -> Response:
    """The files of a build that have changed since it was made. All files are read."""
    folder = await run_in_threadpool(find_build, visit, name)
    manifest = await run_in_threadpool(read_manifest, folder)
    files = [folder / MANIFEST, *(folder / str(file["file"]) for file in manifest["files"])]
    result = await _share(visit, ("files", folder), files, lambda: find_changed_files(folder, read_manifest(folder)))
    return await answer_part("build_files.html", result, lambda: {"changed": result.value})


async def _share(
    visit: RequestContext, key: Hashable, files: Sequence[Path], compute: Callable[[], Any]
) -> SharedResult:
    """Return the result of `compute`, which reads the files, once for all who request it."""

    def compute_after_change() -> tuple[Change, Any]:
        return _find_change(files), compute()

    change = await run_in_threadpool(_find_change, files)
    return await visit.site.results.find(visit.request, visit.person.name, key, change, compute_after_change)


def _find_change(files: Sequence[Path]) -> Change:
    """The last change of files, by their status. A file that is missing has no status."""
    mark: list[Any] = []
    for file in files:
        try:
            status = file.stat()
        except (OSError, ValueError):
            mark.append(str(file))
        else:
            mark.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return Change(tuple(mark))


def facts_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a manifest for a page, worded as in the card."""
    return {
        "properties": summary.properties(manifest),
        "test_sets": summary.test_sets(manifest),
        "in_tests": summary.list_test_overlaps(manifest),
        "levels": summary.levels(manifest),
        "exclusions": summary.exclusions(manifest),
        "rejections": summary.rejections(manifest),
        "unwritten": summary.list_unwritten_formulations(manifest),
        "has_turns": summary.has_turns(manifest),
    }


def truncate_card(text: str) -> tuple[str, int]:
    """Return the beginning of a card, and the number of characters after it."""
    return text[:MAX_CARD], max(0, len(text) - MAX_CARD)


def address_of_build(name: str) -> str:
    """Return the address of the page of the build with this name."""
    return f"/builds/named/{name}" if name in _TAKEN else f"/builds/{quote(name, safe='')}"


def find_build(visit: RequestContext, name: str) -> Path:
    """Return the folder of the build with this name. Raises NotFound."""
    try:
        return find_named_build(visit.site.settings, storable(name)[0][:200])
    except SpecError as error:
        raise NotFound(str(error)) from None


def _read_card(folder: Path) -> tuple[str, int]:
    try:
        with open_regular_text(folder / CARD, folder, errors="replace") as file:
            return truncate_card(file.read(10 * MAX_CARD))
    except (OSError, SpecError):
        return "", 0
