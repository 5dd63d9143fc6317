"""Recognise planners that were trained here, with their recipes, the base models of their first fits, and their tasks.

The planner of an evaluation is a stored model if its weights have the digest of this model. An adapter is merged into
its base before it is used, so it is recognised by the digest of both, or by its folder in the endpoint's URL. A
checkpoint of a fit from rewards is no stored model: it is recognised by its folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.jobs import jobs_of_kind
from db.queue.training_steps import list_models
from lumos_queue.endpoints.model_folder import digest_of_merged
from lumos_queue.errors import SpecError
from lumos_queue.models.adapters import digest_of_adapter, read_adapter
from lumos_queue.papers.openagi_results import FINE_TUNED, RLTF
from lumos_queue.papers.planner_training import Training, is_below, read_training
from lumos_queue.papers.stored_evaluations import StoredEvaluation
from lumos_queue.training.recipes.rltf import STEPS
from lumos_queue.util.launch_folder import from_launch

WAYS = {"sft": FINE_TUNED, "rltf": RLTF}  #: recipe to its name in the paper's tables
SCRATCH = "random weights"
_LOCAL = "local:"


@dataclass(frozen=True, slots=True)
class TunedPlanner:
    """The recipe, the base model and the tasks of a planner that was trained here."""

    way: str  #: one of WAYS; '' for another recipe, and for a checkpoint
    base: str  #: the name of the folder that the first of its fits began with, or SCRATCH
    training: Training  #: of all of its fits


@dataclass(frozen=True, slots=True)
class _Fit:
    """A training job that a planner comes from. `base`: digest of the model that it began with; '': random weights."""

    job: str
    base: str


class TunedPlanners:
    """The stored models of training jobs, among which planners are searched."""

    def __init__(
        self,
        models: Iterable[Any] = (),
        specs: Mapping[str, Mapping[str, Any]] | None = None,
        connection: Connection | None = None,
    ):
        """`models`: rows of the table `model`, the newest first. `specs`: the specs of training jobs by their ids."""
        self._specs = specs or {}
        self._connection = connection
        self._by_digest: dict[str, Any] = {}
        self._by_path: dict[str, Any] = {}
        self._trainings: dict[_Fit, Training] = {}
        for model in models:
            if model.job in self._specs:
                self._by_digest.setdefault(model.digest, model)
                self._by_path.setdefault(model.path, model)

    @classmethod
    def of(cls, connection: Connection | None) -> TunedPlanners:
        """Read the stored models. `connection`: None if there is no database yet."""
        if connection is None:
            return cls()
        specs = {job.id: job.spec for job in jobs_of_kind(connection, JobKind.TRAIN)}
        return cls(list_models(connection), specs, connection)

    def find(self, evaluation: StoredEvaluation, role: str) -> TunedPlanner | None:
        """Return the recipe, the base and the tasks of the model in that role; None if it was not trained here."""
        agent = evaluation.infer["agent"]
        url = agent["roles"].get(role, "")
        path = url.removeprefix(_LOCAL) if url.startswith(_LOCAL) else ""
        model = self._by_weights(agent.get("weights", {}).get(role, ""))
        if model is None and (stored_model := self._by_path.get(path)) and stored_model.kind == "adapter":
            model = stored_model
        if model is not None:
            return self._describe(_Fit(model.job, model.base), WAYS.get(self._recipe(model.job), ""))
        job = next((job for job in self._specs if self._is_checkpoint(path, job)), None)
        return self._describe(_Fit(job, ""), "") if job is not None else None

    def _by_weights(self, digest: str) -> Any | None:
        """Return the stored model with this digest of weights, or the adapter that is merged in them."""
        if not digest or digest in self._by_digest:
            return self._by_digest.get(digest)
        return self._merged_adapters.get(digest)

    @cached_property
    def _merged_adapters(self) -> dict[str, Any]:
        """The stored adapters by the digests of what they are when they are merged into their bases."""
        adapters: dict[str, Any] = {}
        for model in self._by_path.values():
            if model.kind == "adapter":
                with suppress(OSError, SpecError):  # its files are missing or damaged
                    digest = digest_of_adapter(read_adapter(from_launch(model.path)))
                    adapters.setdefault(digest_of_merged(model.base, digest), model)
        return adapters

    def _describe(self, fit: _Fit, way: str) -> TunedPlanner:
        """Follow the fits of a planner back to the first one."""
        training, start, visited = Training(), "", set[_Fit]()
        current: _Fit | None = fit
        while current is not None and current not in visited:
            visited.add(current)
            start = str(self._specs[current.job].get("start", ""))
            training |= self._read(current)
            parent = self._by_weights(current.base)
            parent = self._by_path.get(start) if parent is None else parent
            current = None if parent is None else _Fit(parent.job, parent.base)
        return TunedPlanner(way, Path(start).name if start else SCRATCH, training)

    def _read(self, fit: _Fit) -> Training:
        if self._connection is None:
            return Training()
        if fit not in self._trainings:
            self._trainings[fit] = read_training(self._connection, fit.job, self._specs[fit.job], fit.base)
        return self._trainings[fit]

    def _recipe(self, job: str) -> str:
        return str(self._specs[job].get("recipe", ""))

    def _is_checkpoint(self, path: str, job: str) -> bool:
        """Return whether a path is a checkpoint of a fit from rewards, which `local:` serves."""
        folder = str(self._specs[job].get("folder", ""))
        return bool(folder) and self._recipe(job) == "rltf" and is_below(path, Path(folder) / STEPS)
