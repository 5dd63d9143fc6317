"""Packages with plug-ins for tests: the example, installed by pip, and odd ones written by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "plugin"


def install_example(folder: Path) -> Path:
    """Install examples/plugin into a folder that is to be put on the path; returns the folder of its package."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
         "--no-cache-dir", "--disable-pip-version-check", "--target", str(folder), str(EXAMPLE)],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "lumos_roman"


def write_distribution(
    folder: Path, name: str, files: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]],
    version: str = "1.0",
) -> None:  # fmt: skip
    """What an installed distribution leaves in a folder: its files, and metadata with entry points by group."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, named in entry_points.items():
        lines += [f"[lumos_queue.{group}]", *(f"{one} = {place}" for one, place in named.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
