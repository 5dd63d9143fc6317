"""Packages with plug-ins for tests: the example, installed by pip, and odd ones written by hand."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lumos_queue.util import plugin_imports

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "plugin"


def install_example(folder: Path) -> Path:
    """Install examples/plugin into a folder that is to be put on the path; returns the folder of its package."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--target",
            str(folder),
            str(EXAMPLE),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "lumos_roman"


def write_distribution(
    folder: Path,
    name: str,
    files: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
    version: str = "1.0",
) -> None:
    """What an installed distribution leaves in a folder: its files, and metadata with entry points by group."""
    write_files(folder, files)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, targets in entry_points.items():
        lines += [f"[lumos_queue.{group}]", *(f"{entry_name} = {target}" for entry_name, target in targets.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts into files below a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


@contextmanager
def modules_of(folder: Path) -> Iterator[None]:
    """Put a folder on the path; afterwards forget the modules that were imported, and what is held of plug-ins."""
    before, path = set(sys.modules), [*sys.path]
    held_modules, loaded_modules = dict(plugin_imports._HELD), dict(plugin_imports._LOADED)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if name.startswith(("mylab", "theirs")):
                del sys.modules[name]
        for current, former in ((plugin_imports._HELD, held_modules), (plugin_imports._LOADED, loaded_modules)):
            current.clear()
            current.update(former)
