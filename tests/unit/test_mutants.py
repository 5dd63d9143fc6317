"""The glue of `make mutants`: what is subtracted from the score, what is told, and which tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.services
from tests.mutants.equivalents import find_stale, read_equivalents
from tests.mutants.groups import Group, choose_modules, read_groups
from tests.mutants.mutant import (
    ERROR,
    KILLED,
    SURVIVED,
    TIMEOUT,
    UNTESTED,
    Change,
    Mutant,
    describe_change,
    find_line,
    sample_names,
)
from tests.mutants.report import Module, count_killed, write_survivors, write_table

pytest_plugins = ["pytester"]

MODULE = "lumos_queue/adding.py"
CODE = '"""One function."""\n\n\nclass Sum:\n    def of(self, a, b):\n        # adds\n        return a + b\n'


def change(after: str, module: str = MODULE) -> Change:
    return Change(module, "Sum.of", "return a + b", after)


def mutants(*outcomes: str) -> tuple[Mutant, ...]:
    return tuple(Mutant(f"m{n}", change(f"return {n}"), outcome, n) for n, outcome in enumerate(outcomes))


# --- the score --------------------------------------------------------------------------------------------------------


def test_an_accepted_equivalent_is_subtracted_and_time_outs_are_no_kills():
    module = Module(MODULE, 6, mutants(KILLED, SURVIVED, SURVIVED, UNTESTED, TIMEOUT, ERROR))
    assert count_killed(module, []) == (1, 4)
    assert count_killed(module, [change("return 1")]) == (1, 3)
    row = write_table([module], [change("return 1")]).splitlines()[2]
    assert row == f"| {MODULE} | 6 | 6 | 1 | 1 | 1 | 1 | 1 | 1 | 33.3% (6.1%-79.2%) |"


def test_the_score_of_all_weights_a_module_by_its_mutants():
    half, all_of_it = Module("a.py", 900, mutants(KILLED, SURVIVED)), Module("b.py", 100, mutants(KILLED, KILLED))
    assert "| **all** | 1,000 | 4 | 3 | 1 | 0 | 0 | 0 | 0 | 55.0% (" in write_table([half, all_of_it], [])


def test_survivors_are_shown_as_changes_with_their_place_and_accepted_ones_are_not():
    module = Module(MODULE, 3, mutants(KILLED, SURVIVED, UNTESTED))
    assert write_survivors([module], []) == (
        f"{MODULE}:1 Sum.of\n- return a + b\n+ return 1\n\n"
        f"{MODULE}:2 Sum.of (no test calls it)\n- return a + b\n+ return 2"
    )
    assert write_survivors([module], [change("return 1"), change("return 2")]) == ""


# --- equivalents ------------------------------------------------------------------------------------------------------


def test_an_entry_that_no_mutant_is_like_is_stale_and_one_that_was_noticed_is_wrong():
    accepted = {
        change("return b + a"): "sums",
        change("return 1"): "never",
        change("x", "db/queue/job_changes.py"): "elsewhere",
    }
    assert find_stale(accepted, {change("return b + a"), change("return 1")}, []) == []
    assert [one.after for one, _ in find_stale(accepted, {change("return 1")}, [])] == ["return b + a"]
    (wrong,) = find_stale(accepted, {change("return b + a"), change("return 1")}, [change("return 1")])
    assert wrong[0] == change("return 1") and "not equivalent" in wrong[1]


def test_an_entry_is_matched_by_its_lines_without_the_space_around_them(tmp_path):
    entry = tmp_path / "equivalents.toml"
    entry.write_text(
        f"[[equivalent]]\nmodule = '{MODULE}'\nfunction = 'Sum.of'\nbefore = '''\n    if a:\n        x\n'''\n"
        "after = 'pass'\nreason = 'a is never true'\n"
    )
    assert read_equivalents(entry) == {Change(MODULE, "Sum.of", "if a:\nx", "pass"): "a is never true"}


@pytest.mark.parametrize("last", ["reason = ' '", "reason = 'a'\nline = 3", ""])
def test_an_entry_needs_a_reason_and_nothing_else(tmp_path, last):
    entry = tmp_path / "equivalents.toml"
    entry.write_text(f"[[equivalent]]\nmodule = 'a'\nfunction = 'f'\nbefore = 'a'\nafter = 'b'\n{last}\n")
    with pytest.raises(ValueError, match="entry 1: expected after, before, function, module, reason"):
        read_equivalents(entry)


def test_each_accepted_equivalent_of_the_project_can_be_read():
    modules = {module for group in read_groups() for module in group.modules}
    assert {change.module for change in read_equivalents()} <= modules


# --- which mutants and which tests ------------------------------------------------------------------------------------


def test_a_change_is_described_by_the_lines_that_differ_and_found_where_they_stand(tmp_path):
    (tmp_path / "adding.py").write_text(CODE)
    body = "def of(self, a, b):\n    # adds\n    return a {} b\n"
    minus = describe_change(MODULE, "Sum.of", body.format("+"), body.format("-"))
    assert minus == change("return a - b")
    assert find_line(tmp_path / "adding.py", minus) == 7
    assert find_line(tmp_path / "adding.py", Change(MODULE, "Sum.of", "not there", "")) == 5


def test_whether_a_mutant_is_drawn_depends_on_its_name_and_the_seed_alone():
    names = [f"f__mutmut_{number}" for number in range(100)]
    drawn = sample_names(names, 10, 1)
    assert sample_names(names[::-1], 10, 1) == drawn and len(set(drawn)) == 10
    assert set(drawn) - {names[0]} <= set(sample_names(names[1:], 10, 1))
    assert sample_names(names, 10, 2) != drawn
    assert sample_names(names, 0, 1) == names


def test_the_table_of_the_project_names_files_that_exist_and_one_owner_for_each_module():
    groups = read_groups()
    assert all(group.modules and group.tests for group in groups)
    (chosen,) = choose_modules(groups, ["lumos_queue/episode.py"])
    assert chosen.modules == ("lumos_queue/episode.py",) and chosen.name == "kernel"


def test_a_module_of_no_group_is_refused():
    group = Group("a", ("db/queue/job_changes.py",), (), False)
    assert choose_modules([group], []) == [group]
    with pytest.raises(ValueError, match=r"No group of tests/mutants/groups.toml has 'db/job.py'"):
        choose_modules([group], ["db/job.py"])


def write(folder: Path, text: str) -> Path:
    (folder / "one.py").touch()
    (folder / "groups.toml").write_text(text)
    return folder / "groups.toml"


def test_a_pattern_without_files_and_a_module_of_two_groups_are_refused(tmp_path):
    of = "modules = ['{}.py']\ntests = ['one.py']\n"
    with pytest.raises(ValueError, match=r"no file is called two\.py"):
        read_groups(write(tmp_path, "[a]\n" + of.format("two")), tmp_path)
    with pytest.raises(ValueError, match=r"one.py stands in \[a\] and \[b\]"):
        read_groups(write(tmp_path, f"[a]\n{of.format('one')}[b]\n{of.format('one')}"), tmp_path)


def test_quick_tests_come_first_and_slow_ones_and_those_with_servers_are_left_out(pytester):
    pytester.makepyfile(
        test_a=(
            "import pytest\n@pytest.fixture\ndef redis_url(): raise AssertionError\ndef test_redis(redis_url): pass\n"
            "@pytest.mark.parametrize('kind', ['postgresql'])\ndef test_database(kind): pass\n"
            "def test_long(): pass\ndef test_slow(): pass\ndef test_quick(): pass\n"
        )
    )
    known = {"test_a.py::test_long": 11.0, "test_a.py::test_slow": 2.0, "test_a.py::test_quick": 1.0}
    pytester.path.joinpath("mutmut-stats.json").write_text(f'{{"duration_by_test": {known}}}'.replace("'", '"'))
    result = pytester.runpytest("-v", "-p", "no:xdist", "-p", "tests.mutants.selection")
    result.stdout.fnmatch_lines(["*test_quick PASSED*", "*test_slow PASSED*", "*2 passed, 3 deselected*"])


def test_tests_of_mutants_wait_no_longer_than_a_slow_test(pytester):
    usual = tests.services.WAIT_SECONDS
    code = f"import tests.services\ndef test_limit(): assert tests.services.WAIT_SECONDS == 10.0 < {usual}\n"
    pytester.makepyfile(test_a=code)
    result = pytester.runpytest("-v", "-p", "no:xdist", "-p", "tests.mutants.selection")
    result.stdout.fnmatch_lines(["*1 passed*"])
    assert usual == tests.services.WAIT_SECONDS


@pytest.mark.long
def test_mutmut_runs_one_module_of_the_project(tmp_path):
    from tests.mutants.tool import list_mutants, make_tree, read_mutants, run_mutants

    module = "lumos_queue/commands.py"
    group = Group("one", (module,), ("tests/unit/test_episode_places.py",), True)
    make_tree(group, tmp_path / "one")
    names = list_mutants(module, tmp_path / "one")
    run_mutants(names, tmp_path / "one", 1)
    found = read_mutants(module, names, tmp_path / "one")
    (mutant,) = [tested for tested in found if tested.change.after == 'return b"XX%d:%bXX" % (len(data), data)']
    assert (mutant.change.function, mutant.outcome) == ("_with_length", KILLED)
    assert Path(module).read_text().splitlines()[mutant.line - 1].strip() == mutant.change.before
