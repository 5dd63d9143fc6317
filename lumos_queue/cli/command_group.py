"""Groups of commands that are built from a table. A command's module is imported only when the command is called."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from lumos_queue.cli.command_table import COMMANDS, HEADINGS, RENAMED_COMMANDS, Command, Group
from lumos_queue.cli.deployment import close_at_end
from lumos_queue.errors import SpecError, find_nearest

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}
_PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "context_settings": CONTEXT_SETTINGS}


class TableGroup(TyperGroup):
    """A group whose commands are in `table`."""

    table: Mapping[str, Command | Group] = {}
    default = ""  #: the command that is called where the first word is no command

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = self.table.get(cmd_name)
        return build_command(cmd_name, command) if command else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve the command as Typer does. Raises SpecError for an unknown name, and suggests a similar name."""
        word = args[0]
        if word not in self.table and not word.startswith("-"):
            if not self.default:
                raise _no_command(ctx.command_path, word, self.table)
            args = [self.default, *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summarize(command)) for name, command in self.table.items()])


class TopGroup(TableGroup):
    """`lumos` itself. Its help has a line for each command, under headings."""

    table = COMMANDS

    def invoke(self, ctx: Any) -> Any:
        with close_at_end():
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        heading_width = max(map(len, HEADINGS)) + 2
        indent = heading_width + max(map(len, COMMANDS)) + 2
        lines = [
            "Usage: lumos COMMAND [ARGS]...      What a command does: lumos COMMAND --help",
            "Options: --version, --json (one JSON object as the last line), -h or --help",
        ]
        for heading, commands in HEADINGS.items():
            lines.append("")
            for row, (name, command) in enumerate(commands.items()):
                prefix = f"{'' if row else heading:<{heading_width}}{name:<{indent - heading_width}}"
                lines += textwrap.wrap(prefix + summarize(command), formatter.width, subsequent_indent=" " * indent)
        formatter.write("\n".join(lines) + "\n")


def build_command(name: str, command: Command | Group) -> Any:
    """Return the parser of a command or a group. The commands of a group are built when they are called."""
    app = typer.Typer(cls=TableGroup, **_PLAIN)
    if isinstance(command, Command):
        app.command(name, epilog=_format_example(command))(load(command))
        return typer.main.get_command(app)
    if command.alone:
        app.callback(invoke_without_command=True, epilog=_format_example(command.alone))(load(command.alone))
    else:
        app.callback(help=command.summary, epilog=_format_example(next(iter(command.commands.values()))))(_do_nothing)
    group = typer.main.get_group(app)
    assert isinstance(group, TableGroup)
    group.name, group.table, group.default = name, command.commands, command.default
    return group


def load(command: Command) -> Callable[..., Any]:
    """Import and return the function of a command."""
    module, _, function = command.target.partition(":")
    return getattr(import_module(f"lumos_queue.cli.{module}"), function)


def summarize(command: Command | Group) -> str:
    """Return one sentence about the command, from the docstring of its function."""
    if isinstance(command, Group) and not command.alone:
        return command.summary
    function = load(command.alone if isinstance(command, Group) and command.alone else command)  # type: ignore[arg-type]
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _do_nothing() -> None:
    """The callback of a group: it does nothing before one of its commands is called."""


def _format_example(command: Command) -> str:
    return f"\b\nExample:\n  lumos {command.example}"


def _no_command(path: str, word: str, table: Mapping[str, Command | Group]) -> SpecError:
    """Return the error for an unknown command. It suggests its new name, a group that has it, or a similar name."""
    group = path.partition(" ")[2]
    candidates = [f"{group} {nearest}".strip()] if (nearest := find_nearest(word, table)) else []
    message = f"No such command: {group} {word[:80]}. ".replace(":  ", ": ")
    if not group:
        if word in RENAMED_COMMANDS:
            return SpecError(f"{message}It is now: lumos {RENAMED_COMMANDS[word]}")
        groups = [name for name, command in COMMANDS.items() if isinstance(command, Group) and word in command.commands]
        candidates = [f"{name} {word}" for name in groups] or candidates
    suggestion = f"Did you mean {' or '.join(map(repr, candidates))}? " if candidates else ""
    return SpecError(f"{message}{suggestion}See: {path} --help")
