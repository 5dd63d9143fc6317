"""Groups of commands that are built from a table: a command's module is imported when that command is called."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from lumos_queue.cli.command_table import COMMANDS, HEADINGS, RENAMED_COMMANDS, Command, Group
from lumos_queue.errors import SpecError, find_nearest

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}
_PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "context_settings": CONTEXT_SETTINGS}


class TableGroup(TyperGroup):
    """A group whose commands stand in `table`."""

    table: Mapping[str, Command | Group] = {}
    default = ""  #: the command that is meant where the first word names none

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        one = self.table.get(cmd_name)
        return build_command(cmd_name, one) if one else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raises SpecError for an unknown name, with the nearest one."""
        named = args[0]
        if named not in self.table and not named.startswith("-"):
            if not self.default:
                raise _no_command(ctx.command_path, named, self.table)
            args = [self.default, *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summarize(one)) for name, one in self.table.items()])


class TopGroup(TableGroup):
    """`lumos` itself, whose help has a line for each command, by headings."""

    table = COMMANDS

    def format_help(self, ctx: Any, formatter: Any) -> None:
        aside = max(map(len, HEADINGS)) + 2
        first = aside + max(map(len, COMMANDS)) + 2
        lines = [
            "Usage: lumos COMMAND [ARGS]...      What a command does: lumos COMMAND --help",
            "Options: --version, --json (one JSON object as the last line), -h or --help",
        ]
        for heading, commands in HEADINGS.items():
            lines.append("")
            for row, (name, one) in enumerate(commands.items()):
                begin = f"{'' if row else heading:<{aside}}{name:<{first - aside}}"
                lines += textwrap.wrap(begin + summarize(one), formatter.width, subsequent_indent=" " * first)
        formatter.write("\n".join(lines) + "\n")


def build_command(name: str, one: Command | Group) -> Any:
    """The parser of one command, or of a group whose commands are built when they are called."""
    app = typer.Typer(cls=TableGroup, **_PLAIN)
    if isinstance(one, Command):
        app.command(name, epilog=_format_example(one))(load(one))
        return typer.main.get_command(app)
    if one.alone:
        app.callback(invoke_without_command=True, epilog=_format_example(one.alone))(load(one.alone))
    else:
        app.callback(help=one.summary, epilog=_format_example(next(iter(one.commands.values()))))(_do_nothing)
    group = typer.main.get_group(app)
    assert isinstance(group, TableGroup)
    group.name, group.table, group.default = name, one.commands, one.default
    return group


def load(one: Command) -> Callable[..., Any]:
    """The function of a command."""
    module, _, function = one.place.partition(":")
    return getattr(import_module(f"lumos_queue.cli.{module}"), function)


def summarize(one: Command | Group) -> str:
    """One sentence: what the command is for."""
    if isinstance(one, Group) and not one.alone:
        return one.summary
    function = load(one.alone if isinstance(one, Group) and one.alone else one)  # type: ignore[arg-type]
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _do_nothing() -> None:
    """What a group does before one of its commands is called."""


def _format_example(one: Command) -> str:
    return f"\b\nExample:\n  lumos {one.example}"


def _no_command(path: str, named: str, table: Mapping[str, Command | Group]) -> SpecError:
    """What to say of an unknown name: what it is called now, the groups that have it, or the nearest."""
    group = path.partition(" ")[2]
    meant = [f"{group} {nearest}".strip()] if (nearest := find_nearest(named, table)) else []
    said = f"No such command: {group} {named[:80]}. ".replace(":  ", ": ")
    if not group:
        if named in RENAMED_COMMANDS:
            return SpecError(f"{said}It is now: lumos {RENAMED_COMMANDS[named]}")
        inside = [name for name, one in COMMANDS.items() if isinstance(one, Group) and named in one.commands]
        meant = [f"{name} {named}" for name in inside] or meant
    suggested = f"Did you mean {' or '.join(map(repr, meant))}? " if meant else ""
    return SpecError(f"{said}{suggested}See: {path} --help")
