"""The memory that a process may use, from files as Linux writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lumos_queue.util.host_memory import read_available_memory, read_cgroup_limits

PAGE = os.sysconf("SC_PAGE_SIZE")
#: What version 1 states without a limit.
UNLIMITED = 9223372036854771712


def write(root: Path, **files: object) -> Path:
    """Write files; `__` in a name is a slash, and `_max` the end `.max`."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_max", ".max").replace("_limit", ".limit")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


def test_version_2_limits_a_group_and_the_groups_above_it(tmp_path):
    root = write(tmp_path, memory_max=900, lumos__memory_max="max", lumos__jobs__memory_max=500)
    assert sorted(read_cgroup_limits("0::/lumos/jobs\n", root)) == [500, 900]
    assert read_cgroup_limits("0::/lumos\n", root) == [900]
    assert read_cgroup_limits("0::/\n", root) == [900]


def test_version_1_limits_the_group_of_the_controller_of_memory(tmp_path):
    root = write(tmp_path, memory__memory_limit_in_bytes=UNLIMITED, memory__docker__a__memory_limit_in_bytes=700)
    write(tmp_path, cpu__docker__a__memory_limit_in_bytes=1)
    memberships = "9:name=systemd:/docker/a\n5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n"
    assert min(read_cgroup_limits(memberships, root)) == 700
    assert read_cgroup_limits("5:cpu,cpuacct:/docker/a\n", root) == []


@pytest.mark.parametrize("memberships", ["0::/docker/a\n", "4:memory:/docker/a\n"])
def test_in_a_container_the_limit_is_that_of_the_mounted_root(memberships, tmp_path):
    """The path is that on the host; in the container, its folder is missing."""
    root = write(tmp_path, memory_max=300, memory__memory_limit_in_bytes=300)
    assert read_cgroup_limits(memberships, root) == [300]


def test_a_machine_without_control_groups_has_no_limit(tmp_path):
    assert read_cgroup_limits("0::/lumos\n", tmp_path / "missing") == []
    assert read_cgroup_limits("", tmp_path) == []


def test_the_free_memory_counts_with_that_of_the_process_itself(tmp_path):
    proc = write(tmp_path / "proc", meminfo="MemTotal:  9000 kB\nMemAvailable:    800 kB\nHugePages_Total: 0")
    write(proc, self__statm="900 10 5 1 0 300 0", self__cgroup="0::/lumos")
    expected = 800 * 1024 + 10 * PAGE
    assert read_available_memory(proc, tmp_path / "missing") == expected
    root = write(tmp_path / "cgroup", lumos__memory_max=expected - 1)
    assert read_available_memory(proc, root) == expected - 1


def test_this_machine_has_memory():
    assert 2**26 < read_available_memory() < 2**50
