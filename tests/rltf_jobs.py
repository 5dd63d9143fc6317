"""Jobs of the recipe `rltf` on small planners with random weights, worked on slice by slice in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.models import Item, JobRow
from db.queries.jobs import get_job
from db.queue.batch import Batch, FinishedItem
from db.queue.commit import commit
from db.queue.fence import end_session
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.rollouts import Rollouts
from lumos_queue.settings import Settings
from lumos_queue.submission.requests.training import RltfRequest
from lumos_queue.submission.rltf_request import make_rltf_job
from lumos_queue.submission.store import submit
from lumos_queue.training.recipes.rltf import Rltf
from tests.claims import claim, holder
from workers.context import WorkerContext
from workers.run import run_slice

#: Two optimizer steps of three tasks, whose plans end in anything: some are feasible, others are not.
OPENAGI: dict[str, Any] = {
    "benchmark": "openagi",
    "split": "feedback",
    "formulation": "model-synthesis",
    "limit": 6,
    "tools": ("experts=oracle:",),
    "options": ("samples=1",),
    "settings": ("goal=free",),
}
FIT: dict[str, Any] = {"epochs": 1, "batch": 3, "rate": 0.01, "max_tokens": 64}


@dataclass(frozen=True)
class BegunFit:
    """A fit whose first checkpoint is there: its first optimizer step is due."""

    settings: Settings
    database: Database
    process: WorkerContext
    job: str
    recipe: Rltf

    def work(self, job: str = "") -> None:
        """A slice of the fit, or of another job: until nothing of it is due."""
        run_slice(self.process, job or self.job, lambda: 0)

    def row(self, job: str = "") -> Row:
        with self.database.engine.connect() as connection:
            return get_job(connection, job or self.job)

    def items(self, job: str = "") -> Sequence[Row]:
        with self.database.engine.connect() as connection:
            query = select(Item.__table__).where(Item.job == (job or self.job)).order_by(Item.ordinal)
            return connection.execute(query).all()

    def rollouts(self) -> list[str]:
        """Return the rollout jobs of the fit, in order."""
        with self.database.engine.connect() as connection:
            query = select(JobRow.id).where(JobRow.kind == "evaluate").order_by(JobRow.created_at)
            return list(connection.execute(query).scalars())

    def evaluate(self) -> str:
        """Ask for the rollouts of the step that is due, and have them made; returns their job."""
        self.work()
        job = self.row().awaits
        assert job, self.row().waiting
        self.work(job)
        return job

    def gather(self) -> dict[str, Any]:
        """The first step with its rollouts, as its process gets it."""
        window = self.recipe.windows()[1]
        with Deployment(self.settings) as deployment:
            rollouts = Rollouts(deployment)
            return window | {"rollouts": asyncio.run(rollouts.gather(self.recipe, window, self.items()[1].id))}

    def change(self, statement: Any) -> None:
        """Carry out a statement as something outside of the project might."""
        with self.database.writer.begin() as connection:
            connection.execute(statement)


@contextmanager
def begin_fit(
    home: Path,
    start: Path,
    *,
    reward: str = "feasible",
    beams: int = 3,
    temperature: float | None = None,
    epsilon: float | None = None,
    spec: Mapping[str, Any] = FIT,
    **evaluation: Any,
) -> Iterator[BegunFit]:
    """Submit the job and do its first item here; the folder of the fit is `home / "fit"`."""
    from lumos_queue.training.rltf.work import run_item

    settings = Settings(home=home, poll_seconds=0.1)
    database = open_database(settings.database)
    upgrade(database)
    fit = {"reward": reward, "beams": beams, "temperature": temperature, "epsilon": epsilon, **FIT, **spec}
    request = RltfRequest(**{**fit, **(evaluation or OPENAGI)}, start=start, folder=home / "fit")
    job, rows = make_rltf_job(request, Deployment(settings), lambda line: None)
    assert isinstance(job.recipe, Rltf)
    job = replace(job, recipe=replace(job.recipe, spec=replace(job.recipe.spec, warm_up=0.0)))
    recipe = job.recipe
    assert isinstance(recipe, Rltf)
    identifier, _ = submit(database, settings, job, rows, windows=len(job.windows()))
    outcome = run_item(recipe, job.windows()[0])
    who = holder(database, identifier)
    (item,) = claim(database, who, 1)
    commit(database, who, Batch({item.id: item.claim}, finished=[FinishedItem(item.id, output=outcome.output)]))
    end_session(database, who.session)
    process = WorkerContext(Deployment(settings))
    try:
        yield BegunFit(settings, database, process, identifier, recipe)
    finally:
        process.close()
        database.close()
