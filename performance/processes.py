"""What processes use: CPU seconds of whole process trees, and memory."""

from __future__ import annotations

from pathlib import Path

import psutil


def tree_cpu(pid: int) -> float:
    """CPU seconds so far of a process, its descendants, and those of them that ended and were waited for."""
    root = psutil.Process(pid)
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # its parent has it among the children that ended
        total += times.user + times.system + times.children_user + times.children_system
    return total


def pss(pid: int) -> int:
    """Proportional set size in bytes: memory shared with others counts in equal parts."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no Pss in smaps_rollup of {pid}")
