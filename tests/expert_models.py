"""Experts that misbehave in real processes, depending on their input text."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from contextlib import suppress
from typing import Any

from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.base import Kind
from lumos_queue.experts.frames import pack
from lumos_queue.experts.problems import BAD_INPUT, SampleError


def facts(model: str, output: Kind = Kind.TEXT, expert: str = "Fill Mask", **options: Any) -> BackendFacts:
    """A backend whose model is a class of this module."""
    loading_facts = Loading(f"tests.expert_models:{model}", **{"memory": 256 * MIB, "seconds": 20.0, **options})
    return BackendFacts(expert, "own:", model.encode().hex(), "MIT", Fidelity.SUBSTITUTE, output, loading=loading_facts)


class Echo:
    """Answers in capitals; an input of one word is a command."""

    def __init__(self, ballast: str = "0"):
        self.ballast = b"x" * (int(ballast) * MIB)
        self.ballast.count(b"y")  # touch every page
        self.grown: list[bytes] = []

    def run(self, *inputs: bytes) -> Any:
        text = inputs[0].decode()
        deed = getattr(self, f"_{text}", None)
        return deed() if deed else b" | ".join(inputs).upper()

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def _exit(self) -> None:
        os._exit(3)

    def _hang(self) -> None:
        time.sleep(3600)

    def _eat(self) -> bytes:
        return b"x" * (1024 * MIB)

    def _leak(self) -> bytes:
        """Succeed in a new process, and fail in a process that has done it before."""
        self.grown.append(b"x" * (100 * MIB))
        return b"leaked"

    def _number(self) -> float:
        return float("nan")

    def _binary(self) -> bytes:
        return b"\xff\xfe\x00"

    def _raise(self) -> None:
        raise ValueError("no such\nword")

    def _garbage(self) -> bytes:
        """Write to every open file but the standard ones: the pipe to the host is one of them."""
        for number in range(3, 20):
            try:
                os.write(number, b"\xff\xff\xff\xff garbage")
            except OSError:
                continue
        return b"after the garbage"

    def _unknown(self) -> bytes:
        for number in range(3, 20):
            try:
                os.write(number, b"\x00\x00\x00\x03?!?")
            except OSError:
                continue
        return b"after the garbage"

    def _liar(self) -> bytes:
        """Reply with a problem whose kind and text are long."""
        return self._reply(b"p" + pack([b"k" * 99, b"m" * 999]))

    def _letters(self) -> bytes:
        return self._reply(b"p" + pack(["é".encode(), b""]))

    def _half(self) -> bytes:
        return self._reply(b"p" + pack([b"alone"]))

    def _reply(self, frame: bytes) -> bytes:
        """Put a frame before the answer, where the pipe to the host is."""
        for number in range(3, 20):
            with suppress(OSError):
                os.write(number, pack([frame]))
        return b"after it"

    def _print(self) -> bytes:
        print("a library that prints", flush=True)
        os.write(1, b"and one in C")
        return b"printed"

    def _allocate(self) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    def _refuse(self) -> None:
        raise SampleError(BAD_INPUT, "no such sample")

    def _write(self) -> bytes:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
        return b"written"

    def _environment(self) -> bytes:
        return ",".join(sorted(os.environ)).encode()

    def _connect(self) -> bytes:
        import socket

        try:
            socket.create_connection(("127.0.0.1", 9), timeout=2).close()
        except OSError as error:
            return os.strerror(error.errno or 0).encode()
        return b"connected"

    def _pid(self) -> bytes:
        return str(os.getpid()).encode()


class Paint:
    """Draws pixels that a float network could give when it goes wrong."""

    def run(self, *inputs: bytes) -> bytes:
        import numpy as np

        from lumos_queue.experts.backends.pixels import from_pixels

        pixels = np.full((4, 6, 3), 0.5, dtype=np.float32)
        if inputs[0] == b"nan":
            pixels[0, 0, 0] = np.nan
        if inputs[0] == b"shape":
            pixels = pixels[0]
        if inputs[0] == b"text":
            return b"a text where an image is due"
        return from_pixels(pixels)


class CannotLoad:
    def __init__(self) -> None:
        raise OSError("no weights here")


class DiesLoading:
    def __init__(self) -> None:
        os._exit(7)


class HangsLoading:
    def __init__(self) -> None:
        time.sleep(3600)


class SpeaksLoading:
    """Answers before it is asked."""

    def __init__(self, frame: str = "v"):
        for number in range(3, 20):
            with suppress(OSError):
                os.write(number, pack([frame.encode()]))
