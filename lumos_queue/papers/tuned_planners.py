"""Recognise planners that were trained here, with their recipes and the base models of their first fits.

The planner of an evaluation is a stored model if its weights have the digest of this model. An adapter is merged into
its base before it is used, so it is recognised by its folder in the endpoint's URL instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from db.reading import jobs_of_kind
from db.training_steps import list_models
from lumos_queue.papers.openagi_results import FINE_TUNED, RLTF
from lumos_queue.papers.stored_evaluations import StoredEvaluation

WAYS = {"sft": FINE_TUNED, "rltf": RLTF}  #: recipe to its name in the paper's tables
SCRATCH = "random weights"


@dataclass(frozen=True, slots=True)
class TunedPlanner:
    """The recipe and the base model of a planner that was trained here."""

    way: str  #: one of WAYS
    base: str  #: the name of the folder that the first of its fits began with, or SCRATCH


class TunedPlanners:
    """The stored models of training jobs, among which planners are searched."""

    def __init__(self, models: Iterable[Any] = (), specs: Mapping[str, Mapping[str, Any]] | None = None):
        """`models`: rows of the table `model`, the newest first. `specs`: the specs of training jobs by their ids."""
        self._specs = specs or {}
        self._by_digest: dict[str, Any] = {}
        self._by_path: dict[str, Any] = {}
        for model in models:
            if model.job in self._specs:
                self._by_digest.setdefault(model.digest, model)
                self._by_path.setdefault(model.path, model)

    @classmethod
    def of(cls, connection: Connection | None) -> TunedPlanners:
        """Read the stored models. `connection`: None if there is no database yet."""
        if connection is None:
            return cls()
        return cls(list_models(connection), {job.id: job.spec for job in jobs_of_kind(connection, "train")})

    def find(self, evaluation: StoredEvaluation, role: str) -> TunedPlanner | None:
        """Return recipe and base of the model in that role; None if it was not trained here by a recipe in WAYS."""
        agent = evaluation.infer["agent"]
        model = self._by_digest.get(agent.get("weights", {}).get(role, ""))
        if model is None:
            model = self._by_path.get(agent["roles"].get(role, "").removeprefix("local:"))
            model = model if model is not None and model.kind == "adapter" else None
        way = WAYS.get(self._specs[model.job].get("recipe", "")) if model else None
        return TunedPlanner(way, self._first_base(model)) if way else None

    def _first_base(self, model: Any) -> str:
        known_ids: set[int] = set()
        start = ""
        while model is not None and model.id not in known_ids:
            known_ids.add(model.id)
            start = str(self._specs[model.job].get("start", ""))
            model = self._by_path.get(start)
        return Path(start).name if start else SCRATCH
