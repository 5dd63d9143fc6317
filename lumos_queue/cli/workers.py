"""Commands about workers and endpoints, which all jobs use."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.submission.requests.option import MAX_INTEGER


def workers(json: opt.Json = False) -> None:
    """List the worker processes that are alive.

    Also shows their pools, their GPUs (`not asked` before the first job of the pool gpu), their jobs, the number of
    items that they hold, and the rejected messages.
    """
    from db.kinds.pools import describe_gpus
    from db.queue.sessions import jobs_held, list_refused_messages, live_sessions
    from lumos_queue.cli.deployment import open_deployment

    deployment = open_deployment()
    with deployment.database.engine.connect() as connection:
        names = (
            "id",
            "host",
            "pid",
            "code_version",
            "started_at",
            "silent_seconds",
            "items",
            "calls",
            "gpus",
            "gpu_mib",
        )
        jobs_by_session, sessions = jobs_held(connection), live_sessions(connection, deployment.lease)
        summary = {
            "workers": [
                {name: getattr(row, name) for name in names}
                | {"pools": row.pools.split(","), "jobs": sorted(jobs_by_session.get(row.id, ()))}
                for row in sessions
            ],
            "refused": [
                {"reason": row.reason, "messages": row.messages, "latest": row.latest, "latest_at": row.latest_at}
                for row in list_refused_messages(connection)
            ],
        }
    output.result(summary, lambda value: _print_workers(value, {row.id: describe_gpus(row) for row in sessions}))


def endpoints(
    url: Annotated[str, typer.Argument(help="The endpoint's address, exactly as jobs name it.")] = "",
    cap: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_INTEGER, help="Maximum number of requests in flight, over all workers; 0: no cap."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """List the caps of endpoints, or set a cap.

    A cap limits the requests in flight, over all workers. Give URL and --cap to set or remove a cap. A llama.cpp
    server states how many requests it serves at once; this number is its cap unless you set another one.
    """
    from db.queue.shares import list_caps, set_cap
    from lumos_queue.deployment.database import database
    from lumos_queue.endpoints.registry import check_url
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    if bool(url) != (cap is not None):
        raise SpecError("Give both URL and --cap: lumos endpoints URL --cap NUMBER (0 removes the cap).")
    if url:
        check_url(url)
    with database(read_settings(), create=bool(url)) as job_database:
        if url:
            set_cap(job_database, url, cap or None)
        with job_database.engine.connect() as connection:
            names = ("url", "cap", "held", "workers", "stated")
            listing = {"endpoints": [dict(zip(names, row, strict=True)) for row in list_caps(connection)]}
    output.result(listing, _print_endpoints)


def _print_workers(values: dict[str, Any], gpus: dict[int, str]) -> None:
    """Print the workers. `gpus` has the GPUs of each session as text."""
    from rich import box
    from rich.table import Table

    from lumos_queue.cli.output import escape
    from lumos_queue.util.wording import format_rough_seconds, plural

    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("session", "host", "pid", "code", "pools", "GPUs", "works on", "items held", "last heard of"):
        table.add_column(name, justify="left" if name in ("host", "code", "pools", "GPUs", "works on") else "right")
    for row in values["workers"]:
        table.add_row(
            str(row["id"]),
            escape(row["host"]),
            str(row["pid"]),
            row["code_version"][:12],
            ", ".join(row["pools"]),
            gpus[row["id"]],
            ", ".join(row["jobs"]) or "idle",
            f"{row['items']:,}",
            f"{format_rough_seconds(row['silent_seconds'])} ago",
        )
    console = output.console()
    console.print(table if values["workers"] else "No worker is alive. Start one with: lumos worker")
    for row in values["refused"]:
        messages, latest = plural(row["messages"], "message"), escape(row["latest"][:160])
        console.print(f"rejected {messages}: {escape(row['reason'])}; latest: {latest}", soft_wrap=True)


def _print_endpoints(listing: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from lumos_queue.cli.output import escape

    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("endpoint", "cap", "held", "by workers"):
        table.add_column(name, justify="left" if name == "endpoint" else "right")
    for row in listing["endpoints"]:
        cap = f"{row['cap']:,} (stated by the server)" if row["stated"] else f"{row['cap']:,}"
        table.add_row(escape(row["url"]), cap, f"{row['held']:,}", f"{row['workers']:,}")
    output.console().print(
        table if listing["endpoints"] else "No endpoint has a cap. Set one with: lumos endpoints URL --cap NUMBER"
    )
