"""A Celery worker of a contender: started, ready, and gone at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lumos_queue.util.process import die_with_parent


@contextmanager
def start_worker(app: str, options: Sequence[str], log: Path, variables: Mapping[str, str]) -> Iterator[int]:
    """The process id of `celery -A app worker OPTIONS`, ready for work. Raises RuntimeError when it does not get so."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        app,
        "worker",
        "-n",
        f"{os.getpid()}-{log.stem}@%h",
        "--without-gossip",
        "--without-mingle",
        "--loglevel",
        "INFO",
        *options,
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=file,
            env={**os.environ, **variables},
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
    try:
        until = time.monotonic() + 60
        while " ready." not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the Celery worker does not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
