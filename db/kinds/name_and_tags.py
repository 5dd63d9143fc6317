"""People's labels of a job: a name and tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NameAndTags:
    """The sanitized name and tags of one job (lumos_queue/submission/tags.py)."""

    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


UNNAMED = NameAndTags()
