"""A folder that cannot be written is named in one line, whichever library has found it out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lumos_queue.util.write_failures import describe_write_failure, is_disk_full
from tests.faults.disks import small_disk


def write_by_torch(folder: Path) -> None:
    import torch

    torch.save({"weight": torch.ones(3)}, folder / "optimizer.pt")


def write_by_safetensors(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"weight": torch.ones(3)}, folder / "model.safetensors")


def make_folder(folder: Path) -> None:
    (folder / "checkpoint-3").mkdir()


@pytest.mark.parametrize("write", [write_by_torch, write_by_safetensors, make_folder])
def test_a_folder_that_is_read_only_is_named(write):
    with small_disk(megabytes=1) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(Exception, match="Read-only file system") as caught:
            write(disk)
        expected = f"'{disk}' cannot be written (Read-only file system): make it writable."
        assert describe_write_failure(caught.value, disk) == expected
        assert not is_disk_full(caught.value)


def test_a_full_disk_is_named():
    with small_disk(megabytes=1) as disk:
        with pytest.raises(OSError, match="No space left") as caught:
            (disk / "filler").write_bytes(bytes(1 << 21))
        assert describe_write_failure(caught.value, disk) == f"The disk of '{disk}' is full: make room there."


def test_a_file_elsewhere_and_another_error_are_not_of_the_folder(tmp_path):
    error = PermissionError(13, "Permission denied", str(tmp_path / "base" / "model.safetensors"))
    assert describe_write_failure(error, tmp_path / "fit") == ""
    assert "(Permission denied)" in describe_write_failure(error, tmp_path / "base")
    assert describe_write_failure(ValueError("no number"), tmp_path) == ""
