"""Log in at a MySQL server that a job names, without revealing the password to a server that must not have it.

Nothing about the account is sent to another machine before TLS has verified the server's certificate for its host name.
The permitted login methods depend on the source of the account (docs/decisions/0049):

- a line of LUMOS_API_KEYS that names this server: the server may get the password itself, inside TLS;
- LUMOS_MYSQL_USER, for any port of loopback: only methods that do not reveal the password.

For a line about loopback, TLS accepts any certificate: few servers have a certificate for `localhost`, and the
connection does not leave the machine. Any other name needs a certificate, even if it is the name of a loopback address.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import pymysql
from pymysql.constants import CR

from lumos_queue.actions.sql.database import SECONDS
from lumos_queue.actions.sql.login_methods import LoginMethods
from lumos_queue.endpoints.dial import connect, tls_context
from lumos_queue.errors import InfrastructureError
from lumos_queue.util.addresses import is_loopback, names_loopback
from lumos_queue.util.os_errors import describe_os_error

CONNECT_SECONDS = 10


def open_connection(server: Mapping[str, Any], database: str) -> Any:
    """Log in, and return pymysql's connection. `server` is the dictionary that `ServerAccess.describe` returns.

    Raises InfrastructureError, and an error of pymysql if the server refuses the login.
    """
    origin, bound = server["origin"], server["bound"]
    tcp_socket = asyncio.run(_connect(origin, server["addresses"]))
    try:
        local = is_loopback(tcp_socket.getpeername()[0])
        if not local and not bound:
            raise InfrastructureError(f"The MySQL server {origin} is another machine: it gets no account.")
        if not bound:
            tls: dict[str, Any] = {"ssl_disabled": True}  # inside TLS a greeting can make pymysql send the password
        elif local and names_loopback(server["host"]):
            tls = {}  # where the server offers it
        else:
            tls = {"ssl": tls_context()}
        connection = pymysql.Connection(
            host=server["host"],
            port=server["port"],
            user=server["user"],
            password=server["password"].encode(),  # pymysql would encode a text as Latin-1
            database=database,
            read_timeout=SECONDS + CONNECT_SECONDS,
            local_infile=False,
            charset="utf8mb4",
            autocommit=False,
            auth_plugin_map=LoginMethods(origin, bound),
            defer_connect=True,
            **tls,
        )
        _log_in(connection, tcp_socket, server)
        return connection
    except BaseException:
        tcp_socket.close()
        raise


async def _connect(origin: str, addresses: Sequence[Sequence[Any]]) -> socket.socket:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            tcp_socket = await connect([(*address[:4], tuple(address[4])) for address in addresses])
    except TimeoutError:
        problem = f"no connection within {CONNECT_SECONDS} s"
    except OSError as error:
        problem = describe_os_error(error)
    else:
        tcp_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return tcp_socket
    raise InfrastructureError(f"The MySQL server {origin} cannot be used: {problem}.")


def _log_in(connection: Any, tcp_socket: socket.socket, server: Mapping[str, Any]) -> None:
    """Log in. Raises InfrastructureError if TLS or the protocol fails, and pymysql's errors for other failures."""
    origin, host = server["origin"], server["host"]
    try:
        connection.connect(tcp_socket)
    except pymysql.MySQLError as error:
        cause = getattr(error, "original_exception", None)
        if isinstance(cause, ssl.SSLCertVerificationError):
            problem = cause.verify_message.rstrip(".")
            raise InfrastructureError(
                f"The certificate of the MySQL server {origin} is not accepted ({problem}), and no account was sent: "
                f"it needs one for '{host}' from an authority that is trusted here (SSL_CERT_FILE)."
            ) from None
        if error.args and error.args[0] == CR.CR_SSL_CONNECTION_ERROR:
            raise InfrastructureError(
                f"The MySQL server {origin} offers no TLS, and no account was sent: it needs TLS with a certificate "
                f"for '{host}'."
            ) from None
        raise
    except (InfrastructureError, MemoryError, RecursionError):
        raise
    except Exception as error:  # pymysql parses a server's packets in many places, each with its own errors
        problem = f"{type(error).__name__}: {error}"[:200]
        raise InfrastructureError(f"The login at the MySQL server {origin} failed: {problem}.") from None
