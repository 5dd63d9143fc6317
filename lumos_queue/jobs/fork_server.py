"""Run items of training in processes that are forked from a server with loaded libraries (train_server.py).

A worker process has at most one such server. The server continues to run after the end of a slice, because slices are
short if each item waits for another job.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from lumos_queue.jobs.train_channel import TrainChannel
from lumos_queue.util.launch_folder import child_environment


class ForkServer:
    """The server of this process. The first item starts it, and so does the first item after the server has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    async def run(self, request: dict[str, Any], folder: Path, channel: TrainChannel) -> tuple[int, bytes, bytes]:
        """Run an item in a forked process. Return its exit code, standard output and standard error.

        `folder`: the working folder of the process. A cancellation asks the process to stop, and kills it if it takes
        too long.
        """
        work = asyncio.ensure_future(asyncio.to_thread(self._run, request, folder))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([work], timeout=channel.request_stop())
            finally:
                if not work.done():
                    self.end()
                    await asyncio.wait([work])
            raise

    def end(self) -> None:
        """Kill the server and the processes that it forked."""
        if self._process is not None:
            self._process.kill()

    def _run(self, request: dict[str, Any], folder: Path) -> tuple[int, bytes, bytes]:
        with self._lock, tempfile.TemporaryDirectory() as directory:
            output, problems = Path(directory) / "output", Path(directory) / "problems"
            line = json.dumps({"request": request, "output": str(output), "problems": str(problems)}) + "\n"
            answer = self._ask(line.encode(), folder)
            outputs = [path.read_bytes() if path.exists() else b"" for path in (output, problems)]
        return (int(answer) if answer else -9), outputs[0], outputs[1]

    def _ask(self, line: bytes, folder: Path) -> bytes:
        """Return the server's answer, b"" if it was killed. If it ended before it read the line, start another."""
        for _ in range(2):
            process = self._open(folder)
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(line)
                process.stdin.flush()
            except BrokenPipeError:
                self._close()
                continue
            answer = process.stdout.readline()
            if not answer:
                self._close()
            return answer
        return b""

    def _open(self, folder: Path) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._close()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lumos_queue.jobs.train_server"],
                cwd=folder,
                env=child_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the worker, which asks the process to stop
            )
        return self._process

    def _close(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process.kill()
            self._process.wait()
            self._process = None


_servers: dict[int, ForkServer] = {}  # by process, because a forked worker must not use its parent's server


def fork_server() -> ForkServer:
    """Return the server of this process."""
    return _servers.setdefault(os.getpid(), ForkServer())
