"""A real pgbouncer of a test, in front of the PostgreSQL of the run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import make_url

from tests.services import Postgres, free_port, skip_test, wait_until


class PgBouncer:
    """A pgbouncer that accepts all users on a port of this machine, for every database of the server."""

    def __init__(self, binary: str, folder: Path, postgres: Postgres, **settings: object):
        self.port = free_port()
        sockets = Path(str(make_url(postgres.uri).query["host"]))
        users, configuration = folder / "users.txt", folder / "pgbouncer.ini"
        users.write_text('"postgres" ""\n', encoding="utf-8")
        options = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": users,
            **settings,
        }
        lines = [
            "[databases]",
            f"* = host={sockets}",
            "[pgbouncer]",
            *(f"{name} = {options[name]}" for name in options),
        ]
        configuration.write_text("\n".join(lines) + "\n", encoding="utf-8")
        folder.chmod(0o755)
        owner = sockets.stat()  # pgbouncer does not run as root, and only the owner can reach the server's socket
        self.log = folder / "pgbouncer.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [binary, configuration],
                stdout=log,
                stderr=log,
                **({"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.getuid() == 0 else {}),
            )

    def url(self, direct: str) -> str:
        """Return the URL of a database through pgbouncer, from its URL on the server."""
        address = make_url(direct).difference_update_query(["host"])
        return address.set(drivername="postgresql", host="127.0.0.1", port=self.port).render_as_string(False)

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def start_pgbouncer(postgres: Postgres, **settings: object) -> Iterator[PgBouncer]:
    """`settings`: those of pgbouncer.ini, such as pool_mode."""
    binary = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if binary is None:
        skip_test("needs pgbouncer: apt-get install pgbouncer")
    assert binary
    folder = Path(tempfile.mkdtemp(prefix="lumos-pgbouncer-"))
    pooler = PgBouncer(binary, folder, postgres, **settings)
    try:
        wait_until(pooler.answers, "pgbouncer answers", 10)
        yield pooler
    finally:
        pooler.stop()
        shutil.rmtree(folder, ignore_errors=True)
