"""Which earlier prompt of an episode a prompt repeats from its beginning, so that only what follows it is stored.

In an episode without a tree that is the latest prompt of the role. In a tree it is one on the path to the root, or one
that an elder sibling of a step on that path was asked with: an elder sibling's prompt may end in what only it was told,
but the eldest's is the path alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from lumos_queue.commands import ROOT


class PromptBases:
    """The prompts of one attempt at an episode that later ones may continue: by position, of branch 0."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, str]] = {}  # role to position and prompt, of asks outside any tree
        self._parents: dict[int, int] = {}  # position of a step in a tree to that of its parent
        self._prompts: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)  # by parent and role

    def add(self, role: str, prompt: str, position: int, branch: int, parent: int | None) -> None:
        """Take in an ask that was answered."""
        if branch:
            return
        if parent is None:
            self._latest[role] = (position, prompt)
        else:
            self._parents[position] = parent
            self._prompts[parent, role].append((position, prompt))

    def add_other(self, position: int, parent: int | None) -> None:
        """Take in another step: asks may have it as their parent."""
        if parent is not None:
            self._parents[position] = parent

    def find(self, role: str, prompt: str, parent: int | None) -> tuple[int, str] | None:
        """Position and prompt of the longest one with which this prompt begins; None when there is none."""
        if parent is None:
            latest = self._latest.get(role)
            return latest if latest is not None and prompt.startswith(latest[1]) else None
        found: tuple[int, str] | None = None
        for step in self._path(parent):
            for one in self._prompts.get((step, role), ()):
                # The nearest is mostly the longest: of the others no more than the length is looked at.
                if (found is None or len(one[1]) > len(found[1])) and prompt.startswith(one[1]):
                    found = one
        return found

    def _path(self, position: int) -> Iterator[int]:
        """The step and its ancestors, the root last."""
        while position != ROOT:
            yield position
            position = self._parents[position]
        yield ROOT
