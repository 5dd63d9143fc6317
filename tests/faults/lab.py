"""The lab of the cases: fresh databases on real servers, a folder for each case, and the list of all cases."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.faults.deployment import Deployment
from tests.faults.result import Result

Case = Callable[..., Result]  #: a function of a lab; the defaults of its other parameters are the full form
C = TypeVar("C", bound=Case)
CASES: dict[str, Case] = {}  #: by name, in the order in which they run


def case(name: str) -> Callable[[C], C]:
    """Register a function from a lab to a result as a case."""

    def enter(function: C) -> C:
        assert name not in CASES
        CASES[name] = function
        return function

    return enter


class Lab:
    """The servers of the cases, each started when the first case needs it."""

    def __init__(self, folder: Path, seed: int, server: Callable[[str], Any]):
        """`server`: returns the running server with the name `postgres`, `redis` or `rabbitmq` (tests/services.py)."""
        self.folder, self.seed, self.server = folder, seed, server
        self._numbers = itertools.count()

    def new_folder(self) -> Path:
        folder = self.folder / f"case-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def deployment(self, database: str, broker: str = "", **options: Any) -> Deployment:
        """`database`: postgresql, sqlite, or a URL. `broker`: redis, rabbitmq, '' or a URL."""
        folder = self.new_folder()
        if database == "postgresql":
            database = self.server("postgres").fresh()
        elif database == "sqlite":
            database = f"sqlite:///{folder / 'lumos.db'}"
        if broker in ("redis", "rabbitmq"):
            broker = self.server(broker).fresh()
        return Deployment(folder, database, broker, **{"seed": self.seed, **options})
