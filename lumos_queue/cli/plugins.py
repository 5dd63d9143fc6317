"""The command about plug-ins of third-party packages: plugins."""

from __future__ import annotations

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def plugins(json: opt.Json = False) -> None:
    """List the installed plug-ins, and check them.

    Each plug-in is imported. Exit code 1: a plug-in does not work.
    """
    import typer

    from lumos_queue.cli.plugin_list import list_plugins, print_plugins
    from lumos_queue.settings import read_settings

    read_settings()
    rows = list_plugins()
    output.result({"plugins": rows}, lambda value: print_plugins(value["plugins"]))
    if any(row["problem"] for row in rows):
        raise typer.Exit(1)
