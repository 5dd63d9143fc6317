"""What leads from a file to a file that it can depend on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    reason: str  #: a verb that stands between the two: `imports`, `reads`
    key: str = ""  #: the edge is followed if this word is used; '' for always
    is_last: bool = False  #: whether it ends a chain: who reads the text of a program does not run it
