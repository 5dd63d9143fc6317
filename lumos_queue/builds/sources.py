"""Benchmarks and sources by name: both read tasks and name the domain of their actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import select

from db.connection import Database
from db.models import JobRow
from lumos_queue.benchmarks.registry import NAMES as BENCHMARKS
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.source import Source
from lumos_queue.benchmarks.sources import NAMES as SOURCES
from lumos_queue.benchmarks.sources import open_source
from lumos_queue.errors import unknown
from lumos_queue.prompts.instructions import DOMAINS
from lumos_queue.records import Task


def source_modules(database: Database) -> list[str]:
    """The modules of one's own (`mylab.travelplanner`) that stored conversions were made with."""
    with database.engine.connect() as connection:
        specs = connection.execute(select(JobRow.spec).where(JobRow.kind == "convert")).scalars()
        return sorted({spec["source"] for spec in specs if "." in spec.get("source", "")})


class Sources:
    """Those of this project, and the modules of one's own that conversions were made with."""

    def __init__(self, modules: Iterable[str] = ()):
        """Raises SpecError for a module that cannot be imported."""
        own = [open_source(module) for module in modules]
        self._own: Mapping[str, Source] = {source.name: source for source in own}
        self._opened: dict[str, Source] = {}

    def source(self, name: str) -> Source | None:
        """The conversion source of that name, if there is one."""
        if name in self._own:
            return self._own[name]
        if name in SOURCES and name not in self._opened:
            self._opened[name] = open_source(name)
        return self._opened.get(name)

    def reader(self, name: str) -> Any:
        """What reads the files of the benchmark or source of that name. Raises SpecError for a name that is neither."""
        if name in BENCHMARKS:
            return open_benchmark(name)
        if (source := self.source(name)) is None:
            raise unknown("benchmark", name, {*BENCHMARKS, *SOURCES, *self._own})
        return source

    def of_domain(self, domain: str) -> set[str]:
        """The names of all benchmarks and sources whose actions are of that domain, but of those that only teach."""
        opened = {name: self.source(name) for name in SOURCES} | dict(self._own)
        found = {name: source for name, source in opened.items() if source and {*source.splits} != {"train"}}
        found |= {name: one for name in BENCHMARKS if not (one := open_benchmark(name)).formulations}
        return {name for name, one in found.items() if one.domain == domain}

    def domain(self, task: Task) -> str:
        """The domain of a task's actions. Raises LookupError when neither task nor source names one."""
        source = self.source(task.benchmark)
        for name in (task.inputs.get("domain"), source.domain if source else "", task.benchmark):
            if name in DOMAINS:
                return name
        raise LookupError(task.benchmark)
