"""From a command's options to a job. Every unknown name fails here, listing the choices, before anything is stored."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.agent import Agent
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.dialogue import framing_named
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import check_url, open_endpoint
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import roles as roles_of
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.settings import Settings
from lumos_queue.starter import starter_url
from lumos_queue.submission import Rows, read_rows

AGENTS = ("starter",)


@dataclass(frozen=True, slots=True)
class Options:
    """What `lumos evaluate` and `lumos infer` were asked."""

    benchmark: str
    data: Path | None
    split: str
    formulation: str
    agent: str
    planner: str
    grounder: str
    solver: str
    limit: int
    samples: int
    seed: int
    temperature: float
    top_p: float
    max_tokens: int
    max_subgoals: int
    framing: str
    skip_bad_rows: bool


def inference(kind: str, options: Options, settings: Settings) -> tuple[Job, Rows]:
    """The job of kind 'infer' or 'evaluate', and its rows. Embedded, its endpoints are asked who they are first."""
    benchmark = open_benchmark(options.benchmark)
    roles_of(options.formulation)
    framing_named(options.framing)
    if options.split not in benchmark.splits:
        raise unknown("split", options.split, benchmark.splits)
    if not (math.isfinite(options.temperature) and math.isfinite(options.top_p)):
        raise SpecError("--temperature and --top-p must be finite numbers.")
    rows = read_rows(benchmark, options.data, options.split, options.skip_bad_rows)
    sampling = Sampling(options.temperature, options.top_p, options.max_tokens)
    agent = make_agent(_roles(options), benchmark.domain, sampling, options.max_subgoals, options.framing, settings)
    infer = Infer(
        benchmark.name, rows.digest, options.split, options.formulation, agent, options.limit, options.samples,
        options.seed,
    )  # fmt: skip
    return (Evaluate(infer) if kind == "evaluate" else infer), rows


def make_agent(
    roles: Mapping[str, str], domain: str, sampling: Sampling, max_subgoals: int, framing: str, settings: Settings
) -> Agent:
    """The agent whose roles are played at these addresses. Embedded, its endpoints are asked who they are.

    In a deployment, workers ask the servers; weights that lie here are named by content all the same.
    """
    deployed = bool(settings.broker_url)
    checked = {role: address(url, deployed) for role, url in roles.items()}
    here = {url for url in checked.values() if not deployed or _is_model_here(url)}
    identities = asyncio.run(identify(here, settings))
    weights = {role: identities[url]["sha256"] for role, url in checked.items() if "sha256" in identities.get(url, {})}
    return Agent(checked, domain, framing, sampling, max_subgoals, weights)


def address(url: str, deployed: bool) -> str:
    """The address, checked, a path in it made absolute: workers have working folders of their own."""
    scheme, _, path = url.partition(":")
    if scheme not in ("local", "scripted") or not path:
        check_url(url)
        return url
    url = f"{scheme}:{os.path.abspath(os.path.expanduser(path))}"
    if not deployed:  # in a deployment it is the workers that must have it
        check_url(url)
    return url


def _is_model_here(url: str) -> bool:
    if not url.startswith("local:"):
        return False
    try:
        check_url(url)
    except SpecError:
        return False
    return True


def _roles(options: Options) -> dict[str, str]:
    wanted = roles_of(options.formulation)
    given = {name: url for name in ("planner", "grounder", "solver") if (url := getattr(options, name))}
    if options.agent:
        if given:
            raise SpecError("Give either --agent or an endpoint for each role, not both.")
        if options.agent not in AGENTS:
            raise unknown("agent", options.agent, AGENTS)
        return dict.fromkeys(wanted, starter_url(options.formulation))
    if set(given) != set(wanted):
        needed = " and ".join(f"--{name} URL" for name in wanted)
        raise SpecError(f"Who plays {' and '.join(wanted)}? The formulation '{options.formulation}' needs {needed}"
                        f"{', or --agent starter' if 'planner' in wanted else ''}.")  # fmt: skip
    return given


async def identify(urls: set[str], settings: Settings) -> dict[str, dict[str, Any]]:
    """What each endpoint says it is. Raises SpecError or InfrastructureError for the first that does not say it."""
    found = {}
    for url in sorted(urls):
        endpoint = open_endpoint(url, settings)
        try:
            found[url] = await endpoint.identity()
        finally:
            await endpoint.close()
    return found
