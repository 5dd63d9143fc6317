"""Connect to a server by name: all addresses are checked, and the first that answers is used.

A new address is tried every quarter of a second, alternating IPv6 and IPv4 (RFC 8305, Happy Eyeballs), so that a dead
address costs no more time than that. No name is looked up between the check and the connection.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import socket
import ssl
from collections.abc import Sequence
from typing import Any

import aiohappyeyeballs

from lumos_queue.endpoints.connection import ForbiddenHost
from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.util.addresses import is_loopback

STAGGER_SECONDS = 0.25  #: between the starts of two tries
#: One address, as socket.getaddrinfo returns it: family, type, protocol, name, and the address with its port.
AddressInfo = tuple[Any, ...]
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


async def dial(host: str, port: int, hosts: Hosts, beyond: str = "") -> socket.socket:
    """Return a socket connected to a host. Raises ForbiddenHost and OSError, as the two functions below do."""
    return await connect(await check_addresses(host, port, hosts, beyond))


async def check_addresses(host: str, port: int, hosts: Hosts, beyond: str = "") -> list[AddressInfo]:
    """Return the addresses of a host that may be connected to.

    `beyond`: why addresses of other machines are forbidden; '' if they are not. Raises ForbiddenHost when all are
    forbidden, and OSError when the name is unknown.
    """
    allowed_addresses: list[AddressInfo] = []
    problem = ""
    for entry in await _look_up(host, port):
        address = str(entry[4][0])
        reason = hosts.problem(host, port, address)
        if not reason and beyond and not is_loopback(address):
            reason = f"{address} is another machine, and {beyond}"
        problem = problem or reason
        if not reason:
            allowed_addresses.append(entry)
    if not allowed_addresses:
        raise ForbiddenHost(problem or f"no address is known for '{host}'")
    return allowed_addresses


async def connect(addresses: Sequence[AddressInfo]) -> socket.socket:
    """Return a socket that is connected to one of these checked addresses. Raises OSError when none answers."""
    return await aiohappyeyeballs.start_connection(  # pyright: ignore[reportUnknownMemberType]  # tuples without types
        addresses, happy_eyeballs_delay=STAGGER_SECONDS, interleave=1
    )


async def _look_up(host: str, port: int) -> list[AddressInfo]:
    """Return the addresses from socket.getaddrinfo. Names are looked up in a thread, addresses need none."""
    if _is_address(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def tls_context() -> ssl.SSLContext:
    """Return the TLS context with the certificates that this machine trusts. It is cached, as reading them is slow."""
    file, folder = (os.environ.get(name) for name in _CERTIFICATES)
    return _tls_context(file, folder)


def certificate_variables() -> dict[str, str]:
    """Return the variables that `tls_context` reads, with absolute paths, to set them in a process without others."""
    paths = {name: os.environ.get(name, "") for name in _CERTIFICATES}
    return {name: ":".join(map(os.path.abspath, value.split(":"))) for name, value in paths.items() if value}


@functools.lru_cache(maxsize=4)
def _tls_context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return ssl.create_default_context()  # which reads both variables
