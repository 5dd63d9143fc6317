"""A table of models and benchmarks: each cell has the score of an agent on the rows of a column.

Jobs share a column only if their scores have the same meaning: the same rows, split, metric and answer reader. Jobs of
one agent that differ in the seed alone share a cell. Nothing is ranked: `lumos compare` compares two cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.job_endpoints import load_served_models
from db.queue.stored_jobs import StoredJob
from db.queue.tags import tags_of
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import version_of
from lumos_queue.reports.agent_identity import identify_agent
from lumos_queue.reports.differences import describe_differences, differences
from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.model_names import Model, models_of, name_models
from lumos_queue.reports.readers import find_reader
from lumos_queue.reports.scores import job_scores, samples_of
from lumos_queue.reports.seeds import combine_jobs

MODEL, FORMULATION, TAG = "model", "formulation", "tag:"  #: what the rows are; TAG comes before the key of a tag
#: Facts in which jobs of one row may differ.
_OF_COLUMN = frozenset(("benchmark", "split", "rows", "limit", "samples", "seed", "chosen", "name", "code", "kind"))
_SHORT = 8  #: characters of a digest


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """The rows and the scoring that all jobs of a column have in common."""

    benchmark: str
    split: str
    metric: str
    reader: str  #: the answer reader; '' for formulations without readers
    dataset: str  #: the digest of the rows
    tasks: int  #: the first tasks of the dataset that were run
    chosen: str  #: the filter that chose the tasks; '' without one
    note: str = ""  #: how the column differs from other columns of the benchmark and split; '' if it is the only one


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardCell:
    """The score of the jobs of a cell."""

    jobs: Sequence[str]
    value: float
    ci95: tuple[float, float]
    n: int  #: items
    complete: bool
    #: the values with all unjudged items wrong and right; None for a complete cell
    bounds: tuple[float, float] | None = field(default=None, metadata=OPTIONAL)
    by_seed: Mapping[int, float] | None = field(default=None, metadata=OPTIONAL)  #: None for a single job


@dataclass(frozen=True, slots=True)
class BoardRow:
    """An agent, with a cell for each column; None if no job of the agent is in the column."""

    label: str
    cells: Sequence[BoardCell | None]


@dataclass(frozen=True, slots=True)
class Board:
    """The table. Rows and columns are in the order in which their first jobs were submitted."""

    by: str
    columns: Sequence[BoardColumn]
    rows: Sequence[BoardRow]
    left_out: Mapping[str, str]  #: the reason by the id of each job that has no score


@dataclass(frozen=True, slots=True)
class _Agent:
    """What the jobs of a row have in common."""

    name: str
    formulation: str
    version: int  #: of the formulation's prompts
    settings: str  #: reports.agent_identity.identify_agent, or the digest of the stored agent
    models: tuple[tuple[str, Model], ...]  #: by role, with the models that the servers reported


def make_board(connection: Connection, jobs: Sequence[StoredJob], by: str = MODEL) -> Board:
    """Return the table of these jobs; `by` is MODEL, FORMULATION, or TAG with a key.

    Raises SpecError for another `by`, and if no job is an evaluation.
    """
    if by not in (MODEL, FORMULATION) and (by == TAG or not by.startswith(TAG)):
        raise SpecError(f"--by {by[:40]!r} is unknown: give {MODEL}, {FORMULATION}, or {TAG}KEY with a tag's key.")
    scored_jobs, left_out = [], {}
    for job in sorted(jobs, key=lambda candidate: candidate.created_at):
        if job.kind == JobKind.EVALUATE and job.main_metric:
            scored_jobs.append(job)
        else:
            left_out[job.id] = f"it is of kind '{job.kind}', which has no scores"
    if not scored_jobs:
        raise SpecError("None of these jobs is an evaluation, so there is no score to show. See: lumos jobs")
    columns: dict[BoardColumn, list[StoredJob]] = {}
    agents: dict[_Agent, list[StoredJob]] = {}
    served_models = load_served_models(connection, [job.id for job in scored_jobs])
    models = {job.id: models_of(job, served_models.get(job.id)) for job in scored_jobs}
    names = _name_jobs(connection, scored_jobs, models, by)
    for job in scored_jobs:
        columns.setdefault(_column_of(job), []).append(job)
        agent = _Agent(
            names[job.id],
            job.formulation,
            version_of(job.spec),
            identify_agent(job),
            tuple(sorted(models[job.id].items())),
        )
        agents.setdefault(agent, []).append(job)
    agents = dict(_separate(agents))
    labels = _label_agents(agents, served_models)
    rows = [
        BoardRow(
            label,
            [_measure(connection, [job for job in several if job in agent_jobs]) for several in columns.values()],
        )
        for label, agent_jobs in zip(labels, agents.values(), strict=True)
    ]
    return Board(by, list(_explain(list(columns))), rows, left_out)


def _column_of(job: StoredJob) -> BoardColumn:
    return BoardColumn(
        job.benchmark,
        job.split,
        job.main_metric,
        find_reader(job) or "",
        job.dataset or "",
        job.items // samples_of(job),
        job.chosen,
    )


def _separate(agents: Mapping[_Agent, Sequence[StoredJob]]) -> Iterator[tuple[_Agent, list[StoredJob]]]:
    """Yield the agents with their jobs. Stored agents that differ in a column, as by --answer-by, are separated."""
    for agent, jobs in agents.items():
        stored_agents: dict[BoardColumn, set[str]] = {}
        for job in jobs:
            stored_agents.setdefault(_column_of(job), set()).add(job.agent)
        if all(len(digests) == 1 for digests in stored_agents.values()):
            yield agent, list(jobs)
            continue
        for digest in dict.fromkeys(job.agent for job in jobs):
            yield replace(agent, settings=digest), [job for job in jobs if job.agent == digest]


def _name_jobs(
    connection: Connection, jobs: Sequence[StoredJob], models: Mapping[str, Mapping[str, Model]], by: str
) -> dict[str, str]:
    """Return the name of each job's row, by the job's id."""
    if by == FORMULATION:
        return {job.id: job.formulation for job in jobs}
    if by == MODEL:
        names = name_models(model for job_models in models.values() for model in job_models.values())
        return {
            job: ", ".join(dict.fromkeys(names[model] for model in job_models.values()))
            for job, job_models in models.items()
        }
    key, tags = by.removeprefix(TAG), tags_of(connection, [job.id for job in jobs])
    return {job.id: tags.get(job.id, {}).get(key, f"without the tag {key}") for job in jobs}


def _label_agents(
    agents: Mapping[_Agent, Sequence[StoredJob]], served_models: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Yield a label for each agent: its name, with what distinguishes it from other agents of the same name."""
    for agent, jobs in agents.items():
        same_name = [other_jobs[0] for other, other_jobs in agents.items() if other.name == agent.name]
        if len(same_name) == 1:
            yield agent.name
            continue
        facts = differences(same_name, served_models)[same_name.index(jobs[0])]
        own_facts = {key: fact for key, fact in facts.items() if key not in _OF_COLUMN}
        yield ", ".join([agent.name, *describe_differences(own_facts)])


def _explain(columns: Sequence[BoardColumn]) -> Iterator[BoardColumn]:
    """Yield the columns, each with a note on how it differs from other columns of its benchmark and split."""
    for column in columns:
        others = [
            other
            for other in columns
            if other is not column and (other.benchmark, other.split) == (column.benchmark, column.split)
        ]
        parts = [
            text
            for name, text in (
                ("dataset", f"rows {column.dataset[:_SHORT]}"),
                ("tasks", f"{column.tasks:,} tasks"),
                ("chosen", f"chosen by {column.chosen}" if column.chosen else "not chosen"),
                ("metric", f"metric {column.metric}"),
                ("reader", f"answer reader {column.reader or 'none'}"),
            )
            if any(getattr(other, name) != getattr(column, name) for other in others)
        ]
        yield BoardColumn(
            column.benchmark,
            column.split,
            column.metric,
            column.reader,
            column.dataset,
            column.tasks,
            column.chosen,
            ", ".join(parts),
        )


def _measure(connection: Connection, jobs: Sequence[StoredJob]) -> BoardCell | None:
    """Return the score of the jobs of a cell; None without jobs."""
    if not jobs:
        return None
    if len(jobs) > 1 and (score := combine_jobs(connection, [(job.seed, job) for job in jobs])):
        unjudged = (score.of - score.judged) / score.of
        return BoardCell(
            jobs=[job.id for job in jobs],
            value=score.value,
            ci95=score.ci95,
            n=score.of,
            complete=score.complete,
            bounds=None if score.complete else (score.value, round(score.value + unjudged, 6)),
            by_seed=score.by_seed,
        )
    (job,) = jobs
    figures = job_scores(connection, job, [job.main_metric])
    return BoardCell(
        jobs=[job.id],
        value=figures.value,
        ci95=figures.ci95,
        n=job.items,
        complete=figures.complete,
        bounds=figures.bounds,
    )
