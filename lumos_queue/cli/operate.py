"""Commands that run and check a deployment: up, worker, doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def doctor(
    planner: opt.Planner = "",
    grounder: opt.Grounder = "",
    solver: opt.Solver = "",
    recount: Annotated[
        bool, typer.Option("--recount", help="Only compare the stored sums of every job with its rows.")
    ] = False,
    repair: Annotated[bool, typer.Option("--repair", help="With --recount: correct sums that differ.")] = False,
    json: opt.Json = False,
) -> None:
    """Check everything that a job needs.

    Prints a remedy for each problem. Times one call of each given model, and estimates the time of 100 rows.
    """
    from dataclasses import asdict

    from lumos_queue.cli.doctor import examine, recount_jobs
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    if repair and not recount:
        raise SpecError("--repair goes with --recount.")

    marks = {True: "[green]ok[/]", False: "[red]no[/]", None: "[yellow]--[/]"}
    console, findings = output.console(), []
    settings, urls = read_settings(), [url for url in dict.fromkeys((planner, grounder, solver)) if url]
    for finding in recount_jobs(settings, repair) if recount else examine(settings, urls):
        findings.append(asdict(finding))
        if not output.as_json:
            subject, text = output.escape(finding.what), output.escape(finding.found)
            console.print(f"{marks[finding.fine]}  [bold]{subject}[/]  {text}", soft_wrap=True)
    fine = all(finding["fine"] is not False for finding in findings)
    if output.as_json:
        output.emit({"fine": fine, "findings": findings})
    raise typer.Exit(0 if fine else 1)


def worker(
    pools: Annotated[
        str, typer.Option(help="Kinds of work for this worker: cpu, llm, gpu, separated by commas.")
    ] = "cpu,llm,gpu",
    json: opt.Json = False,
) -> None:
    """Find work and do it on this host, until stopped."""
    import logging

    from db.kinds.pools import POOLS
    from lumos_queue.errors import unknown
    from lumos_queue.settings import read_settings
    from lumos_queue.util.display import LogFormatter
    from workers.dispatcher import serve

    names = tuple(pool.strip() for pool in pools.split(",") if pool.strip())
    for pool in names:
        if pool not in POOLS:
            raise unknown("pool", pool, POOLS)
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    serve(read_settings(), names)
    output.result({"stopped": True}, lambda _: None)


def up(json: opt.Json = False) -> None:
    """Run a whole deployment on this host.

    Runs broker, workers, dispatcher and Flower until Ctrl-C.
    """
    from lumos_queue.settings import read_settings
    from workers.up import up as start

    code = start(read_settings(), output.say)
    output.result({"stopped": True, "code": code}, lambda _: None)
    raise typer.Exit(code)
