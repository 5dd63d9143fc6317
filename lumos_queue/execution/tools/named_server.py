"""The one server that a job's options name: with `--tool server=URL` a person says that it may be asked.

Pages are found by following what models and pages say, so they are fetched from public addresses alone. This address is
not found but given, by the person who also names the model servers, and mostly means this machine or its network. It is
held to the rule of model servers (endpoints/hosts.py): metadata services and the like must be listed. What is allowed
is this scheme, host and port; docs/decisions/0030.
"""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import Origin


@dataclass(frozen=True, slots=True)
class NamedServer:
    """A server's origin, and the list that its addresses are held to."""

    origin: Origin
    hosts: Hosts

    @classmethod
    def of(cls, url: str, host_list: str = "") -> NamedServer:
        """The server of a URL; `listed`: LUMOS_ENDPOINT_HOSTS. Raises SpecError."""
        try:
            return cls(Origin.of(url), Hosts(host_list))
        except ValueError as error:
            raise SpecError(f"--tool server={url[:200]} names no server: {error}.") from None

    def problem(self, address: str) -> str:
        """Why this address, which the host stands for, must not be connected to; '' when it may."""
        return self.hosts.problem(self.origin.host, self.origin.port, address)
