"""Each domain is one object that agrees with the actions it names, and imports none of them before they are needed."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import resolve_name

import pytest

from lumos_queue.actions.session import public_actions
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError

LOOK = """
import sys
from lumos_queue.domains.registry import DOMAINS
assert not [name for name in sys.modules if name.startswith("lumos_queue.domains.") and name.endswith("maths")]
heads = [DOMAINS.load(name).verified_ground_head for name in DOMAINS]
print(sorted({"sympy", "torch", "lxml", "sqlglot", "bm25s", "lumos_queue.actions"} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", DOMAINS.names)
def test_a_domain_is_the_one_that_its_actions_name(name):
    domain = DOMAINS.load(name)
    assert domain.name == name == resolve_name(domain.interface).domain
    assert all(isinstance(role, str) for role in (*domain.roles({}), *domain.default_tools))


@pytest.mark.parametrize("name", DOMAINS.names)
def test_the_names_of_actions_are_those_that_run_and_those_that_the_instruction_lists(name):
    domain = DOMAINS.load(name)
    offered = public_actions(resolve_name(domain.session)) if domain.session else domain.open_actions().actions
    assert set(domain.action_names) == {one for one in offered if one}
    assert all(f"'{one}'" in domain.ground_head for one in domain.action_names)
    assert bool(domain.action_names) == domain.calls


def test_only_domains_that_models_were_not_trained_on_demonstrate_unasked_and_end_by_an_action():
    loaded = {name: DOMAINS.load(name) for name in DOMAINS}
    found = {name: (one.default_shots, one.ends_by_action) for name, one in loaded.items()}
    assert {name: one for name, one in found.items() if one != (0, False)} == {
        "webshop": (2, True),
        "intercode_sql": (3, True),
        "tools": (0, True),  # how their formulations ask is told in words, and not shown
        "local_tools": (0, True),
    }


def test_actions_that_need_the_world_of_a_task_are_not_run_without_one():
    assert [name for name in DOMAINS if DOMAINS.load(name).stateless] == ["maths"]
    with pytest.raises(SpecError, match="domain 'webshop' need the world of a task"):
        DOMAINS.load("webshop").open_stateless()


def test_wording_is_read_without_importing_what_runs_actions():
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
