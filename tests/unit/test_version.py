"""The version of the code: any shipped byte changes it; caches and the place of its module do not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from lumos_queue.util.version import ELSEWHERE, PACKAGES, RELEASE, code_version, list_shipped_files

ROOT = Path(__file__).resolve().parents[2]
MODULE = code_version.__module__
#: Kinds of files that a package may come to ship.
DATA = ["db/rows.json", "workers/deep/er/Procfile.txt", "lumos_queue/benchmarks/pages.bin", "lumos_queue/.hidden"]
CACHES = ["db/__pycache__/jobs.cpython-311.pyc", "lumos_queue/.DS_Store", "workers/left.pyc", "db/.ruff_cache/0.1/1"]
#: Changes one byte of each file named on standard input; prints those whose change changes no version.
CHANGE = """
import importlib, sys
from pathlib import Path
read_version = importlib.import_module(sys.argv[1]).code_version.__wrapped__
before = read_version()
for name in sys.stdin.read().splitlines():
    file = Path(name)
    content = file.read_bytes()
    last = len(content) - 1
    file.write_bytes(content[:last] + bytes([content[last] ^ 1]) if content else b"#")
    if read_version() == before:
        print(name)
    file.write_bytes(content)
assert read_version() == before
"""


@pytest.fixture
def copy(tmp_path) -> Path:
    """The packages and what belongs to them, as in a checkout; of the models' files only the beginning."""
    for name, file in list_shipped_files().items():
        for wheel, checkout in ELSEWHERE.items():
            name = checkout + name.removeprefix(wheel) if name.startswith(wheel) else name
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        content = Path(file).read_bytes()
        (tmp_path / name).write_bytes(content[:1000] if name.startswith("models/") else content)
    for name in DATA + CACHES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"data")
    return tmp_path


def unnoticed(copy: Path, names: list[str], module: str = MODULE) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-c", CHANGE, module],
        input="\n".join(names),
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return done.stdout.splitlines()


def all_files(copy: Path) -> list[str]:
    return sorted(file.relative_to(copy).as_posix() for file in copy.rglob("*") if file.is_file())


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.long)])  # a minute for all of them
def test_one_byte_of_any_shipped_file_changes_the_version(copy, every):
    files = all_files(copy)
    assert {name.partition("/")[0] for name in files} == {*PACKAGES, "models", "Procfile"}
    assert {Path(name).suffix for name in files} >= {".py", ".json", ".safetensors", ".jinja", ".md"}
    chosen = sorted({*files[::every], *CACHES, *DATA})
    assert unnoticed(copy, chosen) == sorted(CACHES)


def test_a_link_to_nothing_is_left_out(copy):
    (copy / "db" / ".#jobs.py").symlink_to("me@here.1")
    assert unnoticed(copy, ["db/queue/job_changes.py"]) == []


def test_the_version_does_not_depend_on_where_its_module_is(copy):
    old, new = MODULE.replace(".", "/") + ".py", "lumos_queue/some/where/else_.py"
    (copy / new).parent.mkdir(parents=True)
    shutil.move(copy / old, copy / new)
    one_of_each = {(name.partition("/")[0], Path(name).suffix): name for name in all_files(copy)}
    names = sorted({*one_of_each.values(), new} - set(CACHES))
    assert unnoticed(copy, names, "lumos_queue.some.where.else_") == []


def test_a_new_a_renamed_and_a_missing_file_change_the_version(copy):
    def version() -> str:
        code = f"from {MODULE} import code_version; print(code_version())"
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        return subprocess.check_output([sys.executable, "-B", "-P", "-c", code], env=environment, cwd=copy, text=True)

    versions = [version()]
    (copy / "db" / "new.py").touch()
    versions.append(version())
    (copy / "db" / "new.py").rename(copy / "workers" / "new.py")
    versions.append(version())
    (copy / "workers" / "new.py").unlink()
    (copy / DATA[0]).unlink()
    versions.append(version())
    assert len(set(versions)) == 4


def test_what_a_wheel_keeps_elsewhere_is_what_is_built_into_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    built = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {wheel: checkout for checkout, wheel in built["force-include"].items()} == ELSEWHERE
    assert set(PACKAGES) <= set(built["packages"])


def test_the_package_and_the_changelog_name_the_release_of_the_code():
    assert ProjectMetadata(str(ROOT), PluginManager()).version == RELEASE
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[:2] == ["Unreleased", RELEASE]
