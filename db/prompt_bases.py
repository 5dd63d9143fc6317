"""The earlier prompt of an episode that a prompt begins with, so that only the rest of the prompt is stored.

Without a tree this is the latest prompt of the role. In a tree it is a prompt of a step on the path to the root, or of
an elder sibling of such a step. An elder sibling's prompt may end with text for this sibling only; the eldest's prompt
contains the path alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from lumos_queue.commands import ROOT


class PromptBases:
    """The prompts of one attempt that later prompts may continue: by position, of branch 0."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, str]] = {}  # role to position and prompt, of asks outside any tree
        self._parents: dict[int, int] = {}  # position of a step in a tree to that of its parent
        self._prompts: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)  # by parent and role

    def add(self, role: str, prompt: str, position: int, branch: int, parent: int | None) -> None:
        """Add an answered ask."""
        if branch:
            return
        if parent is None:
            self._latest[role] = (position, prompt)
        else:
            self._parents[position] = parent
            self._prompts[parent, role].append((position, prompt))

    def add_other(self, position: int, parent: int | None) -> None:
        """Add another step, which may be the parent of asks."""
        if parent is not None:
            self._parents[position] = parent

    def find(self, role: str, prompt: str, parent: int | None) -> tuple[int, str] | None:
        """Position and prompt of the longest earlier prompt with which this prompt begins; None when there is none."""
        if parent is None:
            latest = self._latest.get(role)
            return latest if latest is not None and prompt.startswith(latest[1]) else None
        longest: tuple[int, str] | None = None
        for step in self._path(parent):
            for candidate in self._prompts.get((step, role), ()):
                # The nearest prompt is mostly the longest, so a comparison of lengths excludes most of the others.
                if (longest is None or len(candidate[1]) > len(longest[1])) and prompt.startswith(candidate[1]):
                    longest = candidate
        return longest

    def _path(self, position: int) -> Iterator[int]:
        """The step and its ancestors, the root last."""
        while position != ROOT:
            yield position
            position = self._parents[position]
        yield ROOT
