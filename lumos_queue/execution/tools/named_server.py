"""The API server that a person names, and so allows, by the job's option `--tool server=URL` (docs/decisions/0030).

Pages that models or other pages name must have public addresses. The address of this server comes from the person who
also names the model servers, and is mostly on this machine or its network. So the rule of model servers applies to it
(endpoints/hosts.py): metadata services and the like must be listed. Only this scheme, host and port are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import Origin


@dataclass(frozen=True, slots=True)
class NamedServer:
    """A server's origin, and the allowed hosts (LUMOS_ENDPOINT_HOSTS), by which its addresses are checked."""

    origin: Origin
    hosts: Hosts

    @classmethod
    def of(cls, url: str, host_list: str = "") -> NamedServer:
        """Return the server of a URL; `host_list`: LUMOS_ENDPOINT_HOSTS. Raises SpecError."""
        try:
            return cls(Origin.of(url), Hosts(host_list))
        except ValueError as error:
            raise SpecError(f"--tool server={url[:200]} names no server: {error}.") from None

    def problem(self, address: str) -> str:
        """Return the reason why an address of the server's host is forbidden; '' if it is allowed."""
        return self.hosts.problem(self.origin.host, self.origin.port, address)
