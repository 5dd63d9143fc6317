"""List the experts that a job ran, each with its backend and fidelity."""

from __future__ import annotations

from typing import Any

from db.engine.connection import Connection
from db.queries.plans import count_expert_runs
from db.queue.stored_jobs import StoredJob
from lumos_queue.actions.experts.options import ALL, describe_backend
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.reports.expert_runs import EXPERT


def expert_backends(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """Return `experts`: for each expert that ran, its `backend` (a URL), `fidelity` and number of `runs`.

    The fidelity is '' for experts of another machine. Return {} for jobs without runs of experts.
    """
    agent = job.spec.get("infer", job.spec).get("agent", {})
    tools = agent.get("tools", {})
    if ALL not in tools:
        return {}
    counts = count_expert_runs(connection, job.id, EXPERT)
    names = ("backend", "fidelity")
    experts = {
        expert: dict(zip(names, map(str, describe_backend(expert, tools)), strict=True)) | {"runs": counts[expert]}
        for expert in EXPERTS
        if expert in counts
    }
    return {"experts": experts} if experts else {}
