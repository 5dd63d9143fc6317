"""Text of others on its way to people and programs: nothing that a terminal obeys, nothing that deceives the eye."""

from __future__ import annotations

import ast
import json
import logging
import re
import unicodedata
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from lumos_queue.cli import output
from lumos_queue.cli.main import main
from lumos_queue.util.display import LogFormatter, harmless, json_line, one_line
from lumos_queue.util.untrusted_json import MAX_DEPTH, read_json

CLI = Path(output.__file__).parent
#: Colour, title, C1's CSI, backspace, right-to-left override and isolate, zero width, line separator.
HOSTILE = "\x1b[31m \x1b]0;t\x07 \x9b31m \x08 \u202e \u2066 \u200b \u2028 \x85 [bold]"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def test_what_passes_and_what_is_replaced():
    assert RAW.search(HOSTILE) and not RAW.search(harmless(HOSTILE)) and not RAW.search(one_line(HOSTILE))
    for point in range(0x110000):
        if unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp", "Cs") and chr(point) not in "\n\t":
            assert harmless(chr(point)) == "\ufffd", hex(point)
    assert harmless("für 数学 \u3000 ½ 🙂\n\tx") == "für 数学 \u3000 ½ 🙂\n\tx"
    assert one_line("a\nb\x85c\u2028d") == "a b c d"


def test_json_is_the_same_value_without_a_raw_control():
    value = {HOSTILE: [HOSTILE, "für 数学 🙂", "\ud800", "\U000e0041"]}
    line = json_line(value)
    assert not RAW.search(line) and "\n" not in line and "für 数学 🙂" in line and "\U000e0041" not in line
    assert json.loads(line) == value


def test_a_message_cannot_pass_for_another_line_of_the_log():
    forged = "it says\n2026-01-01 00:00:00 INFO workers: job done\x1b[2J\u2028x"
    record = logging.LogRecord("workers", logging.WARNING, "", 0, "%s", (forged,), None)
    told = LogFormatter(logging.Formatter("%(levelname)s %(message)s")).format(record)
    assert told.splitlines()[1].startswith("    2026") and len(told.splitlines()) == 3 and not RAW.search(told)


def test_no_command_writes_past_the_door():
    for file in sorted(CLI.glob("*.py")):
        if file.name == "output.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            function = node.func if isinstance(node, ast.Call) else None
            name = getattr(function, "id", None) or getattr(function, "attr", None)
            called = ast.unparse(function) if function and name in ("print", "Console", "echo", "write") else ""
            assert called not in ("print", "Console", "typer.echo", "sys.stdout.write", "sys.stderr.write", "echo"), (
                f"{file.name}, line {node.lineno}: use output.show, output.say, output.result or output.console"
            )


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory) -> Path:
    """A database in which everything that others may write is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    data = folder / "rows.jsonl"
    asked = "How many are 2 and 3?" + HOSTILE
    data.write_text(json.dumps({"question": asked, "answer": "It is <<2+3=5>>5\n#### 5"}) + "\n")
    rules = [
        {"contains": "to be grounded", "reply": f"R1 = Calculator(2 + '{HOSTILE}')"},
        {"contains": "", "reply": "Subgoal 1: Solve it." + HOSTILE},
    ]
    (folder / "rules.json").write_text(json.dumps(rules))
    url = f"scripted:{folder / 'rules.json'}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUMOS_HOME", str(folder / "home"))
        patch.setenv("LUMOS_PROJECT", "project" + HOSTILE)
        options = ("--planner", url, "--grounder", url, "--formulation", "one-pass", "--data", str(data), "--json")
        assert main(["evaluate", "gsm8k", *options]) == 0
    engine = create_engine(f"sqlite:///{folder / 'home' / 'lumos.db'}")
    with engine.begin() as connection:
        hostile = {"text": "bad" + HOSTILE}
        connection.execute(text("UPDATE job SET waiting = :text, submitted_by = :text"), hostile)
        connection.execute(text("UPDATE episode SET message = :text, answer = :text"), hostile)
        connection.execute(text("UPDATE worker_session SET host = :text"), hostile)
    return folder / "home"


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("terminal", [False, True])
def test_no_command_passes_on_what_a_terminal_obeys(hostile_home, monkeypatch, capsys, as_json, terminal):
    monkeypatch.setenv("LUMOS_HOME", str(hostile_home))
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    more = ["--json"] if as_json else []
    main(["jobs", "--json"])
    job = json.loads(capsys.readouterr().out.splitlines()[-1])["jobs"][0]["job"]
    commands = [
        ["jobs"],
        ["job", job],
        ["report", job],
        ["episodes", job],
        ["show", f"{job}-1"],
        ["workers"],
        ["show", f"{job}-1", "--prompts"],
        ["doctor", "--planner", f"tgi://127.0.0.1:1/{HOSTILE}"],
        ["job", HOSTILE],
        ["endpoints"],
        ["evaluate", HOSTILE],
        ["evaluate", "gsm8k", "--data", HOSTILE, "--planner", HOSTILE],
        ["train", HOSTILE],
        ["cancel", HOSTILE],
        ["episodes", "--where", f"answer={HOSTILE}"],
        ["papers", HOSTILE],
        ["dataset", "show", HOSTILE],
        ["data", "import", HOSTILE, HOSTILE, "--licence", "MIT"],
        [HOSTILE],
        ["doctor", "--planner", f"local:{HOSTILE}"],
        ["convert", HOSTILE],
        ["audit", "report", HOSTILE],
    ]
    for command in commands:
        main([*command, *more])
        shown = capsys.readouterr()
        for stream in shown:
            plain = re.sub(r"\x1b\[[0-9;]*m", "", stream) if terminal else stream
            assert not RAW.search(plain), (command, plain)


@pytest.mark.parametrize("content", ["[" * 900 + "]" * 900, "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, "9" * 5000])
def test_what_cannot_be_read_as_json_is_a_plain_error(content):
    with pytest.raises(ValueError, match=r"nested more than 100 levels|Exceeds the limit"):
        read_json(content)
    assert read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize("content", ["[" * 900 + "]" * 900, "9" * 5000])
def test_an_import_of_such_a_row_is_one_line_that_names_file_and_row(tmp_path, monkeypatch, capsys, content):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    row = '{"dataset": "gsm8k", "id": "1", "messages": %s, "extra": 1}\n' % content  # noqa: UP031
    for name in ("plan", "ground"):
        (tmp_path / f"{name}.jsonl").write_text(row)
    arguments = [str(tmp_path / "plan.jsonl"), str(tmp_path / "ground.jsonl"), "--licence", "MIT"]
    assert main(["data", "import", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "plan.jsonl row 1" in told and "Nothing was stored" in told
