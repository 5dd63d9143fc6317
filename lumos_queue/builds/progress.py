"""The progress of a build: its stage, and a count within the stage."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class BuildStage(StrEnum):
    """The stages of a build, in their order."""

    TEST_SPLITS = "reading test splits"
    EPISODES = "reading episodes"  #: counted
    DUPLICATES = "leaving out duplicates"
    NEAR_DUPLICATES = "comparing solutions"  #: counted
    CHOOSING = "choosing"
    WRITING = "writing rows"
    PUBLISHING = "publishing"


#: Called with the stage and the count within it. An exception from it ends the build, and its files are removed.
Tell = Callable[[BuildStage, int], None]
EVERY = 100  #: counted units between two calls of Tell


def ignore_progress(_stage: BuildStage, _count: int) -> None:
    """Ignore the progress."""
