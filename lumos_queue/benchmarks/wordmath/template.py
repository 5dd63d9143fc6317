"""The register of templates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lumos_queue.benchmarks.wordmath.scene import Scene

Fill = Callable[[Scene], None]


@dataclass(frozen=True, slots=True)
class Template:
    """A template of problems: its name, its family and the function that fills a scene."""

    name: str
    family: str
    fill: Fill
    topics: frozenset[str]  #: topics that irrelevant sentences must not have


TEMPLATES: list[Template] = []


def template(family: str, topics: str = "", name: str = "") -> Callable[[Fill], Fill]:
    """Return a decorator that registers a function as a template of the family. Spaces separate `topics`.

    The random choices of a problem depend on the template's `name`, which is the function's name by default.
    """

    def register(fill: Fill) -> Fill:
        TEMPLATES.append(Template(name or fill.__name__, family, fill, frozenset(topics.split())))
        return fill

    return register
