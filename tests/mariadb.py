"""A real MariaDB server of this test run, which needs no rights of root."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pymysql

from tests.services import free_port, skip_test


@contextmanager
def run_mariadb(home: Path, statements: Sequence[str], *options: str) -> Iterator[int]:
    """Yield the port of a server on 127.0.0.1, unless `options` say more; root runs the statements first."""
    daemon = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")
    install = shutil.which("mariadb-install-db")
    if not daemon or not install:
        skip_test("needs a MariaDB server: apt-get install mariadb-server")
    subprocess.run(
        [install, "--no-defaults", f"--datadir={home}/data", "--auth-root-authentication-method=normal"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    port = free_port()
    process = subprocess.Popen(
        [
            daemon,
            "--no-defaults",
            f"--datadir={home}/data",
            f"--socket={home}/s",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--pid-file={home}/pid",
            "--user=root",
            *options,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            try:
                root = pymysql.connect(unix_socket=f"{home}/s", user="root", autocommit=True)
                break
            except pymysql.MySQLError:
                time.sleep(0.1)
        with root.cursor() as cursor:
            for text in statements:
                cursor.execute(text)
        yield port
    finally:
        process.terminate()
        process.wait(30)
