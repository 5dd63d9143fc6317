"""Find the earlier prompt of an episode with which a prompt begins, so that only the rest of the prompt is stored.

Outside a tree this is the latest prompt of the role. In a tree it is a prompt of a step on the path to the root, or of
an elder sibling of such a step. The eldest sibling's prompt contains only the path. The prompts of other siblings may
end with text for that sibling only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from lumos_queue.commands import ROOT


class PromptBases:
    """The prompts of one attempt that later prompts may continue. Only prompts at branch 0 are used."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, str]] = {}  # role to position and prompt, of asks outside any tree
        self._parents: dict[int, int] = {}  # position of a step in a tree to that of its parent
        self._prompts: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)  # by parent and role

    def add(self, role: str, prompt: str, position: int, branch: int, parent: int | None) -> None:
        """Add the prompt of an Ask that was answered."""
        if branch:
            return
        if parent is None:
            self._latest[role] = (position, prompt)
        else:
            self._parents[position] = parent
            self._prompts[parent, role].append((position, prompt))

    def add_other(self, position: int, parent: int | None) -> None:
        """Add a step that is no Ask. In a tree, it may be the parent of an Ask."""
        if parent is not None:
            self._parents[position] = parent

    def find(self, role: str, prompt: str, parent: int | None) -> tuple[int, str] | None:
        """Return (position, prompt) of the longest earlier prompt with which this prompt begins, or None."""
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
        """Yield the positions of the step and its ancestors, and ROOT last."""
        while position != ROOT:
            yield position
            position = self._parents[position]
        yield ROOT
