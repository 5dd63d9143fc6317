"""Load the images that episodes send to models from the artifacts of the database, and cache the latest."""

from __future__ import annotations

import asyncio
from functools import lru_cache

from db.journal.artifacts import load_artifact
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.base import ImagePart
from lumos_queue.errors import EpisodeError
from lumos_queue.records import Ending

KEPT = 64  #: images of at most a few megabytes each


class Images:
    """Loads images by their digests."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment
        self.read = lru_cache(KEPT)(self._fetch)

    async def load(self, digest: str) -> ImagePart:
        """Load an image by its digest. Raises EpisodeError('infra_error', …) if it is unknown."""
        return await asyncio.to_thread(self.read, digest)

    def _fetch(self, digest: str) -> ImagePart:
        with self._deployment.database.engine.connect() as connection:
            artifact = load_artifact(connection, digest)
        if artifact is None:
            raise EpisodeError(Ending.INFRA_ERROR, f"the database holds no image {digest[:12]}…: submit the job again")
        return ImagePart(*artifact)
