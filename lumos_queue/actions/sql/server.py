"""Find the account of the MySQL server that a job names, and check the addresses of the server.

The child connects (`login.py`) to an address that this module has checked. docs/decisions/0049 has the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lumos_queue.endpoints.accounts import Account, find_account
from lumos_queue.endpoints.connection import ForbiddenHost
from lumos_queue.endpoints.dial import check_addresses
from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.errors import InfrastructureError
from lumos_queue.settings import Settings
from lumos_queue.util.addresses import Origin
from lumos_queue.util.os_errors import describe_os_error


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A server's address, the permitted hosts, and the account for the server."""

    origin: Origin
    hosts: Hosts
    account: Account | None = field(repr=False)

    async def describe(self) -> dict[str, Any]:
        """Return the part of a request with the account and the checked addresses. Raises InfrastructureError."""
        origin, account = self.origin, self.account
        address = f"mysql://{origin.host}:{origin.port}"
        line = f"write a line '{address} USER PASSWORD' into the file of LUMOS_API_KEYS"
        if account is None:
            raise InfrastructureError(f"There is no account for the MySQL server {origin} here: {line}.")
        beyond = "" if account.bound else f"LUMOS_MYSQL_USER is for loopback addresses alone: {line}"
        try:
            addresses = await check_addresses(origin.host, origin.port, self.hosts, beyond)
        except ForbiddenHost as error:
            raise InfrastructureError(f"The MySQL server {origin} is not called from here: {error}.") from None
        except (OSError, UnicodeError) as error:  # UnicodeError: not a host name
            raise InfrastructureError(
                f"The MySQL server {origin} cannot be used: {describe_os_error(error)}."
            ) from None
        return {
            "origin": str(origin),
            "host": origin.host,
            "port": origin.port,
            "addresses": addresses,
            "user": account.user,
            "password": account.password,
            "bound": account.bound,
        }


def open_access(origin: Origin, settings: Settings | None) -> ServerAccess:
    """Return the access to a server: with the account in the file of LUMOS_API_KEYS, else that of LUMOS_MYSQL_USER.

    Raises SpecError if the file of LUMOS_API_KEYS or LUMOS_ENDPOINT_HOSTS cannot be read.
    """
    if settings is None:
        return ServerAccess(origin, Hosts(), None)
    account = find_account(settings.api_keys, origin)
    if account is None and settings.mysql_user:
        account = Account(settings.mysql_user, settings.mysql_password, bound=False)
    return ServerAccess(origin, Hosts(settings.endpoint_hosts), account)
