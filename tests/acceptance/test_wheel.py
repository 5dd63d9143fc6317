"""An installed wheel is whole: in an environment of its own, away from the checkout, the starter solves problems.

The environment has this one's dependencies (installing them again would take minutes) but not this one's lumos-queue: a
folder that a .pth file names is searched, and the .pth files in it, where an editable install is written, are not read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from lumos_queue.util.version import code_version

ROOT = Path(__file__).resolve().parents[2]
EXAMINE = """
import json
import db, lumos_queue, migrations, workers
from lumos_queue.formulations.registry import starter_names
from lumos_queue.models.starter import starter_url
from lumos_queue.util.version import code_version
from lumos_queue.web.rendering import SCRIPTS, render_alone, static_files
from workers.flower_setup import TEMPLATES
from workers.up import find_procfile
assert {*SCRIPTS, "LICENSE.txt", "web.css", "style.css"} <= {*static_files()}
assert b"<h1>Not possible" in render_alone("error.html", title="Not possible", text="none").body
assert (TEMPLATES / "task.html").is_file() and (TEMPLATES / "tasks.html").is_file()
print(json.dumps({
    "version": code_version(),
    "files": [package.__path__[0] for package in (lumos_queue, db, workers, migrations)]
    + [starter_url(formulation).removeprefix("local:") for formulation in starter_names()] + [str(find_procfile())],
}))
"""


def run(*command: str | Path, **options) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def venv(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    [wheel] = folder.glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    packages = folder / "venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "venv"


@pytest.fixture
def elsewhere(venv, tmp_path) -> dict:
    """Options of a process that knows nothing of this one: a folder and variables of its own."""
    variables = {"PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    return {"cwd": tmp_path, "env": variables}


def test_everything_comes_from_the_wheel_which_is_the_same_code(venv, elsewhere):
    found = json.loads(run(venv / "bin" / "python", "-P", "-c", EXAMINE, **elsewhere))
    assert len(found["files"]) == 7
    assert [file for file in found["files"] if not Path(file).is_relative_to(venv)] == []
    assert found["version"] == code_version()


@pytest.mark.parametrize("formulation", ["iterative", pytest.param("one-pass", marks=pytest.mark.long)])
def test_the_starter_is_evaluated_as_in_the_demo(venv, elsewhere, formulation):
    options = ["--split", "familiar", "--agent", "starter", "--formulation", formulation, "--limit", "12", "--json"]
    report = json.loads(run(venv / "bin" / "lumos", "evaluate", "wordmath", *options, **elsewhere).splitlines()[-1])
    assert (report["complete"], report["n"], report["finished"]) == (True, 12, 12)
    assert report["correct"] > 0 and report["endings"] == {"answered": 12}
    assert report["code_version"] == code_version()
