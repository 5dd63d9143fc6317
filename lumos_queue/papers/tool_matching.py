"""Which stored jobs are shown for a published figure of tool agents: an evaluation, and a judge's job on its runs.

An evaluation fits a method by formulation and by the settings that tell methods apart. What else departs from the
published measurement is said beside the figure: the model, the judge, limits, settings, tools, where answers came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from db.states import JobState
from db.tool_figures import origins
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.stored_evaluations import StoredEvaluation, is_tool, on_published_rows
from lumos_queue.papers.tool_results import ToolMethod, ToolRow, ToolTable
from lumos_queue.prompts.agent import Agent

RUNS, VERDICTS = "toolbench", "tooleval"  #: the benchmarks of evaluations and of judges' jobs
REAL_MODES = ("strict", "live")  #: of the option `answers`, those that make nothing up
JUDGE_TEMPERATURE = 0.2


@dataclass(frozen=True)
class ToolEvaluation:
    """A stored evaluation of a tool agent. `retrieved`: tools that were found for each row; 0: those it lists."""

    stored: StoredEvaluation
    retrieved: int

    @property
    def job(self) -> Any:
        return self.stored.job

    @cached_property
    def agent(self) -> Agent:
        return Agent.from_json(self.stored.infer["agent"])

    @property
    def formulation(self) -> Formulation:
        return FORMULATIONS.load(self.job.formulation)

    @cached_property
    def settings(self) -> dict[str, str]:
        """The formulation's own, as written, defaults included."""
        defaults = {name: one.default for name, one in self.formulation.settings.items()}
        return defaults | dict(self.agent.settings)

    @property
    def tools(self) -> dict[str, str]:
        """How tools answered and what was shown of it, defaults included."""
        found = dict(DOMAINS.load(self.agent.domain).default_tools) | self.stored.tools
        if "observation" in self.settings:
            found["state manager's observation"] = self.settings["observation"]
        return found | ({"tools": f"retrieved:{self.retrieved}"} if self.retrieved else {})

    def fits(self, method: ToolMethod, subset: str) -> bool:
        if self.job.formulation != method.formulation or self.job.split != subset:
            return False
        return all(self.settings.get(name) == value for name, value in method.settings.items())

    def other_models(self, table: ToolTable) -> list[str]:
        """The roles whose model is not the published one, as text."""
        models = {role: self.stored.models.get(role, "") for role in self.formulation.roles}
        return [
            f"{role} is {model or 'unknown'}, not {table.models[0]}"
            for role, model in models.items()
            if not any(is_tool(model, name) for name in table.models)
        ]

    def departures(self, method: ToolMethod) -> list[str]:
        """The settings in which it departs from the method as it was published, as text."""
        found = _differences(asdict(self.agent.limits), asdict(self.formulation.limits))
        defaults = {name: one.default for name, one in self.formulation.settings.items() if name not in method.settings}
        found += _differences(self.settings, defaults)
        for role, sampling in self.formulation.samplings.items():
            most = (self.agent.samplings.get(role) or self.agent.sampling).max_tokens
            if most != sampling.max_tokens:
                found.append(f"{role}.max_tokens is {most}, not {sampling.max_tokens}")
        tools = self.agent.tools
        shown = dict(DOMAINS.load(self.agent.domain).default_tools)["observation"]
        if tools.get("observation", shown) != shown:
            found.append(f"observation is {tools['observation']}, not {shown}")
        if tools.get("answers") == "nearest":
            found.append("answers is nearest, not strict")
        if (samples := self.stored.infer.get("samples", 1)) != 1:
            found.append(f"samples is {samples}, not 1")
        return found + ([f"tools is retrieved:{self.retrieved}, not oracle"] if self.retrieved else [])

    def other_size(self, table: ToolTable) -> bool:
        """Whether other than the published number of queries was taken, where that is known."""
        published = table.queries.get(self.job.split)
        return published is not None and self.stored.size != f"{published:,}"

    def rank(self, table: ToolTable, method: ToolMethod) -> tuple[bool, bool, bool, bool, int]:
        """The smaller the closer to what was published."""
        is_made_up = self.agent.tools.get("answers", REAL_MODES[0]) not in REAL_MODES
        departures = len(self.departures(method))
        unfinished = self.job.state != JobState.DONE
        return bool(self.other_models(table)), unfinished, self.other_size(table), is_made_up, departures


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    return [f"{name} is {found[name]}, not {value}" for name, value in expected.items() if found[name] != value]


@dataclass(frozen=True, slots=True)
class JudgedEvaluation:
    """A judge's job, the evaluation whose runs it judges, and the one that these are compared with."""

    judge: StoredEvaluation
    own: ToolEvaluation
    against: ToolEvaluation | None

    def other_judge(self, table: ToolTable) -> list[str]:
        model = self.judge.models.get(JUDGE, "")
        return [] if is_tool(model, table.judge) else [f"judge is {model or 'unknown'}, not {table.judge}"]

    def departures(self, table: ToolTable) -> list[str]:
        """The judge's settings that differ from the published, as text."""
        agent = Agent.from_json(self.judge.infer["agent"])
        votes = FORMULATIONS.load(VERDICTS).read_settings(agent)["votes"]
        temperature = (agent.samplings.get(JUDGE) or agent.sampling).temperature
        found = [f"votes is {votes}, not {table.votes} or more"] if votes < table.votes else []
        if temperature != JUDGE_TEMPERATURE:
            found.append(f"judge.temperature is {temperature:g}, not {JUDGE_TEMPERATURE:g}")
        return found

    def rank(self, table: ToolTable, row: ToolRow) -> tuple[Any, ...]:
        parts = [self.own.rank(table, row.method)]
        if row.against is not None and self.against is not None:
            parts.append(self.against.rank(table, row.against))
        unfinished = self.judge.job.state != JobState.DONE
        return _join(parts), unfinished, bool(self.other_judge(table)), len(self.departures(table))


def _join(ranks: list[tuple[bool, bool, bool, bool, int]]) -> tuple[int, ...]:
    return tuple(sum(places) for places in zip(*ranks, strict=True))


@dataclass(frozen=True, slots=True)
class ToolJobs:
    """The stored evaluations of tool agents on the published rows and the judges' jobs on them, the newest first."""

    evaluations: tuple[ToolEvaluation, ...] = ()
    judged: tuple[JudgedEvaluation, ...] = ()

    @classmethod
    def of(cls, connection: Connection | None, found: Iterable[StoredEvaluation]) -> ToolJobs:
        if connection is None:
            return cls()
        told, found = origins(connection, (RUNS, VERDICTS)), list(found)
        published = [one for one in _of(on_published_rows(found), RUNS) if one.job.id in told]
        runs = [ToolEvaluation(one, told[one.job.id].retrieved) for one in published]
        by_job = {one.job.id: one for one in runs}
        judged = [
            JudgedEvaluation(one, by_job[origin.judged], by_job.get(origin.against))
            for one in _of(found, VERDICTS)
            if (origin := told.get(one.job.id)) is not None and origin.judged in by_job
        ]
        return cls(tuple(runs), tuple(judged))

    def find_evaluation(self, table: ToolTable, method: ToolMethod, subset: str) -> ToolEvaluation | None:
        """The evaluation that is closest to what was published, the newest of several."""
        fitting = [one for one in self.evaluations if one.fits(method, subset)]
        return min(fitting, key=lambda one: one.rank(table, method), default=None)

    def find_pair(
        self, table: ToolTable, method: ToolMethod, against: ToolMethod, subset: str
    ) -> tuple[ToolEvaluation, ToolEvaluation] | None:
        """The closest evaluations that a judge can compare: of the same rows, as many times."""
        pairs = [
            (own, other)
            for own in self.evaluations
            if own.fits(method, subset)
            for other in self.evaluations
            if other.fits(against, subset) and _is_comparable(own, other)
        ]
        return min(
            pairs, key=lambda pair: _join([pair[0].rank(table, method), pair[1].rank(table, against)]), default=None
        )

    def find_judged(self, table: ToolTable, row: ToolRow, subset: str) -> JudgedEvaluation | None:
        fitting = [one for one in self.judged if one.own.fits(row.method, subset)]
        if (against := row.against) is not None:
            fitting = [one for one in fitting if one.against is not None and one.against.fits(against, subset)]
        return min(fitting, key=lambda one: one.rank(table, row), default=None)


def _of(found: Iterable[StoredEvaluation], benchmark: str) -> list[StoredEvaluation]:
    return [one for one in found if one.job.benchmark == benchmark]


def _is_comparable(own: ToolEvaluation, other: ToolEvaluation) -> bool:
    names = ("samples", "limit")
    return own.job.dataset == other.job.dataset and all(
        own.stored.infer.get(name) == other.stored.infer.get(name) for name in names
    )
