"""Allow only public addresses to be fetched, and no address of this machine or its network.

A URL is checked before anything is sent, so that errors are clear. Then the address of each connection is checked
(connections.py). Only this second check is decisive.

In addition, the server that a person has named is allowed (named_server.py).

Refused: loopback, private, link-local, shared (carrier-grade NAT), multicast, reserved and unspecified addresses of
both families, addresses that contain an IPv4 address (mapped, NAT64, 6to4, Teredo), the metadata services of cloud
machines, spellings of numbers that only some libraries read (`127.1`, `0x7f.1`, `2130706433`), names of this machine or
this network, user names in front of the host, ports other than 80 and 443, and schemes other than http(s).
Not detected: a public address that forwards into a private network.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Set
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.execution.tools.named_server import NamedServer
from lumos_queue.util.addresses import METADATA, PORTS, Origin, ascii_name, special_kind

#: Returns the addresses of a host name and a port.
Resolve = Callable[[str, int], Awaitable[list[str]]]

MAX_CHARACTERS = 8000  #: of a URL
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  #: a last label that makes a host an IPv4 address (WHATWG URL, 3.5)
#: Names of this machine or the network around it: RFC 6761, 6762, 8375, 9476, and usual names of routers.
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "localdomain", "home.arpa", "alt")

#: Networks without public web servers that Python 3.11's `is_global` allows (IANA special-purpose registries).
_SPECIAL_V4 = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.175.48.0/24",  # AS112, AMT
        "192.88.99.0/24",  # 6to4 relays
    )
]
#: The public part of IPv6, and networks in it that are not public.
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_V6 = [
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, ORCHID, benchmarking
        "2001:db8::/32",
        "3fff::/20",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
    )
]


@dataclass(frozen=True, slots=True)
class Target:
    """A checked URL in parts, in the form in which it is sent."""

    scheme: str
    host: str  #: lower case, ASCII; an IPv6 address without brackets
    port: int
    path: str  #: with the query, percent-encoded

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        return Origin(self.scheme, self.host, self.port).authority

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


async def system_resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host from this machine's resolver. Raises InfrastructureError if it has none."""
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InfrastructureError(f"no address is known for '{host}': {error.strerror or error}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class Guard:
    """Checks URLs and addresses.

    `allowed_addresses`: further (address, port) pairs, such as a test's server on loopback. `server`: the server that a
    person has named.
    """

    def __init__(
        self,
        allowed_addresses: Set[tuple[str, int]] = frozenset(),
        resolve: Resolve = system_resolve,
        server: NamedServer | None = None,
    ):
        self._allowed_addresses = {(str(ipaddress.ip_address(address)), port) for address, port in allowed_addresses}
        self._resolve, self._server = resolve, server

    def check(self, url: str) -> Target:
        """Return the parts of a URL. Raises ActionError of kind 'refused' for a forbidden URL."""
        if len(url) > MAX_CHARACTERS:
            raise _refusal(url, f"it has {len(url)} characters, {MAX_CHARACTERS} are the most")
        if "\\" in url or any(character <= " " or not character.isprintable() for character in url):
            raise _refusal(url, "it has a blank, a backslash or a control character in it")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise _refusal(url, str(error)) from None
        if parts.scheme not in PORTS:
            raise _refusal(url, "only http:// and https:// are asked")
        if "@" in parts.netloc:
            raise _refusal(url, "it has a user name in front of the host")
        if "%" in parts.netloc:
            raise _refusal(url, "the host has a percent sign in it")
        port = PORTS[parts.scheme] if port is None else port
        host = _normalize_host(url, host, is_bracketed=parts.netloc.startswith("["))
        if self._server is None or self._server.origin != (parts.scheme, host, port):
            if port != PORTS[parts.scheme] and port not in {
                allowed_port for _, allowed_port in self._allowed_addresses
            }:
                raise _refusal(url, f"port {port} is not {PORTS[parts.scheme]}")
            if problem := self._host_problem(host, port):
                raise _refusal(url, f"the host is {problem}")
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        if parts.query:
            path += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._")
        return Target(parts.scheme, host, port, path)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host once, check each of its addresses, and return them.

        Raises ActionError of kind 'refused' if an address is not public, InfrastructureError if there is no address.
        """
        try:
            addresses = [str(ipaddress.ip_address(host))]
        except ValueError:
            addresses = await self._resolve(host, port)
        for address in addresses:
            problem = (special := self._problem(address, port)) and f"it is {special}"
            if problem and self._server is not None and self._server.origin[1:] == (host, port):
                problem = self._server.problem(address)
            if problem:
                label = host if address == host else f"{host} ({address})"
                raise ActionError("refused", f"{label} is not asked: {problem}")
        if not addresses:
            raise InfrastructureError(f"no address is known for '{host}'")
        return addresses

    def _host_problem(self, host: str, port: int) -> str:
        """Return the reason why a host is forbidden by its name or its literal address; '' if it is not."""
        try:
            return self._problem(host, port)
        except ValueError:
            local = "." not in host or any(host == name or host.endswith("." + name) for name in _LOCAL_NAMES)
            return "a name of this machine or of the network around it" if local else ""

    def _problem(self, text: str, port: int) -> str:
        """Return the reason why an address is forbidden; '' if it is allowed."""
        address = ipaddress.ip_address(text)
        if (str(address), port) in self._allowed_addresses:
            return ""
        if isinstance(address, ipaddress.IPv6Address):
            public = address in _PUBLIC_V6 and not any(address in network for network in _SPECIAL_V6)
        else:
            public = not any(address in network for network in _SPECIAL_V4)
        public = public and not any(address in network for network in METADATA)
        if public and address.is_global and not address.is_multicast and not address.is_reserved:
            return ""
        return special_kind(address) or "no public address"


def _normalize_host(url: str, host: str, is_bracketed: bool) -> str:
    """Return a host in the spelling that is resolved. Raises ActionError if it is neither a name nor an address."""
    if not is_bracketed:
        try:
            host = ascii_name(host)
        except ValueError as error:
            raise _refusal(url, f"the host is no name: {error}") from None
        labels = host.split(".")
        if not _NUMBER.fullmatch(labels[-1]):
            if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
                raise _refusal(url, "the host is no name")
            return host
    try:
        return str(ipaddress.ip_address(host))  # only the usual spelling, because libraries read others differently
    except ValueError:
        raise _refusal(url, "the host is a number in an unusual spelling") from None


def _refusal(url: str, problem: str) -> ActionError:
    quotation = url[:200].encode("unicode_escape").decode()
    return ActionError("refused", f"'{quotation}' is not asked: {problem}")
