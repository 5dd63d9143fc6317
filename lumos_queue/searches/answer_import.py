"""Import answer files as the episodes of one job: all files, or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from db.engine.connection import Database
from db.kinds.name_and_tags import UNNAMED, NameAndTags
from db.transfer.imports import ImportedEpisode, store_episodes
from lumos_queue.commands import digest
from lumos_queue.compat.file_import import import_job
from lumos_queue.compat.toolbench.answer_file import AnswerFile
from lumos_queue.compat.toolbench.answer_reading import read_answer_file
from lumos_queue.compat.toolbench.trees import count_nodes
from lumos_queue.errors import SpecError
from lumos_queue.records import Origin
from lumos_queue.searches.answer_episodes import build_recorded_episode, formulation_of
from lumos_queue.settings import Settings
from lumos_queue.util.sanitize import storable_json

MAX_FILES = 100_000


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The import job, and counts of the imported files, which were stored now or earlier (`new`)."""

    job: str
    new: bool
    formulation: str
    episodes: int
    calls: int  #: replies of models
    actions: int
    nodes: int  #: of ToolBench


def import_answer_files(
    database: Database,
    settings: Settings,
    paths: Sequence[Path],
    split: str,
    licence: str,
    again: bool = False,
    name_and_tags: NameAndTags = UNNAMED,
) -> ImportSummary:
    """Store each file as an episode. Raises SpecError for other formats, equal names, and trees mixed with chains.

    If two files have the same name, as those of a query number that two of ToolBench's groups have, the names of their
    folders are parts of the names of all files.
    """
    if len(paths) > MAX_FILES:
        raise SpecError(f"{len(paths):,} files are too many for one import: give at most {MAX_FILES:,}.")
    files = list(zip(paths, _find_groups(paths), strict=True))
    formulation, digests, counts = _look(files)
    identity = [text for name in sorted(digests) for text in (name, digests[name])]
    dataset = digest("answer files", *identity)
    key = digest("import answer files", split, licence, *identity)
    new = import_job(settings, key, {"files": digests}, "toolbench", formulation, split, licence, name_and_tags)
    job, is_new = store_episodes(database, new, _episodes(files, dataset), Origin.IMPORTED, dataset, again)
    return ImportSummary(job, is_new, formulation, len(paths), *counts)


def _find_groups(paths: Sequence[Path]) -> list[str]:
    """Return the name of each file's folder if two files have the same name; otherwise ''."""
    is_unique = len({path.name for path in paths}) == len(paths)
    return ["" if is_unique else path.absolute().parent.name for path in paths]


def _read(path: Path, group: str) -> AnswerFile:
    return replace(read_answer_file(path), group=storable_json(group))


def _look(files: Sequence[tuple[Path, str]]) -> tuple[str, dict[str, str], tuple[int, int, int]]:
    """Return the formulation of all files, their digests by name, and the total numbers of calls, actions, nodes."""
    digests: dict[str, str] = {}
    kinds: dict[str, str] = {}  # formulation to the first file of it
    calls = actions = nodes = 0
    for path, group in files:
        file = _read(path, group)
        if file.path in digests:
            raise SpecError(
                f"Two files have the name '{file.path}': files of the same name must be in folders of different names."
            )
        content = file.content()
        digests[file.path] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        kinds.setdefault(formulation_of(file), file.path)
        calls += len(file.decisions)
        actions += sum(bool(decision.name) for decision in file.decisions)
        nodes += _count(content)
    if len(kinds) != 1:
        description = (
            ", ".join(f"'{name}' is of {formulation}" for formulation, name in kinds.items()) or "there is no file"
        )
        raise SpecError(f"One import has files of one formulation, but {description}: import them separately.")
    return next(iter(kinds)), digests, (calls, actions, nodes)


def _count(content: dict) -> int:
    if "tree" in content:
        return count_nodes(content["tree"]["tree"])
    return sum(len(attempt["chain"]) for attempt in content["trys"])


def _episodes(files: Sequence[tuple[Path, str]], dataset: str) -> Iterator[ImportedEpisode]:
    for path, group in files:
        task, steps, outcome = build_recorded_episode(_read(path, group), dataset)
        yield ImportedEpisode(task, steps, outcome)
