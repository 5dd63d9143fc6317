"""Where cases are made: fresh databases on real servers, a folder each, and the list of all cases."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.faults.deployment import Deployment
from tests.faults.result import Result

Case = Callable[..., Result]  #: of a lab; whatever else it takes has a default: the full form
C = TypeVar("C", bound=Case)
CASES: dict[str, Case] = {}  #: by name, in the order in which they run


def case(name: str) -> Callable[[C], C]:
    """Enter a function that makes a lab into a result."""

    def enter(function: C) -> C:
        assert name not in CASES
        CASES[name] = function
        return function

    return enter


class Lab:
    """Gives a case its servers, each started when the first case wants it."""

    def __init__(self, folder: Path, seed: int, server: Callable[[str], Any]):
        """`server`: the running server called `postgres`, `redis` or `rabbitmq` (tests/services.py)."""
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
