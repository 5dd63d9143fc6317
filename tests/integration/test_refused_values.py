"""The same wrong value is refused with the same sentence on the command line, in Python, in a sweep and in the form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lumos_queue as lq
from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.sweeps.plan import read_plan
from lumos_queue.web.build_form import BuildForm

WHOLE = "expected a whole number from {} to 2,147,483,647."
#: The command and its arguments, the flag, the field, the value, and what was expected.
CONVERT, SFT, EXPERTS = ("convert", "wordmath"), ("train", "sft", "--data", "d", "--folder", "f"), ("train", "experts")
VALUES: list[tuple[tuple[str, ...], str, str, Any, str]] = [
    (CONVERT, "--limit", "limit", -1, WHOLE.format(0)),
    (CONVERT, "--limit", "limit", 2.5, WHOLE.format(0)),
    (CONVERT, "--limit", "limit", "many", WHOLE.format(0)),
    (CONVERT, "--reasks", "reasks", 11, "expected a whole number from 0 to 10."),
    (CONVERT, "--samples", "samples", 0, "expected a whole number from 1 to 1,000."),
    (CONVERT, "--seed", "seed", 2**40, WHOLE.format(0)),
    (CONVERT, "--temperature", "temperature", -0.5, "expected a number of at least 0."),
    (CONVERT, "--temperature", "temperature", float("nan"), "expected a number of at least 0."),
    (CONVERT, "--max-tokens", "max_tokens", 0, WHOLE.format(1)),
    (CONVERT, "--price-prompt", "price_prompt", float("inf"), "expected a number of at least 0."),
    (CONVERT, "--price-completion", "price_completion", "dear", "expected a number of at least 0."),
    (CONVERT, "--budget", "budget", -1, "expected a number of at least 0."),
    (CONVERT, "--perturbations", "perturbations", 21, "expected a whole number from 0 to 20."),
    (CONVERT, "--longest", "longest", 0, WHOLE.format(1)),
    (SFT, "--epochs", "epochs", -1, "expected a number of at least 0."),
    (SFT, "--steps", "steps", -1, WHOLE.format(0)),
    (SFT, "--batch", "batch", 1.5, WHOLE.format(0)),
    (SFT, "--max-length", "max_length", "long", WHOLE.format(0)),
    (SFT, "--rate", "rate", 1.5, "expected a number from 0 to 1."),
    (SFT, "--lora", "lora", -8, WHOLE.format(0)),
    (SFT, "--window", "window", -1, WHOLE.format(0)),
    (SFT, "--seed", "seed", -3, WHOLE.format(0)),
    ((*EXPERTS, "--folder", "f"), "--steps", "steps", 2**31, WHOLE.format(0)),
]
#: Values of commands that no other entrance has: the command and its arguments, the flag, the text, what was expected.
COMMANDS = [
    (("judge", "k3f9a2cd"), "--votes", "100", "expected a whole number from 1 to 99."),
    (("judge", "k3f9a2cd"), "--top-p", "1.5", "expected a number from 0 to 1."),
    (("score", "k3f9a2cd", "--judge", "tgi://h:1"), "--votes", "-1", "expected a whole number from 0 to 99."),
    (("rollouts",), "--samples", "0", "expected a whole number from 1 to 1,000."),
    (("blame",), "--temperature", "-1", "expected a number of at least 0."),
    (("reground",), "--max-subgoals", "1001", "expected a whole number from 0 to 1,000."),
    (
        ("train", "rltf", "openagi", "--folder", "f", "--from", "f"),
        "--beams",
        "-1",
        "expected a whole number from 0 to 1,000.",
    ),
    (("train", "starter", "--folder", "f"), "--steps", "0", WHOLE.format(1)),
]
#: Values of a sweep's tables: the table, the key, the value, and what was expected.
SWEEP = [
    ("annotations.gold", "limit", -1, WHOLE.format(0)),
    ("annotations.gold", "split", 5, "expected a text."),
    ("fit", "steps", -1, WHOLE.format(0)),
    ("fit", "rate", 1.5, "expected a number from 0 to 1."),
    ("fit", "from", 7, "expected a text."),
]
#: Values of the form of a build: the field, its label, its flag, the text, and what was expected.
FORM = [
    ("per_task", "Episodes per task", "--per-task", "-1", WHOLE.format(0)),
    ("rows", "Episodes in all", "--rows", "all", WHOLE.format(0)),
    ("seed", "Seed", "--seed", "1.5", WHOLE.format(0)),
    ("near_duplicates", "Near-duplicates", "--near-duplicates", "2", "expected a number from 0 to 1."),
    ("dev_share", "Share of dev", "--dev-share", "-0.1", "expected a number from 0 to 1."),
]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def message_of(function: Callable[[], object]) -> str:
    with pytest.raises(SpecError) as error:
        function()
    return str(error.value)


@pytest.mark.parametrize(("command", "flag", "field", "value", "expectation"), VALUES)
def test_the_command_line_and_python_refuse_a_value_with_the_same_sentence(
    lumos, home, command, flag, field, value, expectation
):
    ran = lumos(*command, flag, str(value))
    assert (ran.code, ran.out, ran.err) == (2, "", f"lumos: {flag} is {value!r}: {expectation}\n")
    arguments = {"benchmark": "wordmath"} if command[0] == "convert" else {"recipe": command[1], "folder": "f"}
    arguments |= {"data": "d"} if command[1] == "sft" else {}
    call = lq.convert if command[0] == "convert" else lq.train
    assert message_of(lambda: call(**arguments, **{field: value})) == f"{field}= is {value!r}: {expectation}"
    assert not home.exists(), "nothing is stored"


@pytest.mark.parametrize(("command", "flag", "text", "expectation"), COMMANDS)
def test_commands_without_another_entrance_have_the_same_sentence(lumos, command, flag, text, expectation):
    ran = lumos(*command, flag, text)
    assert (ran.code, ran.out, ran.err) == (2, "", f"lumos: {flag} is {text}: {expectation}\n")


@pytest.mark.parametrize(("table", "key", "value", "expectation"), SWEEP)
def test_a_sweep_refuses_a_value_with_the_same_sentence(tmp_path, table, key, value, expectation):
    tables = {"annotations.gold": 'convert = "wordmath"\n', "fit": ""}
    tables[table] += f"{key} = {json.dumps(value)}\n"
    text = 'title = "t"\nseeds = [0]\nformulations = ["iterative"]\n[[benchmarks]]\nname = "wordmath"\n'
    (tmp_path / "sweep.toml").write_text(text + "".join(f"[{name}]\n{rest}" for name, rest in tables.items()))
    message = message_of(lambda: read_plan(tmp_path / "sweep.toml"))
    assert f"is not a sweep: {table}: Value error, {key} is {value!r}: {expectation}" in message


@pytest.mark.parametrize(("field", "label", "flag", "text", "expectation"), FORM)
def test_the_form_and_the_command_refuse_a_value_with_the_same_sentence(
    lumos, tmp_path, field, label, flag, text, expectation
):
    database = open_database(f"sqlite:///{tmp_path / 'form.db'}")
    upgrade(database)
    shown = repr(text) if text == "all" else text
    message = message_of(lambda: BuildForm({field: text}).read(database, Settings(home=tmp_path), True))
    database.close()
    assert message == f"{label} is {shown}: {expectation}"
    assert lumos("dataset", "build", "b", flag, text).err == f"lumos: {flag} is {shown}: {expectation}\n"


def test_relations_between_options_have_the_spelling_of_the_caller(lumos):
    assert lumos("convert", "wordmath", "--deterministic", "--samples", "2").err.startswith("lumos: --samples is for")
    message = message_of(lambda: lq.convert("wordmath", samples=2))
    assert message == "samples= is for conversions by a teacher: give teacher= URL, or leave out samples=."
