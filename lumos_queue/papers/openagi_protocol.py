"""The settings of the paper's evaluations of planners (OpenAGI), and how those of a stored job differ from them.

Planners with a prompt write free text, from which a parser takes the nearest name of each step. Fine-tuned and RLTF
planners are decoded under the constraint of types, with beams.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.experts.released_feasibility import RELEASED
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.openagi_results import TUNED, PlannerRow
from lumos_queue.papers.stored_evaluations import StoredEvaluation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.model_synthesis import FINE_TUNING
from lumos_queue.records import Role

BENCHMARK, FORMULATION = "openagi", "model-synthesis"
SAMPLES = 100  #: of a task
BEAMS = 30  #: of the released code's constrained decoding
FREE, CONSTRAINED = "free", "constrained"
FEASIBILITY = "feasibility"
ENCODER_PARSER, MODEL_PARSER = "encoder:FOLDER@-1", "model:URL"  #: of the released code, and of the paper's section 5.3
PAPER_EXPERTS = "hf"  #: the option with which the paper's checkpoints run
CHAT_OPTIONS = ("experts-prompts", "experts-images")  #: of chat models, whose addresses are remarks
#: Schema of a row to values of the setting `schema`: the paper's prompt first, then others that are compared with it.
SCHEMAS: Mapping[str, tuple[str, ...]] = {
    "zero-shot": ("zero-shot-paper", "zero-shot-released", "zero-shot"),
    "few-shot": ("few-shot",),
    "prompt-1": ("prompt-1-paper", "prompt-1"),
    "prompt-2": ("prompt-2-paper", "prompt-2"),
    **dict.fromkeys(TUNED, (FINE_TUNING,)),
}


def settings_of(evaluation: StoredEvaluation) -> dict[str, str]:
    """Return the settings of the formulation as texts by name, including defaults."""
    defaults = {name: setting.default for name, setting in FORMULATIONS.load(FORMULATION).settings.items()}
    return defaults | dict(evaluation.infer["agent"].get("settings", {}))


def paper_settings(row: PlannerRow) -> dict[str, str]:
    """Return the settings of the evaluation that reproduces a row, by name."""
    settings = {"schema": SCHEMAS[row.schema][0], "decoding": FREE}
    if row.schema in TUNED:
        settings |= {"decoding": CONSTRAINED, "goal": FREE, "candidates": str(BEAMS)}
    else:
        settings |= {"parser": ENCODER_PARSER, "duplicates": "dedupe_first"}
    return settings | {FEASIBILITY: RELEASED}


def list_departures(row: PlannerRow, evaluation: StoredEvaluation) -> list[str]:
    """Return a text for each setting in which an evaluation differs from the paper's evaluation of a row."""
    settings, expectation = settings_of(evaluation), paper_settings(row)
    departures = [
        f"{name} is {settings[name]}, not {expectation[name]}"
        for name in ("schema", "decoding", FEASIBILITY)
        if settings[name] != expectation[name]
    ]
    if row.schema not in TUNED:
        return departures + (_parser_departures(settings) if settings["decoding"] == FREE else [])
    if settings["decoding"] == CONSTRAINED:
        departures += [] if settings["goal"] == FREE else [f"goal is {settings['goal']}, not {FREE}"]
        departures += _search_departures(settings, evaluation.infer["agent"])
    return departures


def _parser_departures(settings: Mapping[str, str]) -> list[str]:
    """Return texts on the parser. The paper's model gets the whole reply, and the released code takes a name once."""
    parser, duplicates = settings["parser"], settings["duplicates"]
    if parser.startswith("model:"):
        return []
    is_released = parser.startswith("encoder:") and parser.endswith("@-1")
    departures = [] if is_released else [f"parser is {parser}, not {ENCODER_PARSER} or {MODEL_PARSER}"]
    return departures + ([] if duplicates == "dedupe_first" else [f"duplicates is {duplicates}, not dedupe_first"])


def _search_departures(settings: Mapping[str, str], agent: Mapping[str, Any]) -> list[str]:
    stored_agent = Agent.from_json(agent)
    sampling = stored_agent.samplings.get(Role.PLANNER) or stored_agent.sampling
    beams = sampling.beams or int(settings["candidates"])
    departures = [] if beams == BEAMS else [f"{Role.PLANNER}.beams is {beams}, not {BEAMS}"]
    for name, value in (("temperature", sampling.temperature), ("epsilon", sampling.epsilon)):
        departures += [f"{Role.PLANNER}.{name} is {value:g}, not 0"] if value else []
    return departures


def list_other_experts(evaluation: StoredEvaluation) -> list[str]:
    """Return the options of experts that are not the paper's checkpoints, as texts."""
    tools = evaluation.infer["agent"].get("tools", {})
    return [
        str(value) if name == "experts" else f"{name} {value}"
        for name, value in tools.items()
        if value != PAPER_EXPERTS and not name.endswith("_sha256") and name not in CHAT_OPTIONS
    ]
