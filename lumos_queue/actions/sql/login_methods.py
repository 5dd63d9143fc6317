"""The methods to log in at a MySQL server. The server chooses, and this process refuses to reveal the password.

Without this module, pymysql sends the password in clear text to a server that requests it (`mysql_clear_password`,
`dialog`), and encrypts it with any RSA key that the server sends (`sha256_password`, `caching_sha2_password`).
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from lumos_queue.errors import InfrastructureError

#: Methods that answer a challenge of the server; they are pymysql's own.
CHALLENGES = frozenset({"mysql_native_password", "client_ed25519"})
#: Methods that send the password itself.
PASSWORDS = ("sha256_password", "mysql_clear_password")
CACHING_SHA2 = "caching_sha2_password"
NONCE_BYTES = 20
_FAST_OK, _WHOLE_LOGIN = b"\x01\x03", b"\x01\x04"  #: a server's answers to the challenge of caching_sha2_password


class LoginMethods(dict[str, Any]):
    """The `auth_plugin_map` of pymysql: it maps methods to factories of handlers, or to None for pymysql's handler."""

    def __init__(self, server: str, reveal: bool):
        """`reveal`: whether the server may get the password itself, inside TLS."""
        super().__init__({CACHING_SHA2: partial(CachingSha2, server, reveal)})
        if reveal:
            self.update({method: partial(PasswordInTls, server, method) for method in PASSWORDS})
        self._server = server

    def get(self, name: str | bytes, default: Any = None) -> Any:
        """Return the factory for the method that a server requests. Methods that are not allowed give a Refusal."""
        method = name.decode("ascii", "backslashreplace") if isinstance(name, bytes) else name
        return None if method in CHALLENGES else super().get(method, partial(Refusal, self._server, method))


class Refusal:
    """Handles a method that is not allowed: it raises InfrastructureError if the server requests the method."""

    def __init__(self, server: str, method: str, connection: Any):
        self._server, self._method = server, method

    def authenticate(self, packet: Any) -> Any:
        raise InfrastructureError(
            f"The MySQL server {self._server} asks for the password by {self._method[:40]!r}, which is refused here: "
            "use an account of mysql_native_password or caching_sha2_password."
        )


class PasswordInTls:
    """Handles a method that sends the password itself."""

    def __init__(self, server: str, method: str, connection: Any):
        self._server, self._method, self._connection = server, method, connection

    def authenticate(self, packet: Any) -> Any:
        """Return the server's answer. Raises InfrastructureError without TLS."""
        return send_password(self._connection, self._server)


class CachingSha2:
    """Handles MySQL 8's usual method: a challenge if the server remembers the account, else the password itself."""

    def __init__(self, server: str, reveal: bool, connection: Any):
        self._server, self._reveal, self._connection = server, reveal, connection

    def authenticate(self, packet: Any) -> Any:
        """Return the server's last packet. Raises InfrastructureError if the server must not get the password."""
        if packet.is_auth_switch_request():
            nonce = packet.read_all()[:NONCE_BYTES]
            packet = exchange(self._connection, answer_challenge(self._connection.password, nonce))
        if not packet.is_extra_auth_data():
            return packet
        state = packet.get_all_data()
        if state == _FAST_OK:
            return self._connection._read_packet()
        if state != _WHOLE_LOGIN:
            raise InfrastructureError(f"The MySQL server {self._server} answers what {CACHING_SHA2} does not have.")
        if not self._reveal:
            raise InfrastructureError(
                f"The MySQL server {self._server} asks for the password itself, which LUMOS_MYSQL_PASSWORD is not sent "
                f"for: write a line '{self._server} USER PASSWORD' into the file of LUMOS_API_KEYS."
            )
        return send_password(self._connection, self._server)


def send_password(connection: Any, server: str) -> Any:
    """Send the password itself and return the server's answer. Raises InfrastructureError without TLS."""
    if not connection._secure:
        raise InfrastructureError(
            f"The MySQL server {server} asks for the password in clear text and offers no TLS: turn TLS on there, "
            "or use an account that logs in with mysql_native_password."
        )
    return exchange(connection, connection.password + b"\0")


def exchange(connection: Any, data: bytes) -> Any:
    """Send a packet, and return the server's next packet."""
    connection.write_packet(data)
    return connection._read_packet()


def answer_challenge(password: bytes, nonce: bytes) -> bytes:
    """Return SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce); b"" for an empty password."""
    if not password:
        return b""
    once = hashlib.sha256(password).digest()
    mask = hashlib.sha256(hashlib.sha256(once).digest() + nonce).digest()
    return bytes(left ^ right for left, right in zip(once, mask, strict=True))
