"""The rules of rules.toml: dependencies that no file shows, each with its reason."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.affected.edges import Edge

FILE = Path(__file__).with_name("rules.toml")


@dataclass(frozen=True)
class Pair:
    """Files by patterns: `*` is any name, `**` any path, `{a,b}` one of several."""

    source: str
    target: str
    reason: str
    verb: str = ""  #: the beginning of the reason of a removed edge; '' for any edge


@dataclass(frozen=True)
class Silent:
    """Files whose strings do not name files or keys that they use."""

    files: str
    reason: str


@dataclass(frozen=True)
class Rules:
    product: tuple[str, ...]  #: folders that are installed
    everything: tuple[str, ...]  #: files that can affect every test
    untested: tuple[str, ...]  #: files that affect no test, unless the graph has a chain from a test to them
    commands: tuple[str, ...]  #: files whose keys are called by users and tests, and not by product code
    added: tuple[Pair, ...]
    removed: tuple[Pair, ...]
    silent: tuple[Silent, ...]

    def is_product(self, path: str) -> bool:
        return path.split("/")[0] in self.product

    def add_edges(self, paths: Iterable[str]) -> Iterator[Edge]:
        files = list(paths)
        for pair in self.added:
            for source in (path for path in files if matches(path, pair.source)):
                for target in (path for path in files if matches(path, pair.target)):
                    yield Edge(source, target, f"({pair.reason})")

    def allows(self, edge: Edge) -> bool:
        return not any(
            edge.reason.startswith(pair.verb)
            and matches(edge.source, pair.source)
            and matches(edge.target, pair.target)
            for pair in self.removed
        )

    def is_silent(self, path: str) -> bool:
        return any(matches(path, rule.files) for rule in self.silent)


def read_rules(file: Path = FILE) -> Rules:
    """Raises ValueError or TypeError for a file of another form."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return Rules(
        product=tuple(table.pop("product")),
        everything=tuple(table.pop("everything")),
        untested=tuple(table.pop("untested", ())),
        commands=tuple(table.pop("commands", ())),
        added=tuple(Pair(**pair) for pair in table.pop("added", ())),
        removed=tuple(Pair(**pair) for pair in table.pop("removed", ())),
        silent=tuple(Silent(**rule) for rule in table.pop("silent", ())),
    )


def matches(path: str, pattern: str) -> bool:
    return _compile(pattern).fullmatch(path) is not None


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    parts = {"**": ".*", "*": "[^/]*", "{": "(?:", ",": "|", "}": ")"}
    return re.compile("".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*|[*{,}])", pattern)))
