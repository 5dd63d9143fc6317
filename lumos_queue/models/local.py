"""Endpoints at `local:DIR`. DIR is a model folder, or an adapter, which the first call merges into its base."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.base import Endpoint, EndpointSettings, ModelCall
from lumos_queue.endpoints.local import Local
from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.endpoints.urls import local_path
from lumos_queue.endpoints.vision import refuse_images
from lumos_queue.errors import InfrastructureError
from lumos_queue.models.adapters import find_base, is_adapter, read_adapter
from lumos_queue.models.merge import ensure_merged_folder
from lumos_queue.records import Completion


def check_local(folder: Path) -> None:
    """Raise SpecError unless the folder has a model, or an adapter whose base is on this machine."""
    if is_adapter(folder):
        find_base(read_adapter(folder))
    else:
        check_folder(folder)


def open_local(url: str, _settings: EndpointSettings) -> Endpoint:
    """Open the endpoint at `local:DIR`. Raises SpecError when DIR is not a model folder."""
    folder = local_path(url)
    return MergingLocal(url, folder) if is_adapter(folder) else Local(url, folder)


class MergingLocal:
    """The endpoint of an adapter: it merges the adapter into its base at the first call, and runs the merged model."""

    admission = None  #: as of Local

    def __init__(self, url: str, folder: Path):
        self.url = url
        self._folder = folder
        self._merge_lock = asyncio.Lock()
        self._model: Local | None = None
        self._is_closed = False

    async def generate(self, call: ModelCall) -> Completion:
        """Return a completion, as Local does. Raises SpecError if the base is missing or cannot be merged."""
        refuse_images(self.url, call.images)  # before the base is merged
        return await (await self._open()).generate(call)

    async def identity(self) -> dict[str, Any]:
        """Return the identity of the merged model, with `base_sha256`, `adapter_sha256`, and the adapter's name."""
        identity = await (await self._open()).identity()
        return {**identity, "model": self._folder.resolve().name}

    async def close(self) -> None:
        self._is_closed = True
        if self._model is not None:
            await self._model.close()

    async def _open(self) -> Local:
        async with self._merge_lock:
            if self._is_closed:
                raise InfrastructureError(f"the endpoint {self.url} is closed")
            if self._model is None:
                folder = await asyncio.to_thread(ensure_merged_folder, self._folder)
                self._model = Local(self.url, folder)
        return self._model
