"""Export a raw annotation file as a folder of training files in the released layout."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.compat.raw_annotations import RawAnnotation, read_raw
from lumos_queue.compat.training_files import FORMULATIONS, MODULES, RELEASED, export_rows
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.util.paths import require_folders

MAX_LISTED = 5  #: bad rows quoted in one message


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """The numbers of written and of omitted rows."""

    rows: dict[str, int]  #: by file name
    dropped: dict[str, int]  #: annotations that the original leaves out of its iterative file, by module
    bad_rows: int  #: rows of the raw file that were skipped
    first_bad: str  #: the first of them; '' when there is none


def export_folder(raw: Path, domain: str, folder: Path, skip_bad_rows: bool = False) -> ExportSummary:
    """Write `lumos_DOMAIN_MODULE_FORMULATION.jsonl` for each module and formulation that can be exported.

    Nothing is left of an incomplete folder. Raises SpecError for an unknown domain, for a folder that is not empty, and
    for bad rows unless `skip_bad_rows`.
    """
    if domain not in RELEASED:
        raise unknown("released domain", domain, RELEASED)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SpecError(
            f"'{folder}' is not an empty folder, and no file is overwritten. Name another folder with --out."
        )
    require_folders(folder, "--out")
    bad_rows, first_bad = _check(raw, skip_bad_rows)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f".{folder.name}.{secrets.token_hex(4)}"
    part.mkdir()
    try:
        rows = {name: _write(part / name, lines) for name, lines in _files(raw, domain)}
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    dropped_rows = {
        module: rows[_file(domain, module, "onetime")] - rows[_file(domain, module, "iterative")]
        for module in _modules(domain)
    }
    return ExportSummary(rows, dropped_rows, bad_rows, first_bad)


def _modules(domain: str) -> tuple[str, ...]:
    """Return the modules whose instruction was published: in some domains only that of the planner was."""
    is_published = DOMAINS.load(domain).verified_ground_head is not None
    return tuple(module for module in MODULES if module == "plan" or is_published)


def _file(domain: str, module: str, formulation: str) -> str:
    return f"lumos_{domain}_{module}_{formulation}.jsonl"


def _files(raw: Path, domain: str) -> Iterator[tuple[str, Iterator[str]]]:
    for module in _modules(domain):
        for formulation in FORMULATIONS:
            rows = (row for row in read_raw(raw) if isinstance(row, RawAnnotation))
            yield _file(domain, module, formulation), export_rows(rows, domain, module, formulation)


def _write(path: Path, lines: Iterator[str]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(f"{line}\n")
            count += 1
    return count


def _check(raw: Path, skip_bad_rows: bool) -> tuple[int, str]:
    """Return the number of bad rows, and the first as text. Raises SpecError if no row is good, or none may be bad."""
    bad: list[BadRow] = []
    count = readable = 0
    for row in read_raw(raw):
        if isinstance(row, BadRow):
            bad, count = [*bad, row][:MAX_LISTED], count + 1
        else:
            readable += 1
    if not readable or (bad and not skip_bad_rows):
        preview = "; ".join(str(row)[:200] for row in bad) + ("; and others" if count > MAX_LISTED else "")
        hint = " Fix them, or skip them with --skip-bad-rows." if readable else ""
        raise SpecError(
            f"{raw}: {count} rows cannot be read ({preview or 'the file has no rows'}), {readable} rows can.{hint}"
        )
    return count, str(bad[0]) if bad else ""
