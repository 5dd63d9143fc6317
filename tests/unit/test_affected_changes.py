"""What counts as the change whose tests `make test-affected` runs, and that it runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.affected import __main__ as command
from tests.affected.changes import Change, UnknownChange, find_change
from tests.affected.rules import read_rules

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": "PRICE = 1",
    "shop/cart.py": "from shop.prices import PRICE\nTOTAL = 2 * PRICE",
    "tests/__init__.py": "",
    "tests/test_cart.py": "from shop.cart import TOTAL\n\ndef test_total():\n    assert TOTAL == 2",
    "tests/test_other.py": "def test_other():\n    raise AssertionError('is not affected')",
    ".gitignore": "__pycache__/\n",
}


class Repository:
    def __init__(self, folder: Path):
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(FILES)
        self.first = self.git("rev-parse", "HEAD")

    def write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    def commit(self, files: dict[str, str]) -> str:
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=change")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        person = {f"GIT_{who}_{what}": "x@y.z" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        variables = os.environ | person | {"GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(["git", *arguments], cwd=self.folder, env=variables, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def changed(self, since: str = "") -> set[str]:
        change = find_change(self.folder, since)
        return {*change.present, *(f"-{path}" for path in change.deleted)}


@pytest.fixture
def repository(tmp_path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def run(repository, monkeypatch, tmp_path_factory):
    """The command, in the small repository."""
    rules = tmp_path_factory.mktemp("rules") / "rules.toml"
    rules.write_text('product = ["shop"]\neverything = []\nuntested = [".gitignore"]\n')
    monkeypatch.setattr(command, "ROOT", repository.folder)
    monkeypatch.setattr(command, "read_rules", lambda: read_rules(rules))
    app = command.typer.Typer()
    app.command()(command.main)
    return lambda *arguments: CliRunner().invoke(app, arguments)


def test_on_a_branch_it_is_what_the_branch_did(repository):
    repository.git("checkout", "--quiet", "-b", "branch")
    repository.commit({"shop/prices.py": "PRICE = 2"})
    repository.commit({"shop/new.py": ""})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"shop/elsewhere.py": ""})
    repository.git("checkout", "--quiet", "branch")
    assert repository.changed() == {"shop/prices.py", "shop/new.py"}
    repository.write({"shop/untracked.py": "", "shop/cart.py": "", "build/x.pyc": ""})
    repository.write({".gitignore": "build/\n"})
    assert repository.changed() == {".gitignore", "shop/prices.py", "shop/new.py", "shop/untracked.py", "shop/cart.py"}


def test_on_main_it_is_what_is_not_committed_or_else_the_last_commit(repository):
    repository.commit({"shop/prices.py": "PRICE = 2"})
    repository.commit({"shop/cart.py": ""})
    assert repository.changed() == {"shop/cart.py"}
    repository.write({"shop/new.py": ""})
    assert repository.changed() == {"shop/new.py"}
    assert repository.changed(repository.first) == {"shop/prices.py", "shop/cart.py", "shop/new.py"}


def test_a_renamed_file_is_gone_and_new(repository):
    repository.git("mv", "shop/prices.py", "shop/costs.py")
    assert repository.changed() == {"-shop/prices.py", "shop/costs.py"}


def test_an_unknown_commit_is_an_error(repository):
    with pytest.raises(UnknownChange, match="rev-parse"):
        find_change(repository.folder, "nowhere")
    repository.git("branch", "--move", "main", "trunk")
    with pytest.raises(UnknownChange, match="use --since COMMIT"):
        find_change(repository.folder)


def test_what_used_a_deleted_file_is_found_in_the_commit_before(repository, run):
    (repository.folder / "shop/prices.py").unlink()
    repository.write({"shop/cart.py": "TOTAL = 2"})
    change = Change(repository.first, "the first", frozenset(), frozenset({"shop/prices.py"}))
    assert list(command.choose(repository.folder, change).chains) == ["tests/test_cart.py"]
    assert repository.git("worktree", "list").count("\n") == 0, "the checkout of that commit is removed"


def test_the_chosen_tests_are_run(repository, run):
    repository.write({"shop/prices.py": "PRICE = 1.0"})
    ran = run("--", "-p", "no:cacheprovider")
    assert ran.exit_code == 0
    assert "1 file changed since the last commit" in ran.output
    assert "tests/test_cart.py: imports shop/cart.py, imports shop/prices.py\n" in ran.output
    assert "1 test file." in ran.output
    repository.write({"shop/prices.py": "PRICE = 2"})
    assert run("--", "-p", "no:cacheprovider").exit_code == 1
    assert run("--list").exit_code == 0


def test_all_tests_are_run_where_it_cannot_be_told(repository, run):
    repository.write({"shop/prices.py": "PRICE = "})
    ran = run("--list")
    assert "All tests: a file does not parse" in ran.output and "all test files." in ran.output
    repository.git("checkout", "--quiet", "shop")
    repository.git("branch", "--move", "main", "trunk")
    assert "All tests: there is no branch main" in run("--list").output
    assert run("--since", "nowhere").exit_code == 2


def test_nothing_is_run_where_nothing_changed(repository, run):
    repository.commit({".gitignore": "x"})
    ran = run()
    assert ran.exit_code == 0 and "0 test files." in ran.output
