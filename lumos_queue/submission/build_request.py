"""Make a build from its options, for the command line and the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from db.engine.connection import Database
from db.queries.filters import Filter, parse_where, term
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.builds.build import build, preview_build
from lumos_queue.builds.database_facts import DatabaseFacts, read_database_facts
from lumos_queue.builds.known_benchmarks import KnownBenchmarks, user_modules
from lumos_queue.builds.options import BuildOptions, read_mix
from lumos_queue.builds.progress import Tell, ignore_progress
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.submission.audited_build import read_audited_strata
from lumos_queue.submission.file_options import FileOptions
from lumos_queue.submission.file_request import QUESTIONS, resolve_file
from lumos_queue.submission.filters import read_where
from lumos_queue.submission.requests.build import BuildRequest
from lumos_queue.submission.requests.checks import check_request


def read_build_where(database: Database, where: str) -> Filter:
    """Return the filter of a build's episodes. Raises the errors of `read_where`.

    Derived episodes contain replies from the data, some of them gold. The filter excludes them unless one of its terms
    names a job or an origin.
    """
    condition = read_where(database, where)
    if not any(existing_term.field in ("job", "origin") for existing_term in condition.terms):
        condition &= Filter((term("origin", "!=", "derived"),))
    return condition


def read_build_options(database: Database, request: BuildRequest) -> BuildOptions:
    """Return the options of a build. Raises SpecError for values and options that a build cannot have."""
    check_request(request)
    return BuildOptions(
        where=str(read_build_where(database, request.where)),
        format=request.format,
        formulations=_split_names(request.formulations) or (USUAL,),
        select=request.select,
        per_task=request.per_task,
        level=request.level,
        mix=read_mix(request.mix),
        rows=request.rows,
        near=request.near_duplicates,
        dev_share=request.dev_share,
        seed=request.seed,
        against=request.against,
        allow_test=request.allow_test,
        allow_contaminated=request.allow_contaminated,
        reexecute=request.reexecute,
        perturbed=request.perturbed,
        min_precision=request.min_precision,
        audit=request.audit,
    )


def _split_names(text: str) -> tuple[str, ...]:
    """Return names separated by commas, without repetition."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def make_build(
    database: Database, name: str, target: Path, options: BuildOptions, tell: Tell = ignore_progress, expected: str = ""
) -> tuple[dict[str, Any], bool]:
    """Make a build of stored episodes; return its manifest and whether it is new. Raises the errors of `build`."""
    inputs = _read_inputs(database, options)
    return build(inputs.episodes, name, target, options, inputs.sources, inputs.facts, tell, expected)


def preview_of(
    database: Database, name: str, target: Path, options: BuildOptions, tell: Tell = ignore_progress
) -> tuple[dict[str, Any], bool]:
    """Return what `make_build` would return, without writing the build. Raises the errors of `build`."""
    inputs = _read_inputs(database, options)
    return preview_build(inputs.episodes, name, target, options, inputs.sources, inputs.facts, tell)


class _BuildInputs(NamedTuple):
    episodes: Iterator[StoredEpisode]
    sources: KnownBenchmarks
    facts: DatabaseFacts


def _read_inputs(database: Database, options: BuildOptions) -> _BuildInputs:
    audited = read_audited_strata(database, options)
    facts = read_database_facts(database, tests=not options.allow_test, audited=audited)
    episodes = stream_episodes(database, parse_where(options.where))
    return _BuildInputs(episodes, KnownBenchmarks(user_modules(database), _open_own_file), facts)


def _open_own_file(path: Path) -> tuple[Benchmark, Path]:
    """Return the benchmark of a file of test questions, and the path of its rows. The file's fields are guessed."""
    request = resolve_file(str(path.absolute()), None, "", FileOptions(), (), _ignore, kind=QUESTIONS)
    assert request.definition and request.data
    return open_benchmark(request.benchmark, request.definition), request.data


def _ignore(_remark: str) -> None:
    """Ignore remarks: the name of the file is in the build's manifest."""
