"""A request's declared fields become options of a command, JSON and messages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from lumos_queue.cli.request_command import takes_changes, takes_request
from lumos_queue.errors import SpecError
from lumos_queue.submission.requests.checks import check_request, spell_errors, spell_flags
from lumos_queue.submission.requests.option import Entrance, Option, list_options
from lumos_queue.submission.requests.serialization import from_json, to_json

BOTH = frozenset((Entrance.COMMAND, Entrance.PYTHON, Entrance.RERUN))


@dataclass(frozen=True, slots=True)
class Request:
    source: Annotated[str, Option("A name.", metavar="SOURCE|FILE", positional=True)] = ""
    max_tokens: Annotated[int, Option("A limit.", min=1, entrances=BOTH, change_help="Another limit.")] = 512
    rate: Annotated[float | None, Option("A rate.", min=0.0, max=1.0, label="learning rate")] = None
    roles: Annotated[tuple[str, ...], Option("An endpoint.", flag="--role", entrances=BOTH)] = ()
    folder: Annotated[Path | None, Option("A folder.")] = None
    fast: Annotated[bool, Option("Be fast.", entrances=BOTH)] = False
    internal: str = "not declared"


def run(command, *words: str) -> str:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_only_declared_fields_are_options_of_the_entrances_that_they_name():
    assert [option.field for option in list_options(Request, Entrance.RERUN)] == ["max_tokens", "roles", "fast"]
    assert "internal" not in {option.field for option in list_options(Request)}


def test_a_command_gets_the_request_of_its_options():
    requests = []

    @takes_request(Request)
    def command(request: Request, *, name: str = "") -> None:
        requests.append((request, name))

    run(command, "x", "--max-tokens", "5", "--role", "a=b", "--role", "c=d", "--folder", "f", "--fast", "--name", "n")
    run(command, "x")
    assert requests == [(Request("x", 5, None, ("a=b", "c=d"), Path("f"), True), "n"), (Request("x"), "")]


def test_a_command_that_changes_a_request_gets_the_names_of_the_options_that_were_given():
    changes = []

    @takes_changes(Request, Entrance.RERUN)
    def command(request: Request, names: frozenset[str], job: Annotated[str, typer.Argument()]) -> None:
        changes.append((request, names, job))

    run(command, "k3f9", "--max-tokens", "512", "--fast")
    run(command, "k3f9")
    assert changes == [(Request(fast=True), {"max_tokens", "fast"}, "k3f9"), (Request(), set(), "k3f9")]
    assert "Another limit." in run(command, "--help")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": 0}, "max_tokens= is 0: expected a whole number from 1 to 2,147,483,647."),
        ({"max_tokens": True}, "max_tokens= is True: expected a whole number from 1 to 2,147,483,647."),
        ({"max_tokens": None}, "max_tokens= is None: expected a whole number from 1 to 2,147,483,647."),
        ({"rate": float("nan")}, "rate= is nan: expected a number from 0 to 1."),
        ({"rate": "1"}, "rate= is '1': expected a number from 0 to 1."),
        ({"roles": "a=b"}, "roles= is 'a=b': expected a list of texts."),
        ({"folder": 5}, "folder= is 5: expected a path."),
        ({"fast": 1}, "fast= is 1: expected true or false."),
        ({"source": 1}, "source= is 1: expected a text."),
    ],
)
def test_a_wrong_value_is_refused_in_the_callers_spelling(fields, message):
    with pytest.raises(SpecError) as error, spell_errors(Request, Entrance.PYTHON):
        check_request(Request(**fields))
    assert str(error.value) == message
    with pytest.raises(SpecError) as error:
        from_json(Request, {"version": 1, **fields})
    (name,) = fields
    label = "learning rate" if name == "rate" else name
    assert str(error.value) == message.replace(f"{name}=", label, 1)


def test_flags_of_a_proposed_command_stay_flags():
    message = "--role is wrong: leave out --role, or run it again: lumos rerun JOB --role a=b; --other too."
    assert spell_flags(message, Request, Entrance.COMMAND) == message
    assert spell_flags(message, Request, Entrance.PYTHON) == (
        "roles= is wrong: leave out roles=, or run it again: lumos rerun JOB --role a=b; --other too."
    )


def test_json_has_every_declared_field_and_unknown_fields_and_versions_are_refused_by_name():
    request = Request("x", 5, 0.5, ("a=b",), Path("f"), True)
    document = to_json(request)
    assert document == {
        "version": 1,
        "source": "x",
        "max_tokens": 5,
        "rate": 0.5,
        "roles": ["a=b"],
        "folder": "f",
        "fast": True,
    }
    assert from_json(Request, document) == request
    with pytest.raises(SpecError, match=r"No field of a request called 'max_token'\. Did you mean 'max_tokens'\?"):
        from_json(Request, {"version": 1, "max_token": 5})
    for version in (None, 2, True, "1"):
        with pytest.raises(SpecError, match=r"^version is .*: expected 1\.$"):
            from_json(Request, {"version": version})
