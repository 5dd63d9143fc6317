"""The locks of requirements/ agree with pyproject.toml and with one another, and work wherever packages come from."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = {file.stem: file.read_text(encoding="utf-8") for file in sorted((ROOT / "requirements").glob("*.txt"))}
PINS = {
    extra: dict(re.findall(r"^([a-z0-9][a-z0-9-]*)==([^\s;]+)", text, re.MULTILINE)) for extra, text in LOCKS.items()
}
OUTSIDE = {"torch"}  #: its builds differ: requirements/uv.toml


def direct_requirements(extra: str) -> list[Requirement]:
    """Requirements of the core and of an extra, with those of the extras that it names."""
    requirements = [Requirement(text) for text in PROJECT["dependencies"]]
    extras, seen = [extra], {extra}
    while extras:
        for text in PROJECT["optional-dependencies"][extras.pop()]:
            requirement = Requirement(text)
            if requirement.name == PROJECT["name"]:
                extras += requirement.extras - seen
                seen |= requirement.extras
            else:
                requirements.append(requirement)
    return requirements


def test_there_is_a_lock_for_each_environment_that_make_installs():
    rule = re.search(r"^(\.venv/.*): \.venv/%:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert rule and {*LOCKS} == {target.removeprefix(".venv/") for target in rule[1].split()}


def is_locked(requirement: Requirement, pins: dict[str, str]) -> bool:
    version = pins.get(canonicalize_name(requirement.name))
    return version is not None and requirement.specifier.contains(version, prereleases=True)


@pytest.mark.parametrize("extra", LOCKS)
def test_each_direct_dependency_is_locked_at_a_version_that_pyproject_allows(extra):
    requirements = [requirement for requirement in direct_requirements(extra) if requirement.name not in OUTSIDE]
    assert len(requirements) > 30
    assert [str(requirement) for requirement in requirements if not is_locked(requirement, PINS[extra])] == []


@pytest.mark.parametrize("extra", LOCKS)
def test_a_lock_has_hashes_of_everything_and_no_addresses(extra):
    pinned = r"^[a-z0-9-]+==[^\s;]+( ; [^\n]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+"
    rest = re.sub(pinned, "", LOCKS[extra], flags=re.MULTILINE)
    assert [line for line in rest.splitlines() if line and not line.lstrip().startswith("#")] == []
    assert "://" not in LOCKS[extra] and not OUTSIDE & {*PINS[extra]}


def test_a_package_has_the_same_version_in_every_lock():
    versions = {pin for pins in PINS.values() for pin in pins.items()}
    assert len(versions) == len({name for name, _ in versions})


def test_checkers_are_pinned_since_each_release_may_find_something_else():
    development = {requirement.name: requirement for requirement in direct_requirements("dev")}
    for name in ("ruff", "pyright"):
        [specifier] = development[name].specifier
        assert specifier.operator == "=="
