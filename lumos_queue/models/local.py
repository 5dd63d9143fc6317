"""What `local:DIR` opens: a model folder, or an adapter, which is merged into its base when it is first used."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.base import Endpoint, EndpointSettings, ImagePart, Sampling
from lumos_queue.endpoints.local import Local
from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.endpoints.urls import local_path
from lumos_queue.endpoints.vision import refuse_images
from lumos_queue.errors import InfrastructureError
from lumos_queue.models.adapters import find_base, is_adapter, read_adapter
from lumos_queue.models.merge import merged_folder
from lumos_queue.records import Completion


def check_local(folder: Path) -> None:
    """Raises SpecError when the folder is neither a model, nor an adapter of a base that is on this machine."""
    if is_adapter(folder):
        find_base(read_adapter(folder))
    else:
        check_folder(folder)


def open_local(url: str, _settings: EndpointSettings) -> Endpoint:
    """The endpoint at `local:DIR`. Raises SpecError when that is not a model folder."""
    folder = local_path(url)
    return MergingLocal(url, folder) if is_adapter(folder) else Local(url, folder)


class MergingLocal:
    """An adapter as an endpoint: the model that it makes with its base."""

    admission = None  #: as of Local

    def __init__(self, url: str, folder: Path):
        self.url = url
        self._folder = folder
        self._merging = asyncio.Lock()
        self._model: Local | None = None
        self._closed = False

    async def generate(
        self,
        prompt: str,
        sampling: Sampling,
        seed: int,
        episode: str = "",
        images: Sequence[ImagePart] = (),
        constraint: Constraint | None = None,
        n: int = 1,
    ) -> Completion:
        """As Local.generate. Raises SpecError when the base is not here, or the two cannot be merged."""
        refuse_images(self.url, images)
        return await (await self._open()).generate(prompt, sampling, seed, episode, (), constraint, n)

    async def identity(self) -> dict[str, Any]:
        """As Local.identity, with `base_sha256` and `adapter_sha256`; the name is the adapter's."""
        found = await (await self._open()).identity()
        return {**found, "model": self._folder.resolve().name}

    async def close(self) -> None:
        self._closed = True
        if self._model is not None:
            await self._model.close()

    async def _open(self) -> Local:
        async with self._merging:
            if self._closed:
                raise InfrastructureError(f"the endpoint {self.url} is closed")
            if self._model is None:
                folder = await asyncio.to_thread(merged_folder, self._folder)
                self._model = Local(self.url, folder)
        return self._model
