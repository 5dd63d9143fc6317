"""Make a job from the options of `lumos evaluate` and `lumos infer`. Unknown names are rejected before it is stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from lumos_queue.actions.ranking.registry import split_ranker
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.definition import OWN, JudgeDefinition
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.defaults import LONE_SOLVER, USUAL
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.models.starter import STARTER, remark_on_starter
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.scoring.sample_sets import sample_sets
from lumos_queue.settings import Settings
from lumos_queue.submission.agent_settings import AgentSettings, read_settings, split_settings
from lumos_queue.submission.agents import (
    answer_by,
    check_at_limit,
    check_reader,
    make_agent,
    parse_pairs,
    resolve_roles,
    setting_roles,
)
from lumos_queue.submission.budgets import check_prices
from lumos_queue.submission.call_settings import check_calls
from lumos_queue.submission.inference_options import InferenceOptions
from lumos_queue.submission.judge_options import check_judge, check_votes, judge_sampling
from lumos_queue.submission.program_rows import GivenRows
from lumos_queue.submission.request_options import check_stops, check_texts, read_fields
from lumos_queue.submission.requested_rows import is_stated, read_requested_rows
from lumos_queue.submission.role_samplings import ChosenSampling, check_fields, sample_roles
from lumos_queue.submission.runs import is_run, resolve_run
from lumos_queue.submission.search_settings import check_search
from lumos_queue.submission.store import Rows
from lumos_queue.util.plugins import TRUSTED

SETS = 3  #: default number of sample sets, as in the paper


@dataclass(frozen=True, slots=True)
class CheckedOptions:
    """The objects and values that a check of the options resolved, before any row is read."""

    benchmark: Benchmark
    formulation: Formulation
    tools: Mapping[str, str]  #: options of the domain's actions, prepared
    settings: AgentSettings
    sets: int
    sampling: ChosenSampling


def make_inference_job(
    kind: str,
    options: InferenceOptions,
    settings: Settings,
    remark: Callable[[str], None],
    program_rows: GivenRows | None = None,
) -> tuple[Job, Rows]:
    """Return the job of kind 'infer' or 'evaluate', and its rows. Without a broker, request endpoints' identities here.

    `program_rows` are rows in place of a file. `remark` gets each warning of the tools and each note of the benchmark,
    one line each, for the person who submits.
    """
    options = resolve_defaults(options)
    trust_named(options)
    checked_options = check_options(kind, options, remark)
    benchmark = checked_options.benchmark
    sample = partial(sample_sets, size=options.draw, sets=checked_options.sets) if options.draw else None
    reader_options = parse_pairs("--option", options.options)
    rows = read_requested_rows(
        benchmark,
        options.data,
        options.split,
        options.skip_bad_rows,
        reader_options,
        sample,
        settings,
        remark,
        program_rows,
    )
    if kind == "evaluate" and benchmark.unjudged:
        raise SpecError(benchmark.unjudged)
    for note in benchmark.notes:
        remark(note)
    options = replace(options, published=is_stated(options.published, rows, options.data))
    return make_job_on(kind, options, checked_options, rows.digest, settings, remark), rows


def resolve_defaults(options: InferenceOptions) -> InferenceOptions:
    """Return the options with default split and formulation: `cot` if only a solver is named, else `iterative`.

    The default split is `test`; the default of a person's own file is a split that is not a test split.
    """
    lone_solver = options.solver and not (options.planner or options.grounder or options.agent)
    return replace(
        options,
        split=options.split or (OWN if options.definition else "test"),
        formulation=options.formulation or (LONE_SOLVER if lone_solver else USUAL),
    )


def trust_named(options: InferenceOptions) -> None:
    """Allow this process to import the dotted names in these options, until it ends."""
    urls = [options.planner, options.grounder, options.solver, *parse_pairs("--role", options.roles).values()]
    urls += [pair.partition("=model:")[2] for pair in options.settings]
    ranker = split_ranker(parse_pairs("--tool", options.tools).get("ranker", ""))[0]
    benchmark = "" if options.definition else options.benchmark
    TRUSTED.add_named(benchmark, options.formulation, *urls, ranker)


def check_options(kind: str, options: InferenceOptions, remark: Callable[[str], None]) -> CheckedOptions:
    """Check the options and return what they name. Raises SpecError for invalid options. No endpoint is called."""
    benchmark = open_benchmark(options.benchmark, options.definition)
    formulation = FORMULATIONS.load(options.formulation)
    get_framing(options.framing)
    if options.split not in benchmark.splits:
        raise unknown("split", options.split, benchmark.splits)
    if not (math.isfinite(options.temperature) and math.isfinite(options.top_p)):
        raise SpecError("--temperature and --top-p must be finite numbers.")
    check_prices(options.budget, options.price_prompt, options.price_completion)
    _check(kind, options, benchmark)
    check_texts(formulation, options.system, options.prompt, options.shots)
    sampling = ChosenSampling(
        {name: getattr(options, name) for name in options.overrides},
        check_stops(options.stop),
        read_fields(options.requests),
        parse_pairs("--sampling", options.samplings),
        judge_sampling(judge) if (judge := _judge_of(options)) else None,
    )
    chosen_settings = read_settings(formulation, *split_settings(formulation, options.settings))
    tool_options = parse_pairs("--tool", options.tools)
    tools = DOMAINS.load(benchmark.domain).prepare_tools(tool_options) if formulation.executes else {}
    if options.definition and options.definition.fields.images and formulation.instructed:
        remark(
            f"the formulation '{formulation.name}' shows no image to the model: give --planner, --grounder and --role "
            "vqa=URL to look at images"
        )
    for warning in (text for name, text in tools.items() if name.endswith("_warning")):
        remark(warning)
    sets = (options.sets or SETS) if options.draw else 1
    return CheckedOptions(benchmark, formulation, tools, chosen_settings, sets, sampling)


def make_job_on(
    kind: str,
    options: InferenceOptions,
    checked_options: CheckedOptions,
    dataset: str,
    settings: Settings,
    remark: Callable[[str], None],
) -> Job:
    """Return the job on the rows with the digest `dataset`. Without a broker, request endpoints' identities here."""
    benchmark, formulation, tools = checked_options.benchmark, checked_options.formulation, checked_options.tools
    if options.agent == STARTER and (note := remark_on_starter(options.formulation)):
        remark(note)
    addresses = resolve_roles(options, benchmark.domain if formulation.executes else "", tools)
    addresses |= setting_roles(formulation, checked_options.settings.settings)
    roles = {role: resolve_run(url, role, settings, remark) if is_run(url) else url for role, url in addresses.items()}
    check_fields(roles, options.formulation, checked_options.sampling)
    check_calls(formulation, checked_options.settings.settings, roles)
    agent = replace(
        make_agent(
            roles,
            benchmark.domain,
            Sampling(options.temperature, options.top_p, options.max_tokens),
            options.max_subgoals,
            options.framing,
            settings,
            remark,
        ),
        tools=tools,
        shots=_shots(options, formulation, benchmark.domain),
        answer_by=answer_by(benchmark, options.answer_by),
        at_limit=options.at_limit,
        reader=options.reader,
        limits=checked_options.settings.limits,
        settings=checked_options.settings.settings,
        system=options.system,
        prompt=options.prompt,
    )
    agent = sample_roles(agent, options.formulation, checked_options.sampling, options.formulation_version)
    check_search(formulation, agent, remark)  # raises SpecError also for a setting's value that is not valid
    _check_demonstrations(agent, formulation)
    check_votes(_judge_of(options), agent)
    infer = Infer(
        options.benchmark,
        dataset,
        options.split,
        options.formulation,
        agent,
        options.limit,
        options.samples,
        options.seed,
        options.live,
        resolve_job(settings, options.replay),
        options.draw,
        checked_options.sets,
        approve_all=options.yes,
        formulation_version=options.formulation_version,
        budget=options.budget,
        prompt_price=options.price_prompt,
        completion_price=options.price_completion,
        definition=options.definition,
        published=options.published,
    )
    return Evaluate(infer) if kind == "evaluate" else infer


def _judge_of(options: InferenceOptions) -> JudgeDefinition | None:
    return options.definition.judge if options.definition else None


def _check_demonstrations(agent: Agent, formulation: Formulation) -> None:
    """Raises SpecError if the formulation shows no demonstrations, or the domain has fewer than `agent.shots`."""
    if agent.shots and not formulation.demonstrated:
        raise SpecError(f"The formulation '{formulation.name}' shows no demonstrations: leave out --shots.")
    formulation.prompt_prefixes(agent)


def _check(kind: str, options: InferenceOptions, benchmark: Benchmark) -> None:
    """Raises SpecError for options that contradict each other, or have no effect here."""
    if options.live and options.replay:
        raise SpecError("Give either --live or --replay JOB, not both.")
    if "knowledge=live" in options.tools and not (options.live or options.replay):
        raise SpecError(
            "--tool knowledge=live calls Wikipedia: allow it with --live, or use recorded answers with --replay JOB."
        )
    if options.draw and options.limit:
        raise SpecError("--limit would cut the sample sets that --draw draws: give only one of them.")
    if options.sets and not options.draw:
        raise SpecError("--sets is the number of sample sets: also give their size with --draw.")
    if options.answer_by and not DOMAINS.load(benchmark.domain).concludes_by_qa:
        raise SpecError(f"--answer-by is for benchmarks with a QA tool, and '{benchmark.name}' has none.")
    check_at_limit(options.at_limit, options.formulation, benchmark)
    check_reader(options.reader, FORMULATIONS.load(options.formulation))
    if not benchmark.asks_judge and any(pair.startswith(f"{JUDGE}=") for pair in options.roles):
        raise SpecError(f"The benchmark '{benchmark.name}' uses no judge: leave out --role {JUDGE}=….")
    if kind == "evaluate":
        check_judge(_judge_of(options), options.roles)
    formulation = FORMULATIONS.load(options.formulation)
    if not benchmark.accepts(formulation):
        candidates = ((name, FORMULATIONS.find(name)) for name in FORMULATIONS.names)
        names = [name for name, candidate in candidates if candidate and benchmark.accepts(candidate)]
        raise unknown(f"formulation for '{benchmark.name}'", options.formulation, names)
    _check_actions(formulation, benchmark)
    if options.yes and not formulation.approved:
        raise SpecError(f"The formulation '{options.formulation}' shows no plan to a person: leave out --yes.")
    if not formulation.executes:
        if options.tools:
            raise SpecError(f"The formulation '{options.formulation}' runs no actions: leave out --tool.")
        if kind == "evaluate" and not benchmark.by_answer:
            raise SpecError(
                f"The benchmark '{benchmark.name}' is judged by the actions done, and the formulation "
                f"'{options.formulation}' runs none. Choose one of: {', '.join(_list_formulations(benchmark))}."
            )


def _check_actions(formulation: Formulation, benchmark: Benchmark) -> None:
    """Raises SpecError if the formulation runs actions of another kind than the benchmark's domain has."""
    domain = DOMAINS.load(benchmark.domain)
    kinds = domain.functions, domain.experts
    if not formulation.executes or (formulation.functions, formulation.experts) == kinds:
        return
    brings = "no functions but has actions, which"
    if domain.functions:
        brings = "functions, which"
    elif domain.experts:
        brings = "inputs for expert models, which"
    raise SpecError(
        f"A task of '{benchmark.name}' brings {brings} the formulation '{formulation.name}' does not call. "
        f"Choose one of: {', '.join(_list_formulations(benchmark))}."
    )


def _list_formulations(benchmark: Benchmark) -> list[str]:
    """Return the names of the formulations that can run the tasks of a benchmark."""
    domain = DOMAINS.load(benchmark.domain)
    kinds = domain.functions, domain.experts
    formulations = map(FORMULATIONS.load, FORMULATIONS)
    return sorted(
        formulation.name
        for formulation in formulations
        if formulation.executes and (formulation.functions, formulation.experts) == kinds
    )


def resolve_job(settings: Settings, job: str) -> str:
    """Return the full id of the job whose recorded calls are replayed. Raises SpecError if there is no such job."""
    if not job:
        return ""
    from db.jobs import get_job
    from lumos_queue.submission.database import database

    with database(settings) as job_database, job_database.engine.connect() as connection:
        return get_job(connection, job).id


def _shots(options: InferenceOptions, formulation: Formulation, domain: str) -> int:
    """Return the number of demonstrations in the prompt: --shots, or the domain's default for the formulation."""
    return formulation.choose_shots(DOMAINS.load(domain).default_shots) if options.shots is None else options.shots
