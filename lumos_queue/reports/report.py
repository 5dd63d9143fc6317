"""The report of a job, computed from the stored sums of its ended items (db/queue/figures.py) and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import RUNS, JobKind
from db.kinds.states import ItemState
from db.queries.damage import DamagedJob, find_gaps
from db.queries.job_endpoints import endpoints_of
from db.queries.results import messages, outputs, values_by_metric
from db.queries.tasks import load_keyed_tasks
from db.queue.figures import (
    calls_by_ending,
    code_versions,
    count_endings,
    latency_by_role,
    progress,
    prompt_heads,
    score_versions,
    seconds_by_phase,
    totals,
)
from db.queue.stored_jobs import StoredJob
from db.review.scorings import scorings_of
from lumos_queue.actions.tools.protocols import PROTOCOL
from lumos_queue.benchmarks.registry import benchmark_of, definition_of
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.bos import DECIDES, leaves_out_bos
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.formulations.base import version_of
from lumos_queue.formulations.descriptions import shows_descriptions_in
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.function_list import DESCRIPTIONS, HIDDEN, SHOWN
from lumos_queue.records import Ending
from lumos_queue.reports.adopted_figures import apart_from_adopted
from lumos_queue.reports.agent_requests import describe_requests
from lumos_queue.reports.baselines import load_or_compute_baselines
from lumos_queue.reports.completeness import completeness
from lumos_queue.reports.cost import cost_figures
from lumos_queue.reports.empty_replies import empty_reply_problems
from lumos_queue.reports.failures import failures_by_class
from lumos_queue.reports.field_scores import measure_by_fields
from lumos_queue.reports.groups import split_by_group
from lumos_queue.reports.human_feedback import people_figures
from lumos_queue.reports.readers import describe_reader, reply_endings
from lumos_queue.reports.samples import sample_figures
from lumos_queue.reports.scores import job_scores, scores
from lumos_queue.reports.task_choice import describe_choice
from lumos_queue.reports.tool_agents import calls_functions
from lumos_queue.reports.totals import totals_as_json
from lumos_queue.reports.wall_time import wall_seconds
from lumos_queue.row_origins.origins import read_row_origins
from lumos_queue.scoring.answer_readers import AnswerReader
from lumos_queue.scoring.limit import at_limit_of

Report = dict[str, Any]


def make_report(connection: Connection, job: StoredJob, by: Sequence[str] = ()) -> Report:
    """Return the report of a job as JSON. The denominator of rates is the number of all items.

    `by` names fields; the report also has the scores for each of their values. Raises DamagedJob if the stored request
    is incomplete, and SpecError for a field that the job does not have, or for any field if the job has no scores.
    """
    try:
        report = _make_report(connection, job)
        return report | ({"by": measure_by_fields(connection, job, by, list(report.get("metrics", {})))} if by else {})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if problem := find_gaps(job.kind, job.spec):
            raise DamagedJob(job.id, problem) from error
        raise


def _make_report(connection: Connection, job: StoredJob) -> Report:
    items = progress(connection, job.id)
    report: Report = {
        "job": job.id,
        "kind": job.kind,
        "state": job.state,
        "waiting": job.waiting,
        "benchmark": job.benchmark,
        "split": job.split,
        "formulation": job.formulation,
        "n": job.items,
        "finished": items.get(ItemState.DONE, 0),
        "items": items,
        "seconds": None if (seconds := wall_seconds(connection, job)) is None else round(seconds, 3),
        "code_version": job.code_version,
        "plugins": job.plugins or [],
        "seed": job.seed,
    }
    if origin := read_row_origins(connection, [job]).get(job.id):
        report["row_origin"] = origin.as_json()
    endings = count_endings(connection, job.id)
    report |= completeness(job, items, endings) | describe_choice(job)
    # Code for some kinds of jobs is imported only for them, because the imports take longer than the rest of a report.
    if job.kind == JobKind.TRAIN:
        from lumos_queue.reports.training import collect_training_figures

        windows = [{"item": ordinal, **(output or {})} for ordinal, output in outputs(connection, job.id)]
        return report | {"windows": windows} | collect_training_figures(connection, job.id, windows)
    if job.kind in RUNS:
        infer = job.spec.get("infer", job.spec)
        report["formulation_version"] = version_of(job.spec)
        if requests := describe_requests(infer["agent"], job.formulation):
            report["requests"] = requests
        report |= describe_reader(job) | _describe_prompts(job) | reply_endings(connection, job)
        report |= cost_figures(connection, job)
    report |= _episode_figures(connection, job.id, endings)
    report["problems"] = empty_reply_problems(connection, job) + report["problems"]
    report |= apart_from_adopted(connection, job, report) | failures_by_class(connection, job, items, endings)
    if _runs_experts(job):
        from lumos_queue.reports.expert_runs import expert_runs
        from lumos_queue.reports.plan_feasibility import plan_feasibility

        report |= expert_runs(connection, job) | plan_feasibility(connection, job)
    if job.kind in RUNS:
        from lumos_queue.reports.expert_backends import expert_backends

        report |= expert_backends(connection, job)
    report |= people_figures(connection, job)
    if check := _calls_check(job, report["calls_by_ending"]):
        report["calls_as_expected"] = check
    if _calls_functions(job):
        from lumos_queue.reports.provenance import count_tool_calls

        report["tool_calls"] = count_tool_calls(connection, job.id)
    formulation = FORMULATIONS.find(job.formulation)
    if formulation and formulation.state and job.kind in RUNS:
        from lumos_queue.reports.state_manager import state_figures

        report |= state_figures(connection, job, formulation, formulation.state)
    if job.kind == JobKind.CONVERT:
        from lumos_queue.reports.conversion import conversion_report

        values = values_by_metric(connection, job.id)
        main = "accepted" if "accepted" in values else "executed"
        report |= scores(
            job, values, [main, *list_added_metrics(connection, job.id)], load_keyed_tasks(connection, job.id)
        )
        report |= conversion_report(connection, job)
        report |= _scorings(connection, job.id)
    elif job.kind == JobKind.INFER and job.main_metric:
        metrics = list_added_metrics(connection, job.id)
        report |= job_scores(
            connection, job, (job.main_metric, *(metric for metric in metrics if metric != job.main_metric))
        )
        report |= _scorings(connection, job.id)
    elif job.kind == JobKind.EVALUATE:
        benchmark, infer = benchmark_of(job), job.spec["infer"]
        # The job keeps its main metric, even if a new version of a plug-in puts another metric first.
        readings = [f"{job.main_metric}_{reader}" for reader in AnswerReader]
        metrics = (job.main_metric, *benchmark.metrics, *readings, *list_added_metrics(connection, job.id))
        report |= job_scores(connection, job, tuple(dict.fromkeys(metrics)))
        report |= sample_figures(connection, job, job.main_metric, benchmark.answers if benchmark.by_answer else None)
        if benchmark.groups or benchmark.overalls:
            values = values_by_metric(connection, job.id)
            report |= split_by_group(job, values, benchmark, load_keyed_tasks(connection, job.id))
        definition = definition_of(job.spec)
        if definition and definition.judge:
            from lumos_queue.reports.judge import judge_figures, note_ungraded

            report |= judge_figures(connection, job, definition.judge)
            report |= note_ungraded(report, job.state)
        versions = score_versions(connection, job.id)
        report["scoring"] = {"at_limit": at_limit_of(job.spec), "versions": versions}
        if remarks := benchmark.remark_on_versions(versions):
            report["scoring"]["remarks"] = remarks
        report["tools"] = _list_tools(job.formulation, infer) | _describe_bos(connection, job.id, infer["agent"])
        report |= _scorings(connection, job.id)
        report["baselines"] = load_or_compute_baselines(connection, job, benchmark)
        judges_runs = formulation is not None and formulation.judges_runs
        if judges_runs or _calls_functions(job):
            from lumos_queue.reports.provenance import split_scores
            from lumos_queue.reports.tool_rules import read_rules, rule_figures

            tasks = load_keyed_tasks(connection, job.id)
            if judges_runs:
                report |= rule_figures(job, read_rules(connection, job, tasks), tasks)
            class_scores = split_scores(connection, job, tasks)
            report |= {"by_provenance": class_scores} if class_scores else {}
    return report


def list_added_metrics(connection: Connection, job: str) -> list[str]:
    """Return the metrics that scorers added after the run."""
    return list(dict.fromkeys(scoring.metric for scoring in scorings_of(connection, job)))


def _scorings(connection: Connection, job: str) -> Report:
    """Return, as `scorings`, which code computed the scores that were added after the run; {} without such scores."""
    names = ("metric", "version", "scorer", "code", "scored_by", "scored_at")
    scorings = [{name: getattr(scoring, name) for name in names} for scoring in scorings_of(connection, job)]
    return {"scorings": scorings} if scorings else {}


def _runs_experts(job: StoredJob) -> bool:
    formulation = FORMULATIONS.find(job.formulation)
    return formulation is not None and formulation.experts


def _calls_functions(job: StoredJob) -> bool:
    """Return whether the job runs a tool agent, which calls the functions of a task."""
    return calls_functions(job.formulation)


def _episode_figures(connection: Connection, job: str, endings: Mapping[str, int]) -> Report:
    """Return the figures of episodes that all jobs except training have: endings, calls, tokens, seconds."""
    sums = totals(connection, job)
    return {
        "endings": endings,
        "code_versions": [
            {"code_version": version, "episodes": episodes} for version, episodes in code_versions(connection, job)
        ],
        "prompts": {
            role: [{"prefix": prefix, "episodes": episodes} for prefix, episodes in heads]
            for role, heads in prompt_heads(connection, job).items()
        },
        **totals_as_json(sums.totals),
        "phases": {name: round(seconds, 3) for name, seconds in seconds_by_phase(connection, job).items()},
        "latency": {
            role: {name: round(seconds, 6) for name, seconds in means.items()}
            for role, _, means in latency_by_role(connection, job)
        },
        "calls_by_ending": [
            dict(zip(("ending", "subgoals", "calls", "episodes"), row, strict=True))
            for row in calls_by_ending(connection, job)
        ],
        "problems": [
            dict(zip(("ending", "message", "episodes"), row, strict=True)) for row in messages(connection, job)
        ],
    }


def _describe_prompts(job: StoredJob) -> Report:
    """Return whether a tool agent is shown the descriptions of its tools; {} for other agents."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or DESCRIPTIONS not in formulation.settings:
        return {}
    return {DESCRIPTIONS: SHOWN if shows_descriptions_in(job.spec) else HIDDEN}


def _list_tools(formulation: str, infer: Report) -> Report:
    """Return the settings that scores depend on: those of the tools, with defaults, the protocol, and sampled rows."""
    agent = infer["agent"]
    tools: Report = {}
    agent_formulation, domain = FORMULATIONS.find(formulation), DOMAINS.find(agent["domain"])
    if agent_formulation and agent_formulation.executes:
        tools = dict(domain.default_tools if domain else {}) | agent.get("tools", {})
    if agent_formulation and PROTOCOL in agent_formulation.settings:
        tools[PROTOCOL] = agent.get("settings", {}).get(PROTOCOL, agent_formulation.settings[PROTOCOL].default)
    tools |= {name: infer[name] for name in ("live", "replay") if infer.get(name)}
    return tools | ({"draw": infer["draw"], "sets": infer["sets"]} if infer.get("draw") else {})


def _describe_bos(connection: Connection, job: str, agent: Report) -> Report:
    """Return, for an agent without `<s>`, which servers add it to prompts anyway; {} for other agents."""
    if agent["sampling"].get("bos", True):
        return {}
    urls_with_bos = {
        endpoint.url
        for endpoint in endpoints_of(connection, job)
        if endpoint.role not in TOOL_ROLES and not leaves_out_bos(endpoint.url, endpoint.identity)
    }
    return {"<s>": f"none, but {', '.join(sorted(urls_with_bos))} {DECIDES}" if urls_with_bos else "none"}


def _calls_check(job: StoredJob, shapes: list[Report]) -> dict[str, int] | None:
    formulation = FORMULATIONS.find(job.formulation) if job.kind in RUNS else None
    if formulation is None or formulation.expected_calls is None:
        return None
    agent = job.spec.get("infer", job.spec).get("agent", {})
    if agent.get("settings", {}).get("search") == "apart":
        return None  # a call for each input of a task
    domain = DOMAINS.find(agent["domain"])
    if domain is None or domain.ends_by_action or TOOL_ROLES.keys() & agent.get("roles", {}).keys():
        return None  # calls of tools count as calls of the agent; episodes that end by an action have no last plan
    max_subgoals = agent.get("max_subgoals", 0)
    # No rule holds if an endpoint failed, or if the context was full before the last subgoal.
    checked_shapes = [
        shape
        for shape in shapes
        if shape["ending"] not in (Ending.INFRA_ERROR, Ending.LIMIT)
        or (shape["ending"] == Ending.LIMIT and formulation.limited and shape["subgoals"] == max_subgoals)
    ]
    if not checked_shapes:
        return None
    right = [
        shape["episodes"]
        for shape in checked_shapes
        if shape["calls"] == formulation.expected_calls(shape["subgoals"], max_subgoals)
    ]
    return {"episodes": sum(shape["episodes"] for shape in checked_shapes), "as_expected": sum(right)}
