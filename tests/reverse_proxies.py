"""Explorers served by `lumos web`, and the reverse proxies of docs/explorer.md in front of them, on this machine."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from db.engine.connection import Database
from tests.certificates import Authority
from tests.conftest import ROOT
from tests.explorers import Client
from tests.services import free_port, skip_test, wait_until

PAGE = ROOT / "docs" / "explorer.md"
NAME = "localhost"  #: at which browsers reach the explorer
NGINX_SOURCE = "127.0.0.5"  #: from which nginx connects to the explorer, if another proxy is in front of it
NOBODY = 65534  #: the user and the group of the proxies, if root runs the tests


@dataclass(frozen=True)
class Entrance:
    """The way to an explorer: direct, or through proxies."""

    url: str
    explorer: psutil.Process
    authority: Path | None = None  #: the file of the authority that clients trust; None: without TLS
    clear_url: str = ""  #: that redirects to `url`; '' if there is none

    @contextmanager
    def connect(self, address: str) -> Iterator[Client]:
        """Yield a client that connects from a loopback address."""
        context = ssl.create_default_context(cafile=self.authority)
        transport = httpx2.HTTPTransport(verify=context, trust_env=False, local_address=address)
        with Client(self.url, transport) as client:
            yield client

    def count_connections(self) -> int:
        """Return the number of connections to the explorer."""
        connections = self.explorer.net_connections("tcp")
        return sum(connection.status == psutil.CONN_ESTABLISHED for connection in connections)


def is_listening(port: int) -> bool:
    """Return whether a server listens at a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class ProxyFolder:
    """A folder for the files of proxies, and their processes, which run without rights of root."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.certificate, self.key = Authority(folder).issue(f"DNS:{NAME}")
        self.authority = folder / "authority.pem"

    @contextmanager
    def run(self, command: list[str], port: int, **environment: str) -> Iterator[None]:
        """Run a proxy until the end of the context. `port`: where it listens."""
        log = self.folder / f"{Path(command[0]).name}.log"
        identity = {}
        if os.getuid() == 0:
            identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, NOBODY, NOBODY)
        with log.open("wb") as output:
            variables = {**os.environ, "HOME": str(self.folder), **environment}
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, **identity
            )

        def is_ready() -> bool:
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            return is_listening(port)

        try:
            wait_until(is_ready, f"{command[0]} listens")
            yield
        finally:
            process.terminate()
            process.wait(30)


def require_programs() -> tuple[str, str]:
    """Return the paths of nginx and Caddy. Skips the test on a machine without them."""
    paths = [shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("nginx", "caddy")]
    if None in paths:
        skip_test("needs nginx and Caddy: apt-get install nginx caddy")
    return str(paths[0]), str(paths[1])


def read_configuration(language: str, replacements: Mapping[str, str]) -> str:
    """Return the code block of the page in this language, with each text replaced wherever it occurs."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for old, new in replacements.items():
        assert old in text, f"'{old}' is not in the {language} file of {PAGE.name}"
        text = text.replace(old, new)
    return text


@contextmanager
def make_folder() -> Iterator[ProxyFolder]:
    """Yield a folder that users other than root reach, unlike that of pytest."""
    path = Path(tempfile.mkdtemp(prefix="lumos-proxies-"))
    try:
        yield ProxyFolder(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def run_nginx(
    program: str, proxy_folder: ProxyFolder, target: str, ports: tuple[int, int], more: str = ""
) -> Iterator[None]:
    """Run nginx before the server at `target`. `ports`: of HTTP and HTTPS. `more`: settings of its connections."""
    folder = proxy_folder.folder
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("proxy", "fastcgi", "uwsgi", "scgi"))
    text = read_configuration(
        "nginx",
        {
            "/run/nginx.pid": f"{folder}/nginx.pid",
            "/var/log/nginx/error.log": f"{folder}/nginx-error.log",
            "http {": f"http {{ client_body_temp_path {folder}/client_body; {temporary}",
            "listen 80": f"listen 127.0.0.1:{ports[0]}",
            "listen 443": f"listen 127.0.0.1:{ports[1]}",
            "lumos.example.org": NAME,
            "/etc/lumos/cert.pem": str(proxy_folder.certificate),
            "/etc/lumos/key.pem": str(proxy_folder.key),
            "http://127.0.0.1:8642;": f"{target}; {more}",
        },
    )
    file = folder / "nginx.conf"
    file.write_text(text, encoding="utf-8")
    command = [program, "-p", str(folder), "-c", str(file), "-e", "stderr", "-g", "daemon off;"]
    with proxy_folder.run(command, ports[1]):
        yield


@contextmanager
def run_caddy(
    program: str,
    proxy_folder: ProxyFolder,
    target: str,
    ports: tuple[int, int],
    *,
    forwarding: str = "",
    more: str = "",
) -> Iterator[None]:
    """Run Caddy before the server at `target`. `ports`: of HTTP and HTTPS.

    `forwarding`: settings of `reverse_proxy`. `more`: settings of its connections.
    """
    text = read_configuration(
        "caddy",
        {
            "admin off": f"admin off\n\tdefault_bind 127.0.0.1\n\thttp_port {ports[0]}\n\thttps_port {ports[1]}",
            "lumos.example.org": NAME,
            "/etc/lumos/cert.pem": str(proxy_folder.certificate),
            "/etc/lumos/key.pem": str(proxy_folder.key),
            "127.0.0.1:8642": target,
            "transport http {": f"{forwarding}\ntransport http {{\n{more}",
        },
    )
    file = proxy_folder.folder / "Caddyfile"
    file.write_text(text, encoding="utf-8")
    command = [program, "run", "--config", str(file), "--adapter", "caddyfile"]
    with proxy_folder.run(
        command, ports[1], XDG_DATA_HOME=str(proxy_folder.folder), XDG_CONFIG_HOME=str(proxy_folder.folder)
    ):
        yield


@contextmanager
def run_explorer(database: Database, home: Path, people: Path, port: int, *options: str) -> Iterator[psutil.Process]:
    """Run `lumos web` with a file of passwords on 127.0.0.1."""
    command = [sys.executable, "-m", "lumos_queue.cli.main", "web", "--port", str(port), "--passwords", str(people)]
    variables = {**os.environ, "LUMOS_HOME": str(home), "LUMOS_DATABASE_URL": database.url}
    log = home / f"web-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, cwd=ROOT
        )

    def is_ready() -> bool:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        return is_listening(port)

    try:
        wait_until(is_ready, "lumos web listens", 90)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def open_entrance(way: str, database: Database, home: Path, people: Path) -> Iterator[Entrance]:
    """Run an explorer, and the proxies of a way to it.

    `way`: 'in clear', 'TLS', or the proxies from the client on: 'nginx', 'caddy', 'caddy, nginx' or 'nginx, caddy'.
    """
    with ExitStack() as stack:
        enter = stack.enter_context
        port = free_port()
        if way == "in clear":
            yield Entrance(f"http://{NAME}:{port}", enter(run_explorer(database, home, people, port)))
            return
        proxy_folder = enter(make_folder())
        if way == "TLS":
            files = ("--certificate", str(proxy_folder.certificate), "--key", str(proxy_folder.key))
            process = enter(run_explorer(database, home, people, port, *files))
            yield Entrance(f"https://{NAME}:{port}", process, proxy_folder.authority)
            return
        nginx, caddy = require_programs()
        ports, inner_ports = (free_port(), free_port()), (free_port(), free_port())
        options = ["--name", f"{NAME}:{ports[1]}", "--proxy", "127.0.0.1"]
        if way == "nginx":
            enter(run_nginx(nginx, proxy_folder, f"http://127.0.0.1:{port}", ports))
        elif way == "caddy":
            enter(run_caddy(caddy, proxy_folder, f"127.0.0.1:{port}", ports))
        elif way == "caddy, nginx":
            options += ["--proxy", NGINX_SOURCE]
            trust = f"tls_trusted_ca_certs {proxy_folder.authority}\ntls_server_name {NAME}"
            source = f"proxy_bind {NGINX_SOURCE};"
            enter(run_nginx(nginx, proxy_folder, f"http://127.0.0.1:{port}", inner_ports, source))
            enter(run_caddy(caddy, proxy_folder, f"https://127.0.0.1:{inner_ports[1]}", ports, more=trust))
        else:
            options += ["--proxy", NGINX_SOURCE]
            name = f"proxy_bind {NGINX_SOURCE}; proxy_ssl_server_name on; proxy_ssl_name {NAME};"
            trust = f"trusted_proxies {NGINX_SOURCE}"
            enter(run_caddy(caddy, proxy_folder, f"127.0.0.1:{port}", inner_ports, forwarding=trust))
            enter(run_nginx(nginx, proxy_folder, f"https://127.0.0.1:{inner_ports[1]}", ports, name))
        process = enter(run_explorer(database, home, people, port, *options))
        yield Entrance(f"https://{NAME}:{ports[1]}", process, proxy_folder.authority, f"http://{NAME}:{ports[0]}")
