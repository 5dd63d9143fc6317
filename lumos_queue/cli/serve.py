"""Commands that serve: models, recorded answers of tools, and experts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

Host = Annotated[str, typer.Option(help="The address to serve on; the default is this machine alone.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any that is free.")]


def serve_tools(
    records: Annotated[Path | None, typer.Option(help="Recorded answers, as for --tool records=PATH.")] = None,
    documents: Annotated[
        Path | None, typer.Option(help="ToolBench query files: arguments are checked by the APIs in them.")
    ] = None,
    answers: Annotated[
        str, typer.Option(help="The answer to a call that is not recorded: strict (none), nearest or synthetic.")
    ] = "strict",
    host: Host = "127.0.0.1",
    port: Port = 8080,
    json: opt.Json = False,
) -> None:
    """Answer POST /virtual as StableToolBench's server does, from recorded answers.

    Runs until Ctrl-C or TERM. To require a key in requests, set LUMOS_SERVE_KEY.
    """
    from dataclasses import asdict

    from lumos_queue.actions.tools.records import Records, read_records
    from lumos_queue.execution.serving.answers import Answers
    from lumos_queue.execution.serving.catalogue import read_catalogue
    from lumos_queue.execution.serving.handlers import application
    from lumos_queue.execution.serving.server import serve
    from lumos_queue.settings import read_settings
    from lumos_queue.util.launch_folder import from_launch

    settings = read_settings()
    answer_records = read_records(from_launch(records)) if records else Records()
    catalogue = read_catalogue(from_launch(documents) if documents else None, answer_records)
    answer_source = Answers(answers, catalogue, answer_records)
    key = settings.serve_key
    serve(application(answer_source, key), "/virtual", host, port, key, output.say)
    output.result(asdict(answer_source.statistics), lambda _: output.show(str(answer_source.statistics)))


def serve_experts(
    tool: opt.ToolOptions = [],
    host: Host = "127.0.0.1",
    port: Port = 8090,
    json: opt.Json = False,
) -> None:
    """Run experts for other machines, which name this one with --tool experts=http://HOST:PORT.

    Runs until Ctrl-C or TERM. Choose the experts as for a job, e.g. --tool experts=own; the default is hf. To
    require a key in requests, set LUMOS_SERVE_KEY, and write it into the file of LUMOS_API_KEYS on the other machines.
    """
    import asyncio
    from dataclasses import asdict

    from lumos_queue.actions.experts.options import find_experts
    from lumos_queue.execution.serving.experts import ServedExperts, expert_pages
    from lumos_queue.execution.serving.server import serve
    from lumos_queue.experts.host import experts_of_this_process
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.agents import parse_pairs

    key, processes = read_settings().serve_key, experts_of_this_process()
    experts = ServedExperts(find_experts(parse_pairs("--tool", tool)), processes)
    output.say(f"{len(experts.facts)} experts: {', '.join(experts.facts)}")
    try:
        serve(expert_pages(experts, key), "", host, port, key, output.say)
    finally:
        asyncio.run(processes.close())
    output.result(asdict(experts.counts), lambda _: output.show(str(experts.counts)))
