"""An edge from a file to a file that it can depend on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    reason: str  #: the verb between the two files: `imports`, `reads`
    key: str = ""  #: the edge is followed if the test uses this word; '' for always
    is_last: bool = False  #: whether it ends a chain: a test that reads the text of a program does not run it
