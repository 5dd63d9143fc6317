"""Every command of `lumos`, with its parser."""

import typer

from lumos_queue.cli.main import app


def all_commands() -> dict:
    """Return the parser of each command by name, groups that are commands themselves included."""
    commands = {}

    def walk(command, name: str) -> None:
        children = command.list_commands(None) if hasattr(command, "list_commands") else []
        for child in children:
            walk(command.get_command(None, child), f"{name} {child}".strip())
        if name and (not children or command.invoke_without_command):
            commands[name] = command

    walk(typer.main.get_command(app), "")
    return commands
