"""Make a build from a database, and read its rows."""

from __future__ import annotations

import json
from pathlib import Path

from db.engine.connection import Database
from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from lumos_queue.builds.build import build
from lumos_queue.builds.database_facts import read_database_facts
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions


def make(database: Database, folder: Path, **options) -> dict:
    build_options = BuildOptions(**options)
    episodes = stream_episodes(database, parse_where(build_options.where))
    return build(
        episodes,
        folder.name,
        folder,
        build_options,
        KnownBenchmarks(),
        read_database_facts(database, not build_options.allow_test),
    )[0]


def rows_in(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
