"""Commands that serve: recorded answers of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

app = typer.Typer(rich_markup_mode=None, help="Serve recordings to agents of others.")


@app.callback()
def _group() -> None:
    """Makes `tools` a command of its group although it is the only one."""


@app.command("tools")
def serve_tools(
    records: Annotated[Path | None, typer.Option(help="Recorded answers, as for --tool records=PATH.")] = None,
    documents: Annotated[
        Path | None, typer.Option(help="ToolBench query files whose APIs are known: arguments are checked by them.")
    ] = None,
    answers: Annotated[
        str, typer.Option(help="What is answered where nothing is recorded: strict (nothing), nearest or synthetic.")
    ] = "strict",
    host: Annotated[
        str, typer.Option(help="The address to serve on; the default is this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any that is free.")] = 8080,
    json: opt.Json = False,
) -> None:
    """Answer POST /virtual as StableToolBench's server does, from recorded answers.

    Until Ctrl-C or TERM. A key that requests must have is set with LUMOS_SERVE_KEY.
    """
    from dataclasses import asdict

    from lumos_queue.actions.tools.records import Records, read_records
    from lumos_queue.execution.serving.answers import Answers
    from lumos_queue.execution.serving.catalogue import read_catalogue
    from lumos_queue.execution.serving.server import serve
    from lumos_queue.settings import read_settings
    from lumos_queue.util.launch_folder import from_launch

    settings = read_settings()
    found = read_records(from_launch(records)) if records else Records()
    catalogue = read_catalogue(from_launch(documents) if documents else None, found)
    answering = Answers(answers, catalogue, found)
    serve(answering, host, port, settings.serve_key, output.say)
    output.result(asdict(answering.statistics), lambda _: output.show(str(answering.statistics)))
