"""What `lumos --help` and the help of each command show: short, whole, and with examples that can be called."""

from __future__ import annotations

import inspect
import re
import shlex
from types import SimpleNamespace

import pytest
import typer

from db.queries.filters import parse_job_where, parse_where
from lumos_queue.benchmarks.registry import TEACHABLE, TESTABLE
from lumos_queue.cli import output
from lumos_queue.cli.command_group import summarize
from lumos_queue.cli.command_table import COMMANDS, HEADINGS, OPTIONS_NOW_TERMS, RENAMED_COMMANDS, Command, Group
from lumos_queue.cli.main import app, main
from lumos_queue.formulations.registry import FORMULATIONS
from tests.command_tree import all_commands


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(output, "as_json", False)


@pytest.fixture
def lumos(capsys):
    def run(*arguments: str) -> SimpleNamespace:
        code = main(arguments)
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, lines=out.splitlines())

    return run


def every_command() -> dict[str, Command]:
    found = {}
    for name, one in COMMANDS.items():
        if isinstance(one, Group):
            found |= {f"{name} {inner}": command for inner, command in one.commands.items()}
        own = one.alone if isinstance(one, Group) else one
        found |= {name: own} if own else {}
    return found


EXAMPLES = {name: one.example for name, one in every_command().items()}


def test_help_is_one_short_line_for_each_command_under_its_heading(lumos):
    lines = lumos("--help").lines
    assert len(lines) <= 50 and max(map(len, lines)) <= 80
    shown = [line.split() for line in lines if line and not line.startswith(("Usage", "Options"))]
    heads = {words[0]: words[1] for words in shown if words[0] in HEADINGS}
    assert heads == {heading: next(iter(commands)) for heading, commands in HEADINGS.items()}
    assert [words[words[0] in HEADINGS] for words in shown] == list(COMMANDS), "one line for each"
    assert not any("…" in line or line.endswith("...") for line in lines[1:])
    for name, one in COMMANDS.items():
        assert any(f" {name} " in line and line.endswith(summarize(one)) for line in lines), name
        assert re.fullmatch(r"[A-Z].*\.", summarize(one)), name


def test_a_narrow_terminal_cuts_nothing(lumos, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    text = " ".join(lumos("--help").out.split())
    assert all(summarize(one) in text for one in COMMANDS.values())


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_the_help_of_each_command_ends_with_its_example(lumos, name):
    assert lumos(*name.split(), "--help").lines[-2:] == ["  Example:", f"    lumos {EXAMPLES[name]}"]


@pytest.mark.parametrize("name", sorted(name for name, one in COMMANDS.items() if isinstance(one, Group)))
def test_a_group_shows_its_commands_whole_and_one_example(lumos, name):
    group = COMMANDS[name]
    assert isinstance(group, Group)
    shown = lumos(name, "--help")
    words = " ".join(shown.out.split())
    assert all(summarize(one) in words for one in group.commands.values()) and "..." not in words.split("Commands:")[1]
    assert shown.lines[-2] == "  Example:"
    if group.alone is None:
        assert lumos(name).out == shown.out


def parse(words: list[str]) -> tuple[str, dict]:
    """By the parser of the command that the words name, which is not run: its name and its parameters."""
    command, name, parent = typer.main.get_command(app), "lumos", None
    while True:
        context = command.make_context(name, list(words), parent=parent)
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        if not rest or not hasattr(command, "resolve_command"):
            return context.command_path.removeprefix("lumos "), context.params
        name, command, words = command.resolve_command(context, rest)
        parent = context


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_example_can_be_called(name):
    called, parameters = parse(shlex.split(EXAMPLES[name]))
    assert called == name
    if where := parameters.get("where"):
        assert (parse_job_where if name in ("jobs", "watch", "report") else parse_where)(where).terms
    known = {
        "benchmark": (*TESTABLE, ""),
        "source": TEACHABLE,
        "formulation": (*FORMULATIONS, ""),
        "agent": ("starter", ""),
    }
    for parameter, names in known.items():
        assert parameters.get(parameter) in (None, *names)


def test_an_example_that_is_wrong_is_noticed():
    with pytest.raises(Exception, match="No such option: --limt"):
        parse(["evaluate", "wordmath", "--limt", "20"])
    with pytest.raises(Exception, match="Missing"):
        parse(["compare"])


def test_each_function_of_the_table_says_what_it_is_for():
    from lumos_queue.cli.command_group import load

    assert all(inspect.getdoc(load(one)) for one in every_command().values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evaluat",), "No such command: evaluat. Did you mean 'evaluate'? See: lumos --help"),
        (("evaluat", "--help"), "No such command: evaluat. Did you mean 'evaluate'? See: lumos --help"),
        (("frobnicate",), "No such command: frobnicate. See: lumos --help"),
        (("build", "first"), "No such command: build. Did you mean 'dataset build'? See: lumos --help"),
        (("get", "gsm8k"), "No such command: get. Did you mean 'data get' or 'models get'? See: lumos --help"),
        (("data", "gte"), "No such command: data gte. Did you mean 'data get'? See: lumos data --help"),
        (
            ("evaluate", "gsm8k", "--limt", "3"),
            "No such option: --limt. Did you mean '--limit'? See: lumos evaluate --help",
        ),
        (
            ("jobs", "--state", "running"),
            "No such option: --state. It is now a term of --where, as in --where "
            "'state=running'. See: lumos jobs --help",
        ),
        (
            ("episodes", "--wrong"),
            "No such option: --wrong. It is now a term of --where, as in --where 'score<1'. See: lumos episodes --help",
        ),
        (
            ("tag", "k3f9a2cd", "--tag", "team=maths"),
            "No such option: --tag. Tags are written without it: lumos tag JOB KEY=VALUE. See: lumos tag --help",
        ),
        (("evaluate", "gsm9k", "--agent", "starter"), "No benchmark called 'gsm9k'. Did you mean 'gsm8k'? Choose one"),
        (
            ("evaluate", "wordmath", "--agent", "starter", "--formulation", "iteratve"),
            "No formulation called 'iteratve'. Did you mean 'iterative'? Choose one of: caption",
        ),
    ],
)
def test_an_unknown_name_gives_one_line_with_the_nearest(lumos, arguments, said):
    ran = lumos(*arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert ran.err.startswith(f"lumos: {said}")


@pytest.mark.parametrize(("old", "new"), sorted(RENAMED_COMMANDS.items()))
def test_a_command_that_was_renamed_names_its_new_spelling(lumos, old, new):
    assert lumos(old, "anything").err == f"lumos: No such command: {old}. It is now: lumos {new}\n"
    assert new in EXAMPLES


@pytest.mark.parametrize("command", sorted(OPTIONS_NOW_TERMS))
def test_the_term_that_takes_an_options_place_can_be_read(command):
    for term in OPTIONS_NOW_TERMS[command].values():
        assert (parse_job_where if command == "jobs" else parse_where)(term).terms
