"""Rows of steps that wait for the next commit, and the contents to which they refer."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from db.engine.rows.declaration import PlainRow
from db.engine.rows.steps import NewEpisodeArtifact
from db.journal.text_blocks import text_digest

RECENT_BYTES = 128 << 20  #: of artifacts that stay in memory for later steps and for scores


@dataclass(slots=True)
class Contents:
    """Long texts, and artifacts with media types, that rows refer to by sha256. They are stored before the rows."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    artifacts: dict[str, tuple[str, bytes]] = field(default_factory=dict[str, tuple[str, bytes]])

    def of_rows(self, rows: Iterable[PlainRow]) -> Contents:
        """Return those of the contents to which these rows refer."""
        names = {value for row in rows for value in row if type(value) is str}
        return Contents(
            {digest: text for digest, text in self.texts.items() if digest in names},
            {digest: artifact for digest, artifact in self.artifacts.items() if digest in names},
        )


class Buffer:
    """Collects rows for the next commit, and the contents to which the rows refer. Each commit takes all of them.

    The buffer is bounded: while it has `most` rows or `most_characters` of text and bytes, `wait_for_capacity` keeps
    episodes from taking another step. Each episode may still add its present step, so a commit can exceed these limits
    by one step of each episode.
    """

    def __init__(
        self, most: int = 4096, enough: int = 256, most_characters: int = 8 << 20, enough_characters: int = 1 << 20
    ):
        self.limit = most
        self.enough = enough  #: rows that are worth a commit at once
        #: Of all waiting texts; 8 Mi characters take up to 32 MiB, as Python stores some characters in four bytes.
        self.most_characters = most_characters
        self.enough_characters = enough_characters  #: worth a commit at once
        self.size = 0
        self.characters = 0
        self._rows: dict[type[PlainRow], list[PlainRow]] = defaultdict(list)
        self._contents = Contents()
        self._recent: dict[str, bytes] = {}  #: artifacts by digest, the oldest first
        self._recent_bytes = 0
        self._sent_digests: set[str] = set()  # digests of texts that an earlier commit carried
        self._has_capacity, self._full = asyncio.Event(), asyncio.Event()

    def add(self, row: PlainRow, characters: int = 0) -> None:
        """Add a row of a type of db/engine/rows. `characters`: the length of the row's texts, if they may be long."""
        self._rows[type(row)].append(row)
        self.size += 1
        self.characters += characters
        if self.size == self.enough or self.characters >= self.enough_characters:
            self._full.set()

    def add_text(self, text: str) -> str:
        """Keep a long text for the next commit, unless an earlier commit had it; return its digest."""
        key = text_digest(text)
        if key not in self._sent_digests and key not in self._contents.texts:
            self._contents.texts[key] = text
            self.characters += len(text)
        return key

    def add_artifact(self, episode: int, data: bytes, media_type: str) -> str:
        """Keep bytes that an episode names, for the next commit; return their sha256.

        They are sent even if an earlier commit had them, because an artifact without a row that names it may have been
        removed meanwhile.
        """
        key = hashlib.sha256(data).hexdigest()
        if key not in self._contents.artifacts:
            self._contents.artifacts[key] = (media_type, data)
            self.characters += len(data)
        self.add(NewEpisodeArtifact(episode, key))
        if key not in self._recent:
            self._recent[key] = data
            self._recent_bytes += len(data)
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.pop(next(iter(self._recent))))
        return key

    def find_kept(self, digest: str) -> bytes | None:
        """Return the bytes of an artifact that was added recently, stored or not; None if it is not among them."""
        return self._recent.get(digest)

    def take(self) -> tuple[dict[type[PlainRow], list[PlainRow]], Contents]:
        """Remove and return all rows, by type, and their contents. The caller repeats the commit until it succeeds."""
        content = self._rows, self._contents
        self._rows, self._contents, self.size, self.characters = defaultdict(list), Contents(), 0, 0
        if len(self._sent_digests) < 10_000:  # bounds the digests to a few megabytes; a text sent twice is stored once
            self._sent_digests |= content[1].texts.keys()
        self._full.clear()
        self._has_capacity.set()
        return content

    def drop(self, episodes: Collection[int], contents: Contents) -> None:
        """Remove the rows of these episodes. `contents`: of a refused commit; what other rows need is sent again."""
        for row_type, rows in self._rows.items():
            self._rows[row_type] = [row for row in rows if row[0] not in episodes]
        self.size = sum(map(len, self._rows.values()))
        self._sent_digests -= contents.texts.keys()
        remaining = contents.of_rows(row for rows in self._rows.values() for row in rows)
        self._contents.texts |= remaining.texts
        self._contents.artifacts |= remaining.artifacts
        self._has_capacity.set()

    async def gather(self, seconds: float) -> None:
        """Return when there are enough rows for a commit, when no more will come, or after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._full.wait()

    def stop_gathering(self) -> None:
        """End `gather`, because no running episode can add a row before the next commit."""
        self._full.set()

    async def wait_for_capacity(self) -> None:
        """Return once an episode may take its next step."""
        while self.size >= self.limit or self.characters >= self.most_characters:
            self._has_capacity.clear()
            await self._has_capacity.wait()
