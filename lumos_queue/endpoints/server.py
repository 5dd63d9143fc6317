"""What endpoints that are HTTP servers share: a client of their replicas, who they are, and their end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from lumos_queue.endpoints.base import EndpointSettings
from lumos_queue.endpoints.client import Client
from lumos_queue.endpoints.http import Http
from lumos_queue.endpoints.urls import base_urls, model_name


class ServerEndpoint(ABC):
    """One model on one server, or on several replicas."""

    def __init__(self, url: str, settings: EndpointSettings, first_backoff: float = 0.5):
        """`url`: checked. `first_backoff`: seconds before the second try of a request, doubled each time."""
        self.url = url
        self._model = model_name(url)
        self._fields: Mapping[str, Any] = {}  #: that a person chose, of the latest request; a control has them, too
        servers = [self._connect(base, settings) for base in base_urls(url)]
        self._client = Client(url, servers, settings, first_backoff, self._control, self._read)
        self.admission = self._client.admission

    def _connect(self, base: str, settings: EndpointSettings) -> Http:
        """A client of one replica."""
        return Http(base, settings)

    @abstractmethod
    def _control(self) -> dict[str, Any]:
        """The body of a request that any server of this protocol takes, of one token."""

    @abstractmethod
    def _read(self, reply: dict[str, Any], headers: Mapping[str, str]) -> object:
        """What a reply to such a request says. Raises Malformed when it has no text."""

    @abstractmethod
    async def _describe(self, http: Http) -> dict[str, Any]:
        """What one replica says it is. Raises InfrastructureError, EndpointRefused and SpecError."""

    async def identity(self) -> dict[str, Any]:
        return await self._client.identity(self._describe)

    async def close(self) -> None:
        await self._client.close()
