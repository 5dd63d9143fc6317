"""From what a person asks of a build to the build: what the command line and the explorer share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from db.connection import Database
from db.filters import Filter, parse_where, term
from db.trajectories import stream_episodes
from lumos_queue.builds.build import build, preview_build
from lumos_queue.builds.database_facts import read_database_facts
from lumos_queue.builds.known_benchmarks import KnownBenchmarks, user_modules
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.progress import Tell, tell_nobody
from lumos_queue.submission.filters import read_where


def read_build_where(database: Database, where: str) -> Filter:
    """The filter of a build's episodes; raises SpecError as `read_where`.

    Derived episodes, which were given replies, some of them gold, are left out unless it has a term of job or origin.
    """
    wanted = read_where(database, where)
    if not any(one.field in ("job", "origin") for one in wanted.terms):
        wanted &= Filter((term("origin", "!=", "derived"),))
    return wanted


def split_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def make_build(
    database: Database, name: str, target: Path, options: BuildOptions, tell: Tell = tell_nobody, expected: str = ""
) -> tuple[dict[str, Any], bool]:
    """Make a build of stored episodes; returns its manifest and whether it is new. Raises SpecError as `build`."""
    return build(*_parts(database, name, target, options), tell, expected)


def preview_of(
    database: Database, name: str, target: Path, options: BuildOptions, tell: Tell = tell_nobody
) -> tuple[dict[str, Any], bool]:
    """What `make_build` would make; nothing is left behind. Raises SpecError as `build`."""
    return preview_build(*_parts(database, name, target, options), tell)


def _parts(database: Database, name: str, target: Path, options: BuildOptions) -> tuple[Any, ...]:
    sources = KnownBenchmarks(user_modules(database))
    facts = read_database_facts(database, tests=not options.allow_test)
    episodes = stream_episodes(database, parse_where(options.where))
    return episodes, name, target, options, sources, facts
