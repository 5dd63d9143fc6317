"""List the experts that a job ran, each with its backend and fidelity."""

from __future__ import annotations

from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.plans import count_expert_runs
from db.queue.stored_jobs import StoredJob
from lumos_queue.actions.experts.options import ALL, describe_backend
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.reports.expert_runs import EXPERT


@dataclass(frozen=True, slots=True)
class ExpertBackend:
    """Where an expert ran."""

    backend: str  #: a URL
    fidelity: str  #: '' for experts of another machine
    runs: int


def expert_backends(connection: Connection, job: StoredJob) -> dict[str, ExpertBackend]:
    """Return where each expert ran, by name; {} for jobs without runs of experts."""
    agent = job.spec.get("infer", job.spec).get("agent", {})
    tools = agent.get("tools", {})
    if ALL not in tools:
        return {}
    counts = count_expert_runs(connection, job.id, EXPERT)
    backends = {expert: describe_backend(expert, tools) for expert in EXPERTS if expert in counts}
    return {
        expert: ExpertBackend(str(backend), str(fidelity), counts[expert])
        for expert, (backend, fidelity) in backends.items()
    }
