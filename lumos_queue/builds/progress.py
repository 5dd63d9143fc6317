"""How far a build is: what it does, and how many it has done of what it counts."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class BuildStage(StrEnum):
    """What a build does, in this order."""

    TEST_SPLITS = "reading test splits"
    EPISODES = "reading episodes"  #: counted
    DUPLICATES = "leaving out duplicates"
    NEAR_DUPLICATES = "comparing solutions"  #: counted
    CHOOSING = "choosing"
    WRITING = "writing rows"
    PUBLISHING = "publishing"


#: Called with the stage and how many are done of it. What it raises ends the build, and nothing is left behind.
Tell = Callable[[BuildStage, int], None]
EVERY = 100  #: of what is counted


def ignore_progress(_stage: BuildStage, _count: int) -> None:
    """For those who only want the result."""
