"""Read how much memory of this machine a process can use. Control groups, such as those of containers, can limit it."""

from __future__ import annotations

import os
from pathlib import Path

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def read_available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return the bytes that this process can use, those that it uses already included."""
    fields = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines() if ":" in line)
    free = int(fields["MemAvailable"].split()[0]) * 1024
    resident_pages = int((proc / "self/statm").read_text().split()[1])
    limits = read_cgroup_limits((proc / "self/cgroup").read_text(), cgroups)
    return min([free + resident_pages * os.sysconf("SC_PAGE_SIZE"), *limits])


def read_cgroup_limits(memberships: str, root: Path = CGROUPS) -> list[int]:
    """Return the memory limits in bytes of the control groups that contain a process, and of the groups above them.

    `memberships` is the text of its /proc/PID/cgroup. In a container, a group's path may be that on the host, and its
    folder is missing; then the limit is that of the mounted root. Version 1 states a limit of about 2^63 bytes if there
    is none, version 2 `max`.
    """
    limits = []
    for line in memberships.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            mount, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            mount, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = mount / path.lstrip("/")
        for group in (folder, *folder.parents):
            limits += _read_limit(group / name)
            if group == mount:
                break
    return limits


def _read_limit(path: Path) -> list[int]:
    """Return the limit in a file as a list of one number; [] for `max` or a missing file."""
    try:
        text = path.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdecimal() else []
