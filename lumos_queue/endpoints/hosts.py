"""Decide which model servers a process may call, by `LUMOS_ENDPOINT_HOSTS` and by kinds of addresses that are refused.

The person who submits a job names the endpoints, and the workers call them from their own network. So the list permits
names and addresses. Without a list, two kinds of addresses are refused: those at which clouds give secrets to their
machines, and those that no server can have. The address of the connection itself is checked; docs/decisions/0017.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import (
    METADATA,
    Address,
    ascii_name,
    find_embedded_addresses,
    plain_address,
    special_kind,
)

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_HOST_AND_PORT = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(:(?P<port>[0-9]{1,5}))?")
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")


class _Rule(NamedTuple):
    """One entry of the list."""

    name: str  #: '' for a network
    below: bool  #: whether it means all names that end with it
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None
    port: int | None

    def fits(self, host: str, port: int, address: Address) -> bool:
        if self.port is not None and self.port != port:
            return False
        if self.network is not None:
            return address in self.network
        return host.endswith(f".{self.name}") if self.below else host == self.name

    @property
    def one_address(self) -> bool:
        return self.network is not None and self.network.num_addresses == 1


class Hosts:
    """The list of permitted hosts. An empty list permits any. Addresses of a refused kind must be listed themselves."""

    def __init__(self, text: str = ""):
        """`text`: HOST, HOST:PORT, *.SUFFIX, ADDRESS or NETWORK/BITS, separated by commas. Raises SpecError."""
        self._rules = [_rule(entry.strip()) for entry in text.split(",") if entry.strip()]

    def problem(self, host: str, port: int, address: str) -> str:
        """Return why `address` of `host` must not be called, with the remedy, or '' if it may be called."""
        target = plain_address(ipaddress.ip_address(address))
        matching_rules = [rule for rule in self._rules if rule.fits(host, port, target)]
        if any(rule.one_address for rule in matching_rules):
            return ""
        for candidate in (target, *find_embedded_addresses(target)):
            if kind := _find_forbidden_kind(candidate):
                return f"{candidate} is {kind}; if it is meant, list it in LUMOS_ENDPOINT_HOSTS"
        if self._rules and not matching_rules:
            return f"{host}:{port} ({target}) is not among LUMOS_ENDPOINT_HOSTS; list it there if it is meant"
        return ""


def _find_forbidden_kind(address: Address) -> str:
    if any(address in network for network in METADATA) or address.is_multicast or address.is_link_local:
        return special_kind(address)
    if address.is_unspecified or str(address) == "255.255.255.255":
        return special_kind(address)
    return "not an address of a machine" if address in _THIS_NETWORK else ""


def _rule(entry: str) -> _Rule:
    wrong = SpecError(
        f"LUMOS_ENDPOINT_HOSTS has '{entry[:200]}': "
        "expected HOST, HOST:PORT, *.SUFFIX, ADDRESS, [ADDRESS]:PORT or NETWORK/BITS, with commas between them."
    )
    try:
        if "/" in entry or (entry.count(":") > 1 and not entry.startswith("[")):
            return _Rule("", False, ipaddress.ip_network(entry), None)
        match = _HOST_AND_PORT.fullmatch(entry)
        if not match:
            raise wrong
        port = int(match["port"]) if match["port"] else None
        host = match["host"]
        if host.startswith("[") or re.fullmatch(r"[0-9.]+", host):
            return _Rule("", False, ipaddress.ip_network(host.strip("[]")), port)
        below = host.startswith("*.")
        name = ascii_name(host.removeprefix("*."))
    except ValueError:
        raise wrong from None
    if not _NAME.fullmatch(name):
        raise wrong
    return _Rule(name, below, None, port)
