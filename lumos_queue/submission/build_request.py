"""From what a person asks of a build to the build: what the command line and the explorer share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from db.connection import Database
from db.filters import Filter, parse_where, term
from db.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.builds.build import build, preview_build
from lumos_queue.builds.database_facts import DatabaseFacts, read_database_facts
from lumos_queue.builds.known_benchmarks import KnownBenchmarks, user_modules
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.progress import Tell, tell_nobody
from lumos_queue.submission.file_options import FileOptions
from lumos_queue.submission.file_request import QUESTIONS, resolve_file
from lumos_queue.submission.filters import read_where


def read_build_where(database: Database, where: str) -> Filter:
    """The filter of a build's episodes; raises SpecError as `read_where`.

    Derived episodes, which were given replies, some of them gold, are left out unless it has a term of job or origin.
    """
    condition = read_where(database, where)
    if not any(existing_term.field in ("job", "origin") for existing_term in condition.terms):
        condition &= Filter((term("origin", "!=", "derived"),))
    return condition


def split_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def make_build(
    database: Database, name: str, target: Path, options: BuildOptions, tell: Tell = tell_nobody, expected: str = ""
) -> tuple[dict[str, Any], bool]:
    """Make a build of stored episodes; returns its manifest and whether it is new. Raises SpecError as `build`."""
    inputs = _read_inputs(database, options)
    return build(inputs.episodes, name, target, options, inputs.sources, inputs.facts, tell, expected)


def preview_of(
    database: Database, name: str, target: Path, options: BuildOptions, tell: Tell = tell_nobody
) -> tuple[dict[str, Any], bool]:
    """What `make_build` would make; nothing is left behind. Raises SpecError as `build`."""
    inputs = _read_inputs(database, options)
    return preview_build(inputs.episodes, name, target, options, inputs.sources, inputs.facts, tell)


class _BuildInputs(NamedTuple):
    episodes: Iterator[StoredEpisode]
    sources: KnownBenchmarks
    facts: DatabaseFacts


def _read_inputs(database: Database, options: BuildOptions) -> _BuildInputs:
    facts = read_database_facts(database, tests=not options.allow_test)
    episodes = stream_episodes(database, parse_where(options.where))
    return _BuildInputs(episodes, KnownBenchmarks(user_modules(database), _open_own_file), facts)


def _open_own_file(path: Path) -> tuple[Benchmark, Path]:
    """The benchmark of a file whose questions are a test split, and the path of its rows: its fields are guessed."""
    request = resolve_file(str(path.absolute()), None, "", FileOptions(), (), _ignore, kind=QUESTIONS)
    assert request.definition and request.data
    return open_benchmark(request.benchmark, request.definition), request.data


def _ignore(_remark: str) -> None:
    """The name of the file is in the build's manifest."""
