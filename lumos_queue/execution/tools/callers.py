"""Open the caller of a job, which makes calls, answers them from an earlier job, or refuses them."""

from __future__ import annotations

from lumos_queue.commands import Call
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.execution.tools.caller import Caller, describe_call
from lumos_queue.records import Execution


def open_caller(live: bool, replay: str, deployment: Deployment, server: str = "") -> Caller:
    """Return a caller that makes calls (`live`), answers them from the job `replay`, or refuses them.

    `server`: the address of the API server in the job's options, which is allowed even in private networks.

    Raises SpecError for `live` with `replay` and for an unknown job; InfrastructureError without a database.
    """
    # The libraries for the network and the database are imported only where they are needed.
    if live and replay:
        raise SpecError(
            "--live and --replay exclude each other: give --live to make calls, or --replay JOB to answer them from an "
            "earlier job."
        )
    if replay:
        from lumos_queue.execution.tools.replay import open_replay

        return open_replay(replay, deployment.database)
    if live:
        from lumos_queue.execution.tools.registry import open_live

        return open_live(deployment.settings, server)
    return Caller(_refuse)


async def _refuse(command: Call, _key: str) -> Execution:
    return Execution(
        "live_refused",
        message=f"{describe_call(command)} needs the network: ask for it with --live, or replay an earlier job with "
        "--replay JOB",
    )
