"""Real reverse proxies of a test, with the configuration files of docs/explorer.md."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.services import free_port, skip_test, wait_until

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explorer.md"
NAME = "lumos.example.org"  #: the host name in the files of the page
BOUND = 30  #: seconds until a proxy answers


@dataclass
class ReverseProxy:
    """A proxy that is running."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int
    http_port: int = field(default_factory=free_port)  #: without TLS

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def read_configuration(start: str) -> str:
    """Return the code block of the page that begins with `start`."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (configuration,) = (block for block in blocks if block.startswith(start))
    return configuration


def replace_texts(text: str, replacements: Mapping[str, str]) -> str:
    """Replace texts, each of which must occur."""
    for old, new in replacements.items():
        assert old in text, f"docs/explorer.md: expected {old!r} in the configuration of the proxy"
        text = text.replace(old, new)
    return text


@contextmanager
def start_nginx(folder: Path, upstream: str, certificate: tuple[Path, Path]) -> Iterator[ReverseProxy]:
    """Start nginx with the file of the page. `upstream`: host and port of the explorer."""
    binary = _find_program("nginx")
    port, http_port = free_port(), free_port()
    temporary = "".join(
        f"{name}_temp_path {folder / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    replacements = {
        "listen 80;": f"listen 127.0.0.1:{http_port};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/lumos/cert.pem": str(certificate[0]),
        "/etc/lumos/key.pem": str(certificate[1]),
        "127.0.0.1:8642": upstream,
        "http {\n": f"http {{\naccess_log off;\n{temporary}",
    }
    file = _write_configuration(folder, "nginx.conf", replace_texts(read_configuration("events {}"), replacements))
    user = "user root; " if os.getuid() == 0 else ""
    options = ["-p", folder, "-c", file, "-g", f"{user}daemon off; pid {folder / 'nginx.pid'};"]
    with _run([binary, *options], folder, port, http_port, {}) as proxy:
        yield proxy


@contextmanager
def start_caddy(folder: Path, upstream: str, certificate: tuple[Path, Path], block: str = "") -> Iterator[ReverseProxy]:
    """Start Caddy with the file of the page. `block`: further options of `reverse_proxy`."""
    binary = _find_program("caddy")
    port = free_port()
    replacements = {
        f"{NAME} {{": f"https://{NAME}:{port} {{\n\tbind 127.0.0.1",
        "/etc/lumos/cert.pem": str(certificate[0]),
        "/etc/lumos/key.pem": str(certificate[1]),
        "127.0.0.1:8642": f"{upstream} {{\n{block}\n}}",
    }
    text = "{\n\tadmin off\n\tauto_https off\n}\n" + replace_texts(read_configuration(f"{NAME} {{"), replacements)
    file = _write_configuration(folder, "Caddyfile", text)
    homes = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with _run([binary, "run", "--config", file, "--adapter", "caddyfile"], folder, port, port, homes) as proxy:
        yield proxy


@contextmanager
def _run(
    command: list[str | Path], folder: Path, port: int, http_port: int, environment: Mapping[str, str]
) -> Iterator[ReverseProxy]:
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | environment
        )
    proxy = ReverseProxy(process, log, port, http_port)
    try:
        wait_until(proxy.answers, f"{command[0]} answers", BOUND)
        yield proxy
    finally:
        process.terminate()
        process.wait()


def _find_program(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        skip_test(f"needs {name}: apt-get install {name}")
    assert path
    return path


def _write_configuration(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file
