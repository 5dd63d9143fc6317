"""A command at its own terminal of 80 columns, with its output and the input of a user."""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
import time
from collections.abc import Mapping, Sequence

from tests.forked_commands import fork_lumos


class Terminal:
    """`lumos` with these arguments in its own session, as at a terminal."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]):
        self.text = ""  #: all that it has printed
        self._position = 0  # end of the last match in the text, which may be longer
        self._end, self._theirs = pty.openpty()
        termios.tcsetwinsize(self._theirs, (50, 80))
        variables = {**os.environ, **environment, "TERM": "xterm"}
        self.process = fork_lumos(*arguments, environment=variables, terminal=os.ttyname(self._theirs))

    def expect(self, text: str, seconds: float = 60.0) -> None:
        """Wait until the command prints this text after the last match. Raises AssertionError when it does not."""
        start, until = self._position, time.monotonic() + seconds
        while text not in self.text[start:]:
            assert time.monotonic() < until, f"'{text}' was not printed, but:\n{self.text}"
            if not self._read():
                assert text in self.text[start:], f"'{text}' was not printed, but:\n{self.text}"
        self._position = self.text.index(text, start) + len(text)

    def _read(self) -> bool:
        """Read the output of the next moment; return whether more may come."""
        has_ended = self.process.poll() is not None
        if not select.select([self._end], [], [], 0 if has_ended else 0.1)[0]:
            return not has_ended
        self.text += os.read(self._end, 65536).decode(errors="replace")
        return True

    def type(self, line: str) -> None:
        os.write(self._end, f"{line}\n".encode())

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def wait(self, seconds: float = 60.0) -> int:
        """Read the rest of the output; return the exit code."""
        until = time.monotonic() + seconds
        while self._read() and time.monotonic() < until:
            pass
        code = self.process.wait(max(0.0, until - time.monotonic()))
        self._close()
        return code

    def _close(self) -> None:
        os.close(self._end)
        os.close(self._theirs)
