"""The settings of the papers' evaluations, and how the settings of a stored job differ from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.model import PaperColumn
from lumos_queue.prompts.answer_reading import find_stored_reader
from lumos_queue.reports.agent_requests import describe_requests
from lumos_queue.scoring.answer_readers import AnswerReader
from lumos_queue.scoring.limit import AtLimit

SAMPLES = 1
TEMPERATURE, TOP_P, MAX_TOKENS = 0.0, 1.0, 512  #: greedy
SAMPLING = Sampling(TEMPERATURE, TOP_P, MAX_TOKENS)
FRAMING = "train"
#: Version 1 of `one-pass` called the QA tool once more than the original; later versions do not.
FIRST_ONE_PASS = 2


def paper_settings(column: PaperColumn, formulation: str, version: int = FIRST_ONE_PASS) -> dict[str, Any]:
    """Return the settings, with their values, of the evaluation that reproduces a column's figures.

    `version`: the version of the formulation.
    """
    from lumos_queue.submission.agents import answer_by

    benchmark, definition = open_benchmark(column.benchmark), FORMULATIONS.load(formulation)
    settings = {
        "samples": SAMPLES,
        "temperature": TEMPERATURE,
        "top_p": TOP_P,
        "max_tokens": MAX_TOKENS,
        "framing": FRAMING,
        "shots": definition.choose_shots(DOMAINS.load(benchmark.domain).default_shots),
        "answer_by": answer_by(benchmark),
    }
    if definition.limited:
        settings |= {"max_subgoals": column.max_subgoals, "at_limit": DOMAINS.load(benchmark.domain).at_limit}
    if definition.phrase:
        settings["reader"] = AnswerReader.PHRASE.value
    if formulation == "one-pass" and settings["answer_by"] != "last":
        settings["formulation_version"] = max(version, FIRST_ONE_PASS)
    return settings


def departures(column: PaperColumn, formulation: str, infer: Mapping[str, Any]) -> list[str]:
    """Return a text for each setting in which a job differs from the papers. `infer` is its `spec["infer"]`."""
    agent = infer["agent"]
    settings = {"at_limit": AtLimit.WRONG, "formulation_version": 1, **agent.get("sampling", {}), **agent, **infer}
    settings["reader"] = find_stored_reader(infer)
    changes = [
        f"{name} is {_format_setting(settings[name])}, not {_format_setting(value)}"
        for name, value in paper_settings(column, formulation, settings["formulation_version"]).items()
        if name in settings and settings[name] != value
    ]
    changes += _tool_departures(column, formulation, agent.get("tools", {}))
    requests = describe_requests(agent, formulation).items()
    return changes + [f"{name} is {value}, not as by default" for name, value in requests if _is_chosen(name)]


def _tool_departures(column: PaperColumn, formulation: str, tools: Mapping[str, str]) -> list[str]:
    """Return a text for each setting of the actions that differs from the papers; [] if no action runs."""
    if not FORMULATIONS.load(formulation).executes:
        return []
    tools = dict(DOMAINS.load(open_benchmark(column.benchmark).domain).default_tools) | dict(tools)
    return [
        f"{name} is {tools.get(name)}, not {value}"
        for name, value in column.tool_options.items()
        if tools.get(name) != value
    ]


def _is_chosen(name: str) -> bool:
    """Whether a person must have set this field of requests. Stop strings may also follow from an address."""
    return not name.startswith("stop")


def _format_setting(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
