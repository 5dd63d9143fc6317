"""The address and scheme of a client behind reverse proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from lumos_queue.util.addresses import group_address, parse_address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request."""

    address: str  #: an IP address; '' if it is unknown
    is_secure: bool  #: whether the client's own connection uses TLS

    @property
    def group(self) -> str:
        """Return the unit of limits: an IPv4 address, or the /64 network of an IPv6 address."""
        return group_address(self.address)


class Proxies:
    """The reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted."""

    def __init__(self, addresses: Iterable[str] = ()):
        """`addresses`: IP addresses or networks such as `10.0.0.0/8`. Raises ValueError for any other text."""
        self._networks: tuple[Network, ...] = tuple(map(ipaddress.ip_network, addresses))

    def includes(self, address: str) -> bool:
        """Return whether the address belongs to a proxy."""
        parsed = parse_address(address) if self._networks else None
        return parsed is not None and any(parsed in network for network in self._networks)

    def find_client(self, peer: str, is_secure: bool, forwarded_for: str, forwarded_proto: str) -> Client:
        """Return the client of a request from the connection of `peer`.

        The headers count only if `peer` is a proxy. The client is then the rightmost address of `forwarded_for` that is
        not a proxy, because each proxy appends the address of its own peer and senders may write anything to the left
        of it. A text that is not an address ends the search: the last proxy is the client.
        """
        if not self.includes(peer):
            return Client(peer, is_secure)
        client = peer
        for text in reversed(forwarded_for.split(",")):
            address = parse_address(text.strip())
            if address is None:
                break
            client = str(address)
            if not self.includes(client):
                break
        return Client(client, forwarded_proto.rpartition(",")[2].strip().lower() == "https")
