"""A command at a terminal of its own, 80 columns wide: what it prints, and what a person types."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence


class Terminal:
    """`lumos` with these arguments in a process group of its own, as it runs at a terminal."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]):
        self.text = ""  #: all that it has printed
        self._waited_for = 0  # what was waited for ends here in the text: more may have come with it
        self._end, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (50, 80))
        command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **environment, "TERM": "xterm"},
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def expect(self, text: str, seconds: float = 60.0) -> None:
        """Wait until it prints this, after what was waited for before. Raises AssertionError when it does not."""
        start, until = self._waited_for, time.monotonic() + seconds
        while text not in self.text[start:]:
            assert time.monotonic() < until, f"'{text}' was not printed, but:\n{self.text}"
            if select.select([self._end], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self._end, 65536).decode(errors="replace")
                except OSError:  # it has ended
                    assert text in self.text[start:], f"'{text}' was not printed, but:\n{self.text}"
        self._waited_for = self.text.index(text, start) + len(text)

    def type(self, line: str) -> None:
        os.write(self._end, f"{line}\n".encode())

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._end)

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit code, once it has printed the rest."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self._end], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self._end, 65536).decode(errors="replace")
                except OSError:
                    break
        code = self.process.wait(seconds)
        os.close(self._end)
        return code
