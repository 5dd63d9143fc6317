"""docs/commands.md: every command with its help, arguments and options, from the command line itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer.main

from lumos_queue.cli.command_table import HEADINGS
from lumos_queue.cli.main import app
from lumos_queue.submission.requests.option import MAX_INTEGER
from tests.reference_pages.markdown import code, plain, table

HEAD = """\
# Commands

Written by `make docs-reference` from the command line itself: change the code, not this page.

Each command also has `--json`, which prints one JSON object as the last line of its output, and `-h`, `--help`.
Exit codes: [running.md](running.md#outages-and-exit-codes).
"""
EVERYWHERE = {"json", "help"}  #: options of every command, which the head of the page describes
_UNBOUNDED = re.compile(rf"<=x<={MAX_INTEGER}$")  # the limit of both databases, not of the command
_EXTRA = re.compile(r"(?:^|  )\[([^\[\]]*)\]$")  # additions of the command line to a help: required, default, range


def write_commands_page() -> str:
    """Return the page."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("lumos", [], resilient_parsing=True)
    parts = [HEAD]
    for heading, names in HEADINGS.items():
        commands = [(name, root.get_command(context, name)) for name in names]
        parts.append(f"## {heading}\n")
        parts.append(table(("command", ""), ([_link(name), plain(_first_line(command))] for name, command in commands)))
        for name, command in commands:
            parts.extend(_sections(name, command, context))
    return "\n".join(parts)


def walk(command: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a command and its subcommands, each with its context, in the order of `--help`."""
    yield command, context
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        below = command.get_command(context, name)
        yield from walk(below, below.make_context(name, [], parent=context, resilient_parsing=True))


def _sections(name: str, command: Any, root: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=root, resilient_parsing=True)
    for subcommand, of in walk(command, context):
        depth = "###" if subcommand is command else "####"
        yield f"{depth} {of.command_path}\n\n{plain(_help(subcommand))}\n"
        if not hasattr(subcommand, "list_commands") or subcommand.invoke_without_command:
            usage = " ".join([of.command_path, *subcommand.collect_usage_pieces(of)])
            yield f"    {usage}\n    {_example(subcommand)}\n"
        if rows := list(_rows(subcommand, of)):
            yield table(("argument or option", "", "default"), rows)


def _rows(command: Any, context: Any) -> Iterator[tuple[str, str, str]]:
    for parameter in command.params:
        record = None if parameter.name in EVERYWHERE else parameter.get_help_record(context)
        if record is None:
            continue
        usage, text = record
        extra = _EXTRA.search(text)
        notes = extra.group(1).split("; ") if extra else []
        default = next((note.removeprefix("default: ") for note in notes if note.startswith("default: ")), "")
        rest = [_remove_storage_limit(note) for note in notes if not note.startswith("default: ")]
        text = plain(text[: extra.start()] if extra else text)
        yield (
            code(usage.replace(" range>", ">")),
            " ".join([text, *(f"({note})" for note in rest if note)]),
            code(default),
        )


def _remove_storage_limit(note: str) -> str:
    lowest, mark, _ = _UNBOUNDED.sub("!", note).partition("!")
    if not mark:
        return plain(note.replace("<=", "≤").replace(">=", "≥"))
    return "" if lowest == str(-MAX_INTEGER) else f"x≥{lowest}"


def _help(command: Any) -> str:
    return inspect.cleandoc(command.help or "")


def _example(command: Any) -> str:
    """Return the last line of a command's help."""
    return command.epilog.splitlines()[-1].strip()


def _first_line(command: Any) -> str:
    return _help(command).partition("\n\n")[0].replace("\n", " ")


def _link(name: str) -> str:
    return f"[{code(f'lumos {name}')}](#lumos-{name})"
