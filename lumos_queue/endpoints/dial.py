"""From the name of a server to a connected socket: every address is checked, and the first that answers is used.

Addresses are tried a quarter of a second after one another, alternating IPv6 and IPv4 (RFC 8305, Happy Eyeballs), so
that a dead one costs no more than that. Between the check and the connection nothing is looked up again.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import socket
import ssl
from typing import Any

import aiohappyeyeballs

from lumos_queue.endpoints.connection import ForbiddenHost
from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.util.addresses import plain_address

STAGGER_SECONDS = 0.25  #: between the starts of two tries


async def dial(host: str, port: int, hosts: Hosts, loopback_only: bool) -> socket.socket:
    """A connected socket; with `loopback_only` to this machine. Raises ForbiddenHost, and OSError when none answers."""
    found, problem = [], ""
    for entry in await _look_up(host, port):
        address = str(entry[4][0])
        why = hosts.problem(host, port, address) or (_elsewhere(address) if loopback_only else "")
        problem = problem or why
        if not why:
            found.append(entry)
    if not found:
        raise ForbiddenHost(problem or f"no address is known for '{host}'")
    return await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=STAGGER_SECONDS, interleave=1)


async def _look_up(host: str, port: int) -> list[tuple[Any, ...]]:
    """As socket.getaddrinfo has it; an address needs no thread for that."""
    if _is_address(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _elsewhere(address: str) -> str:
    if plain_address(ipaddress.ip_address(address)).is_loopback:
        return ""
    return f"{address} is another machine, and the line of its key in LUMOS_API_KEYS does not say cleartext"


def tls_context() -> ssl.SSLContext:
    """Return the context with the certificates that this machine trusts, one for the process: reading them is slow."""
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@functools.lru_cache(maxsize=4)
def _tls_context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return ssl.create_default_context()  # which reads both variables
