"""People and their roles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a person may do. Each role may do what those before it may."""

    READER = "reader"  #: look at everything
    ANNOTATOR = "annotator"  #: label and correct
    OPERATOR = "operator"  #: change jobs, build training sets, see what others did

    def includes(self, role: Role) -> bool:
        order = tuple(Role)
        return order.index(self) >= order.index(role)


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever uses the explorer; `name` is the labeller and `submitted_by` of what they make."""

    name: str
    role: Role
