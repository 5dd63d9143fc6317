"""Serve the explorer until a signal stops it."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.util.addresses import Origin
from lumos_queue.util.connection_limits import BACKLOG, allow_connections
from lumos_queue.util.wording import format_bytes
from lumos_queue.web.access.client_address import Proxies
from lumos_queue.web.access.login_methods import LoginMethod, PasswordLogin, TokenLogin
from lumos_queue.web.access.passwords import PasswordFile
from lumos_queue.web.access.sessions import MAX_OF_PERSON
from lumos_queue.web.app import make_app
from lumos_queue.web.app_state import POOL_SECONDS, AppState
from lumos_queue.web.connections.clients import Clients
from lumos_queue.web.connections.server import BoundedServer, make_tls
from lumos_queue.web.live import LiveJobs
from lumos_queue.web.shared_results import MAX_BYTES

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Serving:
    """Where and for whom the explorer is served."""

    host: str = "127.0.0.1"
    port: int = 8642  #: 0: any free port
    passwords: Path | None = None  #: the password file; None: login by a token, on this machine only
    names: Collection[str] = ()  #: host names at which browsers may reach it, in addition to its address
    certificate: Path | None = None
    key: Path | None = None
    flower: str = ""  #: the address of Flower
    proxies: Collection[str] = ()  #: IP addresses and networks of reverse proxies, which state their clients
    insecure: bool = False  #: whether other machines may send passwords in clear


def serve(settings: Settings, options: Serving, say: Callable[[str], None]) -> None:
    """Serve the explorer until SIGINT or SIGTERM. `say` prints one line.

    Raises SpecError if the address is not available, or if other machines could reach it without a password or could
    send passwords in clear.
    """
    _check(options)
    login_method: LoginMethod = (
        PasswordLogin(PasswordFile(options.passwords))
        if options.passwords
        else TokenLogin(settings.user, settings.web_token)
    )
    with (
        _listen(options.host, options.port) as server_socket,
        Deployment(settings, POOL_SECONDS) as deployment,
    ):
        job_database = deployment.create()
        address, port = server_socket.getsockname()[:2]
        _require_password(address, login_method)
        secure = options.certificate is not None
        _require_encryption(address, secure or options.insecure)
        origin = str(Origin("https" if secure else "http", address, port))
        site = AppState(
            settings,
            job_database,
            login_method,
            LiveJobs(job_database, settings),
            cookie=f"lumos-{port}",
            secure=secure,
            flower=options.flower,
            proxies=_read_proxies(options.proxies),
            insecure=options.insecure,
        )
        app = make_app(site, _origins(options, address, port, secure))
        say(f"the explorer is at {origin}{_entrance(login_method, settings)} until Ctrl-C")
        server = make_server(app, options.certificate, options.key)
        say(_describe_limits(site))
        for number in (signal.SIGINT, signal.SIGTERM):
            # The server handles these signals while it runs, and raises them again afterwards: ignore those.
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[server_socket])


def make_server(app: FastAPI, certificate: Path | None = None, key: Path | None = None) -> uvicorn.Server:
    """Return a server that sends no server header, trusts no proxy headers, and ends a second after the signal.

    It raises the limit of open files to what its connections need. Raises SpecError for a wrong certificate or key.
    """
    site: AppState = app.state.site
    limits = site.connections.limits
    site.connections.limits = limits.within_files(allow_connections(limits.connections))
    tls = make_tls(certificate, key) if certificate and key else None
    config = uvicorn.Config(
        app,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    clients = Clients(site.connections, site.sessions, site.cookie, site.proxies)
    return BoundedServer(config, clients, tls, site.live.stop)


def _entrance(login_method: LoginMethod, settings: Settings) -> str:
    """The path of the printed address. It contains the token only if it is new, because the line may go into a log."""
    if isinstance(login_method, TokenLogin) and not settings.web_token:
        return f"/login?{urlencode({'token': login_method.token})}"
    return "/jobs"


def _check(options: Serving) -> None:
    if bool(options.certificate) != bool(options.key):
        raise SpecError("Give both --certificate and --key, or neither.")
    for file in filter(None, (options.certificate, options.key)):
        if not file.is_file():
            raise SpecError(f"There is no file '{file}'.")


def _listen(host: str, port: int) -> socket.socket:
    try:
        ((family, kind, number, _, address), *_) = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        server_socket = socket.socket(family, kind, number)
        server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server_socket.bind(address)
        server_socket.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        problem = getattr(error, "strerror", None) or error
        raise SpecError(f"Cannot serve on {host}, port {port}: {problem}. Choose another --host or --port.") from None
    return server_socket


def _origins(options: Serving, address: str, port: int, secure: bool) -> set[str]:
    """The origins at which browsers may reach this server, including https for a proxy in front of it."""
    scheme, names = "https" if secure else "http", [name.lower() for name in options.names]
    hosts = {
        address,
        *names,
        *(LOOPBACK_NAMES if ipaddress.ip_address(address).is_loopback else (socket.gethostname(),)),
    }
    return {str(Origin(scheme, host.lower(), port)) for host in hosts} | {f"https://{name}" for name in names}


def _require_password(address: str, login_method: LoginMethod) -> None:
    """Raise SpecError if other machines could reach an explorer without passwords."""
    if not ipaddress.ip_address(address).is_loopback and not login_method.asks_password:
        raise SpecError(
            f"{address} can be reached from other machines, and a token is for this machine only: "
            "give --passwords FILE, which lumos web add-person writes, or serve on 127.0.0.1."
        )


def _require_encryption(address: str, is_allowed: bool) -> None:
    """Raise SpecError if other machines could send passwords in clear."""
    if not ipaddress.ip_address(address).is_loopback and not is_allowed:
        raise SpecError(
            f"Passwords would travel unencrypted to {address}: give --certificate and --key; or serve on 127.0.0.1 "
            "behind a proxy with TLS; or give --insecure if the network is trusted."
        )


def _read_proxies(addresses: Collection[str]) -> Proxies:
    try:
        return Proxies(addresses)
    except ValueError as error:
        raise SpecError(f"--proxy: {error}: expected an IP address, or a network such as 10.0.0.0/8.") from None


def _describe_limits(site: AppState) -> str:
    limits = site.connections.limits
    return (
        f"limits: {limits.connections:,} connections, {limits.of_person} of a person, {limits.of_address} of an "
        f"address without a login; {MAX_OF_PERSON} logins of a person; {format_bytes(MAX_BYTES)} of stored results"
    )
