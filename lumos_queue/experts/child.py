"""The main program of an expert's process: it loads the model that the first frame names, then answers each frame.

A frame is a sample. The process has no network, if the kernel allows it, and no environment variables of the worker, so
it cannot reach the database.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from importlib import import_module

from lumos_queue.experts.backends.base import Model
from lumos_queue.experts.frames import PROBLEM, READY, VALUE, PipeClosed, pack, read_frame, unpack, write_frame
from lumos_queue.experts.problems import BAD_OUTPUT, FAILED, MEMORY, SampleError, one_line
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.process import die_with_parent

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000  # of unshare(2)


def main() -> None:
    replies = os.dup(1)
    os.dup2(2, 1)  # output that a library prints is not a reply
    with contextlib.suppress(PipeClosed):
        _serve(sys.stdin.fileno(), replies)


def _serve(requests: int, replies: int) -> None:
    setup = json.loads(read_frame(requests))
    _leave_network()
    die_with_parent(setup["parent"])  # again, because a change of user resets it
    try:
        module, _, name = setup["model"].partition(":")
        with import_libraries():
            model_class = getattr(import_module(module), name)
        model: Model = model_class(**setup["options"])
    except BaseException as error:
        write_frame(replies, PROBLEM + pack([_kind(error).encode(), one_line(error).encode()]))
        raise SystemExit(1) from None
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # not earlier: torch looks for a folder that it can write to
    write_frame(replies, READY)
    while True:
        write_frame(replies, _answer(model, unpack(read_frame(requests))))


def _answer(model: Model, inputs: list[bytes]) -> bytes:
    try:
        value = model.run(*inputs)
        if isinstance(value, bytes):
            return VALUE + value
        error: Exception = SampleError(BAD_OUTPUT, f"the model answered with a {type(value).__name__}, not bytes")
    except Exception as exception:
        error = exception
    return PROBLEM + pack([_kind(error).encode(), one_line(error).encode(errors="replace")])


def _kind(error: BaseException) -> str:
    if isinstance(error, SampleError):
        return error.kind
    return MEMORY if isinstance(error, MemoryError) or "allocate" in str(error) else FAILED


def _leave_network() -> None:
    """Move to a network namespace without interfaces.

    If the kernel refuses, the process keeps the network, which it does not need, because the weights are local.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if libc.unshare(_NEW_NETWORK):
            libc.unshare(_NEW_USER | _NEW_NETWORK)
