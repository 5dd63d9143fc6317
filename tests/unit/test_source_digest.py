"""Objects that only a program has are told apart by what they do, and are the same in every process."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest

from lumos_queue.api.source_digest import digest_of_object as digest
from tests.conftest import ROOT


def make(answer):
    return lambda prompt: answer


class Model:
    def __init__(self, **settings):
        self.settings = settings

    def reply(self, prompt):
        return self.settings["answer"]

    def other(self, prompt):
        return prompt


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda prompt: "1", lambda prompt: "2"),
        (make("1"), make("2")),
        (make(make("1")), make(make("2"))),
        (functools.partial(make, "1"), functools.partial(make, "2")),
        (Model(answer="1"), Model(answer="2")),
        (Model(answer="1").reply, Model(answer="2").reply),
        (Model(answer="1").reply, Model(answer="1").other),
        (Model(answers=["1", {"2": {"3"}}]), Model(answers=["1", {"2": {"4"}}])),
        (lambda prompt, n=1: prompt, lambda prompt, n=2: prompt),
    ],
)
def test_what_does_something_else_has_another_digest(one, other):
    assert digest(one) == digest(one) != digest(other)


def test_what_changes_while_it_is_called_is_not_part_of_a_function():
    asked = []

    def count(prompt):
        asked.append(prompt)
        return "7"

    before = digest(count)
    count("a")
    assert digest(count) == before


def test_a_circle_and_an_array_and_a_module_have_a_digest():
    one = Model(array=np.zeros(3), module=np)
    one.me = one
    assert digest(one)


PROGRAM = """
import sys
from lumos_queue.api.source_digest import digest_of_object
TEMPLATE = sys.argv[1]
calls = 0
def helper(prompt):
    return TEMPLATE + prompt
def solve(prompt):
    global calls
    calls += 1
    return helper(prompt) if prompt in {"a", "b", "c"} else str(calls)
class Solver:
    def __call__(self, prompt):
        return solve(prompt)
found = digest_of_object(solve), digest_of_object(Solver()), digest_of_object(lambda prompt: prompt in {"a", "b", "c"})
solve("a")
assert found[0] == digest_of_object(solve)
print(*found)
"""


def test_programs_that_are_alike_give_the_same_digests_in_every_process(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(template: str, seed: str) -> list[str]:
        command = [sys.executable, str(tmp_path / "program.py"), template]
        variables = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout.split()

    first, same, other = run("x", "1"), run("x", "2"), run("y", "1")
    assert first == same and len(set(first)) == 3
    assert first[0] != other[0] and first[1] != other[1] and first[2] == other[2]
