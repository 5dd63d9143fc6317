"""From a command's options to a job. Every unknown name fails here, listing the choices, before anything is stored."""

from __future__ import annotations

import asyncio
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.agent import Agent
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.dialogue import framing_named
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import check_url, open_endpoint
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import formulation as formulation_named
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.convert import Convert
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
    formulation_named(options.formulation)
    framing_named(options.framing)
    if options.split not in benchmark.splits:
        raise unknown("split", options.split, benchmark.splits)
    if not (math.isfinite(options.temperature) and math.isfinite(options.top_p)):
        raise SpecError("--temperature and --top-p must be finite numbers.")
    deployed = bool(settings.broker_url)
    roles = {role: _address(url, deployed) for role, url in _roles(options).items()}
    rows = read_rows(benchmark, options.data, options.split, options.skip_bad_rows)
    # In a deployment, workers ask the servers who they are; weights that lie here are named by content all the same.
    here = {url for url in roles.values() if not deployed or _is_model_here(url)}
    identities = asyncio.run(identify(here, settings))
    agent = Agent(
        roles=roles,
        domain=benchmark.domain,
        framing=options.framing,
        sampling=Sampling(options.temperature, options.top_p, options.max_tokens),
        max_subgoals=options.max_subgoals,
        weights={role: identities[url]["sha256"] for role, url in roles.items() if "sha256" in identities.get(url, {})},
    )
    infer = Infer(
        benchmark.name, rows.digest, options.split, options.formulation, agent, options.limit, options.samples,
        options.seed,
    )  # fmt: skip
    return (Evaluate(infer) if kind == "evaluate" else infer), rows


def conversion(name: str, data: Path | None, split: str, limit: int, skip_bad_rows: bool) -> tuple[Job, Rows]:
    """A deterministic conversion and its rows."""
    benchmark = open_benchmark(name)
    if split not in benchmark.splits:
        raise unknown("split", split, benchmark.splits)
    rows = read_rows(benchmark, data, split, skip_bad_rows)
    return Convert(benchmark.name, rows.digest, split, limit), rows


def _address(url: str, deployed: bool) -> str:
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
    if options.agent:
        if options.planner or options.grounder:
            raise SpecError("Give either --agent or --planner and --grounder, not both.")
        if options.agent not in AGENTS:
            raise unknown("agent", options.agent, AGENTS)
        url = starter_url(options.formulation)
        return {"planner": url, "grounder": url}
    if not (options.planner and options.grounder):
        raise SpecError("Who plans and who grounds? Give --planner URL and --grounder URL, or --agent starter.")
    return {"planner": options.planner, "grounder": options.grounder}


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
