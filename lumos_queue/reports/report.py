"""The report of a job, computed from the stored sums of its ended items (db/queue/figures.py) and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import RUNS, JobKind
from db.kinds.states import ItemState
from db.queries.damage import DamagedJob, find_gaps
from db.queries.job_endpoints import endpoints_of
from db.queries.results import values_by_metric
from db.queries.tasks import load_keyed_tasks
from db.queue.figures import (
    count_endings,
    progress,
    score_versions,
)
from db.queue.stored_jobs import StoredJob
from lumos_queue.actions.tools.protocols import PROTOCOL
from lumos_queue.benchmarks.registry import benchmark_of, definition_of
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.bos import DECIDES, leaves_out_bos
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.formulations.base import version_of
from lumos_queue.formulations.descriptions import shows_descriptions_in
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.function_list import DESCRIPTIONS, HIDDEN, SHOWN
from lumos_queue.reports.adopted_figures import find_adopted_figures
from lumos_queue.reports.agent_requests import describe_requests
from lumos_queue.reports.baselines import load_or_compute_baselines
from lumos_queue.reports.calls_check import check_calls
from lumos_queue.reports.completeness import completeness
from lumos_queue.reports.cost import cost_figures
from lumos_queue.reports.empty_replies import empty_reply_problems
from lumos_queue.reports.episode_figures import measure_episodes
from lumos_queue.reports.failures import failures_by_class
from lumos_queue.reports.field_scores import measure_by_fields
from lumos_queue.reports.groups import measure_overalls, split_by_group
from lumos_queue.reports.human_feedback import count_plan_answers, measure_ratings
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.readers import find_reader, reply_endings
from lumos_queue.reports.row_facts import describe_origin
from lumos_queue.reports.samples import sample_figures
from lumos_queue.reports.scorers import Scorers, list_added_metrics, list_added_scores
from lumos_queue.reports.scores import job_scores, scores
from lumos_queue.reports.task_choice import describe_choice
from lumos_queue.reports.tool_agents import calls_functions
from lumos_queue.reports.wall_time import wall_seconds
from lumos_queue.row_origins.origins import read_row_origins
from lumos_queue.scoring.answer_readers import AnswerReader
from lumos_queue.scoring.limit import at_limit_of


def make_report(connection: Connection, job: StoredJob, by: Sequence[str] = ()) -> JobReport:
    """Return the report of a job.

    `by` names fields; the report also has the scores for each of their values. Raises DamagedJob if the stored request
    is incomplete, and SpecError for a field that the job does not have, or for any field if the job has no scores.
    """
    try:
        report = _make_report(connection, job)
        return replace(report, by=measure_by_fields(connection, job, by, list(report.metrics))) if by else report
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if problem := find_gaps(job.kind, job.spec):
            raise DamagedJob(job.id, problem) from error
        raise


def _make_report(connection: Connection, job: StoredJob) -> JobReport:
    items, endings = progress(connection, job.id), count_endings(connection, job.id)
    seconds, origin = wall_seconds(connection, job), read_row_origins(connection, [job]).get(job.id)
    report = JobReport(
        job=job.id,
        kind=job.kind,
        state=job.state,
        waiting=job.waiting,
        benchmark=job.benchmark,
        split=job.split,
        formulation=job.formulation,
        n=job.items,
        finished=items.get(ItemState.DONE, 0),
        items=items,
        seconds=None if seconds is None else round(seconds, 3),
        code_version=job.code_version,
        plugins=job.plugins or [],
        seed=job.seed,
        row_origin=describe_origin(origin) if origin else None,
        completeness=completeness(job, items, endings),
        parent=job.parent or None,
        chosen=describe_choice(job),
    )
    # Code for some kinds of jobs is imported only for them, because the imports take longer than the rest of a report.
    if job.kind == JobKind.TRAIN:
        from lumos_queue.reports.training import collect_training_figures

        return replace(report, training=collect_training_figures(connection, job.id))
    report = _add_episodes(connection, job, report, endings)
    if job.kind in RUNS:
        report = _add_run(connection, job, report)
    if job.kind == JobKind.CONVERT:
        return _add_conversion(connection, job, report)
    if job.kind == JobKind.EVALUATE:
        return _add_evaluation(connection, job, report)
    if job.kind == JobKind.INFER and job.main_metric:
        metrics = dict.fromkeys((job.main_metric, *list_added_metrics(connection, job.id)))
        return replace(
            report,
            scores=job_scores(connection, job, tuple(metrics)),
            scorings=list_added_scores(connection, job.id) or None,
        )
    return report


def _add_episodes(connection: Connection, job: StoredJob, report: JobReport, endings: Mapping[str, int]) -> JobReport:
    """Return the report with the figures of episodes that jobs of all kinds have."""
    episodes, adopted = measure_episodes(connection, job.id, endings), find_adopted_figures(connection, job)
    problems = [*empty_reply_problems(connection, job), *episodes.problems]
    use = episodes.use.without(adopted.use) if adopted else episodes.use
    report = replace(
        report,
        episodes=replace(episodes, use=use, problems=problems),
        adopted=adopted,
        failures=failures_by_class(connection, job, report.items, endings),
        plans=count_plan_answers(connection, job),
        ratings=measure_ratings(connection, job),
        calls_as_expected=check_calls(job, episodes.calls_by_ending),
    )
    formulation = FORMULATIONS.find(job.formulation)
    if formulation and formulation.experts:
        from lumos_queue.reports.expert_runs import count_expert_calls, count_steps
        from lumos_queue.reports.plan_feasibility import plan_feasibility

        report = replace(
            report,
            expert_runs=count_expert_calls(connection, job),
            plan_steps=count_steps(connection, job),
            plan_feasibility=plan_feasibility(connection, job),
        )
    if calls_functions(job.formulation):
        from lumos_queue.reports.provenance import count_tool_calls

        report = replace(report, tool_calls=count_tool_calls(connection, job.id))
    return report


def _add_run(connection: Connection, job: StoredJob, report: JobReport) -> JobReport:
    """Return the report with what only runs of an agent have."""
    from lumos_queue.reports.expert_backends import expert_backends

    infer = job.spec.get("infer", job.spec)
    report = replace(
        report,
        formulation_version=version_of(job.spec),
        requests=describe_requests(infer["agent"], job.formulation) or None,
        reader=find_reader(job),
        descriptions=_describe_prompts(job),
        reply_endings=reply_endings(connection, job),
        cost=cost_figures(connection, job),
        experts=expert_backends(connection, job) or None,
    )
    formulation = FORMULATIONS.find(job.formulation)
    if formulation and formulation.state:
        from lumos_queue.reports.state_manager import state_figures

        router, state_manager = state_figures(connection, job, formulation, formulation.state)
        report = replace(report, router=router, state_manager=state_manager)
    return report


def _add_conversion(connection: Connection, job: StoredJob, report: JobReport) -> JobReport:
    from lumos_queue.reports.conversion import measure_conversion

    values = values_by_metric(connection, job.id)
    main = "accepted" if "accepted" in values else "executed"
    metrics = [main, *list_added_metrics(connection, job.id)]
    return replace(
        report,
        scores=scores(job, values, metrics, load_keyed_tasks(connection, job.id)),
        conversion=measure_conversion(connection, job),
        scorings=list_added_scores(connection, job.id) or None,
    )


def _add_evaluation(connection: Connection, job: StoredJob, report: JobReport) -> JobReport:
    benchmark, infer = benchmark_of(job), job.spec["infer"]
    # The job keeps its main metric, even if a new version of a plug-in puts another metric first.
    readings = [f"{job.main_metric}_{reader}" for reader in AnswerReader]
    metrics = (job.main_metric, *benchmark.metrics, *readings, *list_added_metrics(connection, job.id))
    versions = score_versions(connection, job.id)
    report = replace(
        report,
        scores=job_scores(connection, job, tuple(dict.fromkeys(metrics))),
        samples=sample_figures(connection, job, job.main_metric, benchmark.answers if benchmark.by_answer else None),
        scoring=Scorers(at_limit_of(job.spec), versions, benchmark.remark_on_versions(versions) or None),
        tools=_list_tools(job.formulation, infer) | _describe_bos(connection, job.id, infer["agent"]),
        scorings=list_added_scores(connection, job.id) or None,
    )
    if benchmark.groups or benchmark.overalls:
        values, tasks = values_by_metric(connection, job.id), load_keyed_tasks(connection, job.id)
        report = replace(
            report,
            groups=split_by_group(job, values, benchmark, tasks) or None,
            overall=measure_overalls(job, values, benchmark, tasks) or None,
        )
    definition = definition_of(job.spec)
    if definition and definition.judge:
        from lumos_queue.reports.judge import judge_figures, note_ungraded

        judge = judge_figures(connection, job, definition.judge)
        report = replace(report, judge=judge, ungraded=note_ungraded(job, report.completeness, judge.ungraded))
    # This may end the transaction, so it comes after what must be of the same moment.
    report = replace(report, baselines=load_or_compute_baselines(connection, job, benchmark))
    formulation = FORMULATIONS.find(job.formulation)
    judges_runs = formulation is not None and formulation.judges_runs
    if judges_runs or calls_functions(job.formulation):
        from lumos_queue.reports.provenance import split_scores
        from lumos_queue.reports.tool_rules import read_rules, rule_figures

        tasks = load_keyed_tasks(connection, job.id)
        rules = rule_figures(job, read_rules(connection, job, tasks), tasks) if judges_runs else {}
        report = replace(report, rules=rules or None, by_provenance=split_scores(connection, job, tasks) or None)
    return report


def _describe_prompts(job: StoredJob) -> str | None:
    """Return whether a tool agent is shown the descriptions of its tools; None for other agents."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or DESCRIPTIONS not in formulation.settings:
        return None
    return SHOWN if shows_descriptions_in(job.spec) else HIDDEN


def _list_tools(formulation: str, infer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that scores depend on: those of the tools, with defaults, the protocol, and sampled rows."""
    agent = infer["agent"]
    tools: dict[str, Any] = {}
    agent_formulation, domain = FORMULATIONS.find(formulation), DOMAINS.find(agent["domain"])
    if agent_formulation and agent_formulation.executes:
        tools = dict(domain.default_tools if domain else {}) | agent.get("tools", {})
    if agent_formulation and PROTOCOL in agent_formulation.settings:
        tools[PROTOCOL] = agent.get("settings", {}).get(PROTOCOL, agent_formulation.settings[PROTOCOL].default)
    tools |= {name: infer[name] for name in ("live", "replay") if infer.get(name)}
    return tools | ({"draw": infer["draw"], "sets": infer["sets"]} if infer.get("draw") else {})


def _describe_bos(connection: Connection, job: str, agent: Mapping[str, Any]) -> dict[str, str]:
    """Return, for an agent without `<s>`, which servers add it to prompts anyway; {} for other agents."""
    if agent["sampling"].get("bos", True):
        return {}
    urls_with_bos = {
        endpoint.url
        for endpoint in endpoints_of(connection, job)
        if endpoint.role not in TOOL_ROLES and not leaves_out_bos(endpoint.url, endpoint.identity)
    }
    return {"<s>": f"none, but {', '.join(sorted(urls_with_bos))} {DECIDES}" if urls_with_bos else "none"}
