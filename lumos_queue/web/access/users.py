"""People and their roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """The permissions of a person. Each role includes the roles before it."""

    READER = "reader"  #: look at everything
    ANNOTATOR = "annotator"  #: label and correct
    OPERATOR = "operator"  #: change jobs, build training sets, see the actions of other people

    def includes(self, role: Role) -> bool:
        order = tuple(Role)
        return order.index(self) >= order.index(role)


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the explorer; `name` is stored as the labeller, and as `submitted_by`, of everything they create."""

    name: str
    role: Role
    #: Changes with the person's password, which ends their sessions; '' if there is no password.
    credential: str = field(default="", repr=False)
