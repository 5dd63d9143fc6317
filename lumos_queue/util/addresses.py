"""Write hosts and addresses in one spelling, and recognise special addresses, for code that connects to servers."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
DATABASE_PORTS = {"mysql": 3306}
_ALL_PORTS = PORTS | DATABASE_PORTS
MAX_CHARACTERS = 8_000  #: of a URL, as its split takes quadratic time in the non-ASCII characters of the host

IPV6_PREFIX = 64  #: bits of an IPv6 address that a provider gives to each customer

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Networks where clouds give secrets to their machines, besides 169.254.0.0/16 and fe80::/10, which are link-local.
METADATA = [
    ipaddress.ip_network(network)
    for network in ("100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::254/128")
]
_NAT64 = [ipaddress.IPv6Network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48")]
_COMPATIBLE = ipaddress.IPv6Network("::/96")


class Origin(NamedTuple):
    """The server of a URL. A key is sent only to the origin that it belongs to."""

    scheme: str  #: http, https or mysql
    host: str  #: in lowercase ASCII, or an address in its usual spelling, without brackets
    port: int

    @classmethod
    def of(cls, url: str, ports: Mapping[str, int] = PORTS) -> Origin:
        """Return the origin of a URL. `ports` has the accepted schemes with their usual ports.

        Raises ValueError for any other URL, and for one of more than MAX_CHARACTERS.
        """
        if len(url) > MAX_CHARACTERS:
            raise ValueError(f"longer than {MAX_CHARACTERS:,} characters")
        parts = urlsplit(url)
        if parts.scheme not in ports or not parts.hostname:
            raise ValueError(f"not {origin_forms(ports)}")
        port = ports[parts.scheme] if parts.port is None else parts.port
        return cls(parts.scheme, usual_host(parts.hostname), port)

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _ALL_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def origin_forms(ports: Mapping[str, int]) -> str:
    """Return how an origin with one of these schemes is written, for messages."""
    return " or ".join(f"{scheme}://HOST[:PORT]" for scheme in ports)


def is_loopback(address: str) -> bool:
    """Return whether an address, in the form that sockets use, is a loopback address of this machine."""
    return plain_address(ipaddress.ip_address(address)).is_loopback


def names_loopback(host: str) -> bool:
    """Return whether a host is a loopback address, `localhost`, or a name below `localhost`.

    Other names may resolve to a loopback address, too: check the connected address with `is_loopback`.
    """
    try:
        return is_loopback(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def usual_host(host: str) -> str:
    """Return a host in the spelling in which hosts are compared. Raises ValueError for an invalid name."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ascii_name(host)


def ascii_name(host: str) -> str:
    """Return a name in lowercase ASCII without the dot at its end. Raises ValueError for an invalid name."""
    if not host.isascii():
        import idna  # imported late: its tables are large, and few names need them

        host = idna.encode(host, uts46=True).decode()
    return host.lower().removesuffix(".")


def plain_address(address: Address) -> Address:
    """Return the IPv4 address in an IPv4-mapped IPv6 address; return any other address unchanged."""
    ipv4_address = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return ipv4_address or address


def find_embedded_addresses(address: Address) -> list[Address]:
    """Return the IPv4 addresses in an IPv6 address, to which a gateway (NAT64, 6to4, Teredo) may forward requests."""
    if not isinstance(address, ipaddress.IPv6Address):
        return []
    candidates: list[Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    compatible = address in _COMPATIBLE and int(address) >> 24  # ::1 and the like carry none
    if compatible or any(address in network for network in _NAT64):
        candidates.append(ipaddress.IPv4Address(address.packed[-4:]))
    return [candidate for candidate in candidates if candidate is not None]


def special_kind(address: Address) -> str:
    """Return the kind of a special address as text, such as `a loopback address`; '' for an ordinary public address."""
    if any(address in network for network in METADATA):
        return "a cloud's metadata address"
    if str(address) == "255.255.255.255":
        return "a broadcast address"
    for kind in ("unspecified", "loopback", "link_local", "multicast", "reserved", "private"):
        if getattr(address, f"is_{kind}"):
            article = "an" if kind == "unspecified" else "a"
            return f"{article} {kind.replace('_', '-')} address"
    return ""


@lru_cache(maxsize=4_096)
def group_address(text: str) -> str:
    """Return an IPv4 address as it is, and the /64 network of an IPv6 address, as text: the unit of limits."""
    address = parse_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))
    return str(address) if address else text


def parse_address(text: str) -> Address | None:
    """Return the address, with an IPv4 address inside IPv6 (`::ffff:10.0.0.1`) as IPv4; None for any other text."""
    try:
        return plain_address(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return None
