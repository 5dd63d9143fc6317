"""Make a job from an inference request. Unknown names are rejected before the job is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from db.kinds.job_kinds import JobKind
from lumos_queue.actions.ranking.registry import split_ranker
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.definition import OWN, FileDefinition, JudgeDefinition
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.defaults import LONE_SOLVER, USUAL
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.models.starter import STARTER, remark_on_starter
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.records import Role
from lumos_queue.scoring.sample_sets import sample_sets
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
from lumos_queue.submission.file_request import resolve_source
from lumos_queue.submission.judge_options import check_judge, check_votes, judge_sampling
from lumos_queue.submission.program_rows import GivenRows
from lumos_queue.submission.request_options import check_stops, check_texts, read_fields, read_system, read_template
from lumos_queue.submission.requested_rows import is_stated, read_requested_rows
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import list_options
from lumos_queue.submission.role_samplings import COMMON, ChosenSampling, check_fields, sample_roles
from lumos_queue.submission.runs import is_run, resolve_run
from lumos_queue.submission.search_settings import check_search
from lumos_queue.submission.store import Rows
from lumos_queue.util.plugins import TRUSTED

SETS = 3  #: default number of sample sets, as in the paper
DEFAULT_SAMPLING = Sampling()


#: Fields of a request that are fields of its job with the same name and value.
SAME_IN_JOB = tuple(
    sorted(
        {option.field for option in list_options(InferenceRequest)}
        & {field.name for field in fields(Infer)} - {"agent", "replay", "sets"}
    )
)


@dataclass(frozen=True, slots=True)
class Basis:
    """The parts of a job that do not come from a request, but from a file, a stored job or a recipe."""

    definition: FileDefinition | None = None  #: of the benchmark, where the rows are a person's own
    sampling: Sampling = DEFAULT_SAMPLING  #: of all roles, where the request has no value
    formulation_version: int = VERSION


NO_BASIS = Basis()


@dataclass(frozen=True, slots=True)
class CheckedInference:
    """A request that was checked before any row is read, with the objects and values that it names."""

    kind: JobKind  #: of the job: one of RUNS
    request: InferenceRequest  #: with its defaults
    basis: Basis
    benchmark: Benchmark
    formulation: Formulation
    tools: Mapping[str, str]  #: options of the domain's actions, prepared
    settings: AgentSettings
    sets: int
    sampling: ChosenSampling

    @property
    def judge(self) -> JudgeDefinition | None:
        return self.basis.definition.judge if self.basis.definition else None


def make_inference_job(
    kind: JobKind,
    request: InferenceRequest,
    deployment: Deployment,
    remark: Callable[[str], None],
    program_rows: GivenRows | None = None,
    basis: Basis = NO_BASIS,
) -> tuple[Job[Any], Rows]:
    """Return the job of kind 'infer' or 'evaluate', and its rows. Without a broker, request endpoints' identities here.

    `program_rows` are rows in place of a file. `remark` gets each warning of the tools and each note of the benchmark,
    one line each, for the person who submits.
    """
    check_request(request)
    source = resolve_source(kind, request, program_rows, remark)
    request = replace(
        read_texts(request),
        benchmark=source.benchmark,
        data=source.data,
        split=source.split,
        roles=(*request.roles, *source.roles),
    )
    request = _resolve_defaults(request, source.definition is not None)
    trust_named(request, "" if source.definition else request.benchmark)
    checked = check_inference(kind, request, replace(basis, definition=source.definition), remark)
    request, benchmark = checked.request, checked.benchmark
    sample = partial(sample_sets, size=request.draw, sets=checked.sets) if request.draw else None
    reader_options = parse_pairs("--option", request.options)
    rows = read_requested_rows(
        benchmark,
        request.data,
        request.split,
        request.skip_bad_rows,
        reader_options,
        sample,
        deployment.settings,
        remark,
        program_rows,
    )
    if kind == JobKind.EVALUATE and benchmark.unjudged:
        raise SpecError(benchmark.unjudged)
    for note in benchmark.notes:
        remark(note)
    request = replace(request, published=is_stated(request.published, rows, request.data))
    return make_job_on(replace(checked, request=request), rows.digest, deployment, remark), rows


def read_texts(request: InferenceRequest) -> InferenceRequest:
    """Return the request with the texts of the files that its system message and its template name."""
    return replace(request, system=read_system(request.system), prompt=read_template(request.prompt))


def _resolve_defaults(request: InferenceRequest, is_own: bool) -> InferenceRequest:
    """Return the request with default split and formulation: `cot` if only a solver is named, else `iterative`.

    The default split is `test`; the default of a person's own file is a split that is not a test split.
    """
    lone_solver = request.solver and not (request.planner or request.grounder or request.agent)
    return replace(
        request,
        split=request.split or (OWN if is_own else "test"),
        formulation=request.formulation or (LONE_SOLVER if lone_solver else USUAL),
    )


def trust_named(request: InferenceRequest, benchmark: str) -> None:
    """Allow this process to import the dotted names in a request and `benchmark`, until it ends."""
    urls = [request.planner, request.grounder, request.solver, *parse_pairs("--role", request.roles).values()]
    urls += [pair.partition("=model:")[2] for pair in request.settings]
    ranker = split_ranker(parse_pairs("--tool", request.tools).get("ranker", ""))[0]
    TRUSTED.add_named(benchmark, request.formulation, *urls, ranker)


def check_inference(
    kind: JobKind, request: InferenceRequest, basis: Basis, remark: Callable[[str], None]
) -> CheckedInference:
    """Return the checked request, whose benchmark, split and formulation are named. No endpoint is called.

    Raises SpecError for a request that cannot be carried out.
    """
    check_request(request)
    definition = basis.definition
    benchmark = open_benchmark(request.benchmark, definition)
    formulation = FORMULATIONS.load(request.formulation)
    judge = definition.judge if definition else None
    get_framing(request.framing)
    if request.split not in benchmark.splits:
        raise unknown("split", request.split, benchmark.splits)
    check_prices(request.budget, request.price_prompt, request.price_completion)
    _check(kind, request, benchmark, judge)
    check_texts(formulation, request.system, request.prompt or "", request.shots)
    sampling = ChosenSampling(
        {name: value for name in COMMON if (value := getattr(request, name)) is not None},
        check_stops(request.stop),
        read_fields(request.request),
        parse_pairs("--sampling", request.samplings),
        judge_sampling(judge) if judge else None,
    )
    chosen_settings = read_settings(formulation, *split_settings(formulation, request.settings))
    tool_options = parse_pairs("--tool", request.tools)
    tools = DOMAINS.load(benchmark.domain).prepare_tools(tool_options) if formulation.executes else {}
    if definition and definition.fields.images and formulation.instructed:
        remark(
            f"the formulation '{formulation.name}' shows no image to the model: give --planner, --grounder and --role "
            "vqa=URL to look at images"
        )
    for warning in (text for name, text in tools.items() if name.endswith("_warning")):
        remark(warning)
    sets = (request.sets or SETS) if request.draw else 1
    return CheckedInference(kind, request, basis, benchmark, formulation, tools, chosen_settings, sets, sampling)


def make_job_on(
    checked: CheckedInference, dataset: str, deployment: Deployment, remark: Callable[[str], None]
) -> Evaluate | Infer:
    """Return the job on the rows with the digest `dataset`. Without a broker, request endpoints' identities here."""
    benchmark, formulation, tools = checked.benchmark, checked.formulation, checked.tools
    request = checked.request
    if request.agent == STARTER and (note := remark_on_starter(request.formulation)):
        remark(note)
    domain = benchmark.domain if formulation.executes else ""
    addresses = resolve_roles(request, domain, tools, is_own=checked.basis.definition is not None)
    addresses |= setting_roles(formulation, checked.settings.settings)
    roles = {
        role: resolve_run(url, role, deployment, remark) if is_run(url) else url for role, url in addresses.items()
    }
    check_fields(roles, request.formulation, checked.sampling)
    check_calls(formulation, checked.settings.settings, roles)
    agent = replace(
        make_agent(
            roles,
            benchmark.domain,
            replace(checked.basis.sampling, **checked.sampling.overrides),
            request.max_subgoals,
            request.framing,
            deployment.settings,
            remark,
        ),
        tools=tools,
        shots=_shots(request, formulation, benchmark.domain),
        answer_by=answer_by(benchmark, request.answer_by),
        at_limit=request.at_limit,
        reader=request.reader,
        limits=checked.settings.limits,
        settings=checked.settings.settings,
        system=request.system,
        prompt=request.prompt or "",
    )
    agent = sample_roles(agent, request.formulation, checked.sampling, checked.basis.formulation_version)
    check_search(formulation, agent, remark)  # raises SpecError also for a setting's value that is not valid
    _check_demonstrations(agent, formulation)
    check_votes(checked.judge, agent)
    infer = Infer(
        dataset=dataset,
        agent=agent,
        replay=resolve_job(deployment, request.replay),
        sets=checked.sets,
        approve_all=request.yes,
        formulation_version=checked.basis.formulation_version,
        prompt_price=request.price_prompt,
        completion_price=request.price_completion,
        definition=checked.basis.definition,
        **{name: getattr(request, name) for name in SAME_IN_JOB},
    )
    return Evaluate(infer) if checked.kind == JobKind.EVALUATE else infer


def _check_demonstrations(agent: Agent, formulation: Formulation) -> None:
    """Raises SpecError if the formulation shows no demonstrations, or the domain has fewer than `agent.shots`."""
    if agent.shots and not formulation.demonstrated:
        raise SpecError(f"The formulation '{formulation.name}' shows no demonstrations: leave out --shots.")
    formulation.prompt_prefixes(agent)


def _check(kind: JobKind, request: InferenceRequest, benchmark: Benchmark, judge: JudgeDefinition | None) -> None:
    """Raises SpecError for options that contradict each other, or have no effect here."""
    if request.live and request.replay:
        raise SpecError("Give either --live or --replay JOB, not both.")
    if "knowledge=live" in request.tools and not (request.live or request.replay):
        raise SpecError(
            "--tool knowledge=live calls Wikipedia: allow it with --live, or use recorded answers with --replay JOB."
        )
    if request.draw and request.limit:
        raise SpecError("--limit would cut the sample sets that --draw draws: give only one of them.")
    if request.sets and not request.draw:
        raise SpecError("--sets is the number of sample sets: also give their size with --draw.")
    if request.answer_by and not DOMAINS.load(benchmark.domain).concludes_by_qa:
        raise SpecError(f"--answer-by is for benchmarks with a QA tool, and '{benchmark.name}' has none.")
    check_at_limit(request.at_limit, request.formulation, benchmark)
    check_reader(request.reader, FORMULATIONS.load(request.formulation))
    if not benchmark.asks_judge and any(pair.startswith(f"{Role.JUDGE}=") for pair in request.roles):
        raise SpecError(f"The benchmark '{benchmark.name}' uses no judge: leave out --role {Role.JUDGE}=….")
    if kind == JobKind.EVALUATE:
        check_judge(judge, request.roles)
    formulation = FORMULATIONS.load(request.formulation)
    if not benchmark.accepts(formulation):
        candidates = ((name, FORMULATIONS.find(name)) for name in FORMULATIONS.names)
        names = [name for name, candidate in candidates if candidate and benchmark.accepts(candidate)]
        raise unknown(f"formulation for '{benchmark.name}'", request.formulation, names)
    _check_actions(formulation, benchmark)
    if request.yes and not formulation.approved:
        raise SpecError(f"The formulation '{request.formulation}' shows no plan to a person: leave out --yes.")
    if not formulation.executes:
        if request.tools:
            raise SpecError(f"The formulation '{request.formulation}' runs no actions: leave out --tool.")
        if kind == JobKind.EVALUATE and not benchmark.by_answer:
            raise SpecError(
                f"The benchmark '{benchmark.name}' is judged by the actions done, and the formulation "
                f"'{request.formulation}' runs none. Choose one of: {', '.join(_list_formulations(benchmark))}."
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


def resolve_job(deployment: Deployment, job: str) -> str:
    """Return the full id of the job whose recorded calls are replayed. Raises SpecError if there is no such job."""
    if not job:
        return ""
    from db.queries.jobs import get_job

    with deployment.database.engine.connect() as connection:
        return get_job(connection, job).id


def _shots(request: InferenceRequest, formulation: Formulation, domain: str) -> int:
    """Return the number of demonstrations in the prompt: --shots, or the domain's default for the formulation."""
    return formulation.choose_shots(DOMAINS.load(domain).default_shots) if request.shots is None else request.shots
