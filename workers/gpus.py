"""Find the GPUs that this process can use. A child process asks torch, so that a worker never initialises CUDA."""

from __future__ import annotations

import json
import logging
import mmap
import struct
import subprocess
import sys
import threading
from pathlib import Path

from db.kinds.pools import Gpus
from lumos_queue.util.launch_folder import child_environment
from lumos_queue.util.wording import format_bytes, format_limit, plural

SECONDS = 60.0  #: after which the child process is ended, and counts as having found no GPU
log = logging.getLogger(__name__)
_CODE = """
import json, torch
number = torch.cuda.device_count() if torch.cuda.is_available() else 0
print(json.dumps([torch.cuda.get_device_properties(gpu).total_memory // 2**20 for gpu in range(number)]))
"""
_FORMAT = struct.Struct("qq")  # number of GPUs, MiB of the smallest
_OFFSET = 8  # position of these numbers: the first byte is 1 once they are known
_answer: bytearray | mmap.mmap = bytearray(_OFFSET + _FORMAT.size)
_ask_lock = threading.Lock()


def get_known_gpus() -> Gpus | None:
    """Return the GPUs of this process; None if torch was not asked yet."""
    return Gpus(*_FORMAT.unpack_from(_answer, _OFFSET)) if _answer[0] else None


def find_gpus(folder: Path) -> Gpus:
    """Return the GPUs of this process. The first call asks torch, in `folder`, and takes up to 60 s."""
    with _ask_lock:
        if (gpus := get_known_gpus()) is None:
            gpus = ask_torch(folder)
            _FORMAT.pack_into(_answer, _OFFSET, *gpus)
            _answer[0] = 1
        return gpus


def share_answer() -> None:
    """Forget the known GPUs, and share the next answer with all processes that this process forks afterwards."""
    global _answer
    _answer = mmap.mmap(-1, _OFFSET + _FORMAT.size)


def ask_torch(folder: Path) -> Gpus:
    """Ask torch for GPUs, in a child process that starts in `folder`.

    Return no GPUs if torch is not installed, or if the process fails or takes longer than 60 s. A failure is logged.
    """
    try:
        memories = _run_child(folder)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        log.warning("no GPU is used, as asking torch for GPUs failed: %s", _describe(error))
        return Gpus(0, 0)
    if not memories:
        log.info("torch finds no GPU: jobs of the pool gpu are left to other workers")
        return Gpus(0, 0)
    log.info("torch finds %s; the smallest has %s", plural(len(memories), "GPU"), format_bytes(min(memories) << 20))
    return Gpus(len(memories), min(memories))


def _run_child(folder: Path) -> list[int]:
    """Return the memory of each GPU in MiB. Raises OSError, ValueError or SubprocessError if the child fails."""
    command = [sys.executable, "-P", "-c", _CODE]
    child = subprocess.run(
        command,
        cwd=folder,
        env=child_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    return [int(mib) for mib in json.loads(child.stdout)]


def _describe(error: Exception) -> str:
    """Return one line about an error."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {format_limit(SECONDS)}"
    if isinstance(error, subprocess.CalledProcessError):
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the process ended with status {error.returncode}"
    return f"{type(error).__name__}: {error}"
