"""The register of templates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lumos_queue.benchmarks.wordmath.scene import Scene


@dataclass(frozen=True, slots=True)
class Template:
    """One way of posing problems: its name, its family and the function that fills a scene."""

    name: str
    family: str
    fill: Callable[[Scene], None]
    topics: frozenset[str]  #: what a distracting sentence must not speak of


TEMPLATES: list[Template] = []


def template(family: str, topics: str = ""):
    """Register a function as a template of the family."""

    def register(fill: Callable[[Scene], None]) -> Callable[[Scene], None]:
        TEMPLATES.append(Template(fill.__name__, family, fill, frozenset(topics.split())))
        return fill

    return register
