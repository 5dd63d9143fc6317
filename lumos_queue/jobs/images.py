"""Load the images that episodes send to models from the artifacts of the database, and cache the latest."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache

from db.engine.lazy_database import LazyDatabase
from db.journal.artifacts import load_artifact
from lumos_queue.endpoints.base import ImagePart
from lumos_queue.errors import EpisodeError
from lumos_queue.records import Ending
from lumos_queue.settings import Settings

KEPT = 64  #: images of at most a few megabytes each


class Images:
    """Loads images by their digests. The first load opens the database."""

    def __init__(self, settings: Settings):
        self._database = LazyDatabase(settings.database, settings.lease_seconds)  # loads run in threads
        self.read = lru_cache(KEPT)(self._fetch)

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Generator[Images, None, None]:
        images = cls(settings)
        try:
            yield images
        finally:
            images._database.close()

    async def load(self, digest: str) -> ImagePart:
        """Load an image by its digest. Raises EpisodeError('infra_error', …) if it is unknown."""
        return await asyncio.to_thread(self.read, digest)

    def _fetch(self, digest: str) -> ImagePart:
        with self._database.get().engine.connect() as connection:
            artifact = load_artifact(connection, digest)
        if artifact is None:
            raise EpisodeError(Ending.INFRA_ERROR, f"the database holds no image {digest[:12]}…: submit the job again")
        return ImagePart(*artifact)
