"""A command that reads imports no more than it needs: modules that it does not use would take half of its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from lumos_queue.cli.main import main

#: Of a process that only reads the embedded database.
NEEDED_BY_NONE = (
    "sqlalchemy.dialects.postgresql",
    "psycopg",
    "alembic",
    "celery",
    "kombu",
    "redis",
    "httpx2",
    "openai",
    "huggingface_hub",
    "torch",
    "transformers",
    "numpy",
    "sympy",
    "lxml",
    "PIL",
    "workers.app",
)
NEEDED_BY_LISTS = (
    *NEEDED_BY_NONE,
    "db.models.steps",
    "db.models.episodes",
    "db.journal.episode_journal",
    "lumos_queue.benchmarks",
)
SCRIPT = """
import json, sys
from lumos_queue.cli.main import main
main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> str:
    """A folder whose database has one job."""
    folder = str(tmp_path_factory.mktemp("home"))
    os.environ["LUMOS_HOME"] = folder
    try:
        assert main(["convert", "wordmath", "--deterministic", "--split", "dev", "--limit", "1", "--json"]) == 0
    finally:
        del os.environ["LUMOS_HOME"]
    return folder


def imported(home: str, *arguments: str) -> set[str]:
    environment = os.environ | {"LUMOS_HOME": home}
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["--help"], (*NEEDED_BY_LISTS, "sqlalchemy", "sqlmodel", "pydantic_settings")),
        (["jobs"], NEEDED_BY_LISTS),
        (["workers"], NEEDED_BY_NONE),
        (["job", ""], NEEDED_BY_NONE),
        (["episodes", "--where", "score=1"], NEEDED_BY_NONE),
    ],
)
def test_a_command_that_reads_imports_nothing_needless(home, arguments, needless):
    if arguments == ["job", ""]:
        arguments = ["job", json.loads(_jobs(home))["jobs"][0]["job"]]
    found = imported(home, *arguments)
    assert sorted(found & set(needless)) == []


def _jobs(home: str) -> str:
    code = "import sys; from lumos_queue.cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "jobs", "--json"]
    return subprocess.run(command, env=os.environ | {"LUMOS_HOME": home}, capture_output=True, text=True).stdout
