"""Find the stored jobs for a published figure of tool agents: an evaluation, and a judge's job on its runs.

An evaluation fits a method if it has the method's formulation and the settings that distinguish methods. Its other
differences from the published measurement are listed beside the figure: model, judge, limits, settings, tools, and the
origin of answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from db.engine.connection import Connection
from db.kinds.states import JobState
from db.queries.tool_figures import origins
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.formulations.base import Formulation, version_of
from lumos_queue.formulations.descriptions import shows_descriptions_in
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.formulations.sum2act import REFLECTED
from lumos_queue.papers.stored_evaluations import StoredEvaluation, is_tool, on_published_rows
from lumos_queue.papers.tool_results import SUM2ACT, ToolMethod, ToolRow, ToolTable
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS, HIDDEN
from lumos_queue.records import Role

RUNS, VERDICTS = "toolbench", "tooleval"  #: the benchmarks of evaluations and of judges' jobs
REAL_MODES = ("strict", "live")  #: values of the option `answers` without invented answers
JUDGE_TEMPERATURE = 0.2


@dataclass(frozen=True)
class ToolEvaluation:
    """A stored evaluation of a tool agent. `retrieved`: number of tools retrieved for a row; 0: those that it lists."""

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
        """The settings of the formulation as texts by name, including defaults."""
        defaults = {name: setting.default for name, setting in self.formulation.settings.items()}
        settings = defaults | dict(self.agent.settings)
        if DESCRIPTIONS in settings and not shows_descriptions_in(self.stored.infer):  # earlier versions show none
            settings[DESCRIPTIONS] = HIDDEN
        return settings

    @property
    def tools(self) -> dict[str, str]:
        """The settings of tools and observations as texts by name, including defaults."""
        tools = dict(DOMAINS.load(self.agent.domain).default_tools) | self.stored.tools
        if "observation" in self.settings:
            tools["state manager's observation"] = self.settings["observation"]
        return tools | ({"tools": f"retrieved:{self.retrieved}"} if self.retrieved else {})

    def fits(self, method: ToolMethod, subset: str) -> bool:
        if self.job.formulation != method.formulation or self.job.split != subset:
            return False
        return all(self.settings.get(name) == value for name, value in method.settings.items())

    def other_models(self, table: ToolTable) -> list[str]:
        """Return a text for each role whose model is not the published model."""
        models = {role: self.stored.models.get(role, "") for role in self.formulation.roles}
        return [
            f"{role} is {model or 'unknown'}, not {table.models[0]}"
            for role, model in models.items()
            if not any(is_tool(model, name) for name in table.models)
        ]

    def departures(self, method: ToolMethod) -> list[str]:
        """Return a text for each setting in which the evaluation differs from the published method."""
        lines = _differences(asdict(self.agent.limits), asdict(self.formulation.limits))
        defaults = {
            name: setting.default for name, setting in self.formulation.settings.items() if name not in method.settings
        }
        lines += _differences(self.settings, defaults | dict(method.published))
        for role, sampling in self.formulation.samplings.items():
            max_tokens = (self.agent.samplings.get(role) or self.agent.sampling).max_tokens
            if max_tokens != sampling.max_tokens:
                lines.append(f"{role}.max_tokens is {max_tokens}, not {sampling.max_tokens}")
        tools = self.agent.tools
        observation = dict(DOMAINS.load(self.agent.domain).default_tools)["observation"]
        if tools.get("observation", observation) != observation:
            lines.append(f"observation is {tools['observation']}, not {observation}")
        if tools.get("answers") == "nearest":
            lines.append("answers is nearest, not strict")
        if (samples := self.stored.infer.get("samples", 1)) != 1:
            lines.append(f"samples is {samples}, not 1")
        lines += [f"tools is retrieved:{self.retrieved}, not oracle"] if self.retrieved else []
        version = version_of(self.stored.infer)
        if self.job.formulation == SUM2ACT.formulation and version < REFLECTED:  # without questions about refused calls
            lines.append(f"formulation_version is {version}, not {REFLECTED} or more")
        return lines

    def other_size(self, table: ToolTable) -> bool:
        """Whether the number of queries differs from the published number; False if the latter is unknown."""
        published_size = table.queries.get(self.job.split)
        return published_size is not None and self.stored.size != f"{published_size:,}"

    def rank(self, table: ToolTable, method: ToolMethod) -> tuple[bool, bool, bool, bool, int]:
        """Return a rank by which evaluations are compared: the smallest is closest to the published measurement."""
        is_made_up = self.agent.tools.get("answers", REAL_MODES[0]) not in REAL_MODES
        departures = len(self.departures(method))
        is_unfinished = self.job.state != JobState.DONE
        return bool(self.other_models(table)), is_unfinished, self.other_size(table), is_made_up, departures


def _differences(settings: Mapping[str, Any], expectation: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} is {settings[name]}, not {value}" for name, value in expectation.items() if settings[name] != value
    ]


@dataclass(frozen=True, slots=True)
class JudgedEvaluation:
    """A judge's job, the evaluation whose runs it judges, and the evaluation with which it compares these runs."""

    judge: StoredEvaluation
    evaluation: ToolEvaluation
    against: ToolEvaluation | None

    def other_judge(self, table: ToolTable) -> list[str]:
        model = self.judge.models.get(Role.JUDGE, "")
        return [] if is_tool(model, table.judge) else [f"judge is {model or 'unknown'}, not {table.judge}"]

    def departures(self, table: ToolTable) -> list[str]:
        """Return a text for each setting of the judge that differs from the published setting."""
        agent = Agent.from_json(self.judge.infer["agent"])
        votes = FORMULATIONS.load(VERDICTS).read_settings(agent)["votes"]
        temperature = (agent.samplings.get(Role.JUDGE) or agent.sampling).temperature
        lines = [f"votes is {votes}, not {table.votes} or more"] if votes < table.votes else []
        if temperature != JUDGE_TEMPERATURE:
            lines.append(f"judge.temperature is {temperature:g}, not {JUDGE_TEMPERATURE:g}")
        return lines

    def rank(self, table: ToolTable, row: ToolRow) -> tuple[Any, ...]:
        parts = [self.evaluation.rank(table, row.method)]
        if row.against is not None and self.against is not None:
            parts.append(self.against.rank(table, row.against))
        is_unfinished = self.judge.job.state != JobState.DONE
        return _join(parts), is_unfinished, bool(self.other_judge(table)), len(self.departures(table))


def _join(ranks: list[tuple[bool, bool, bool, bool, int]]) -> tuple[int, ...]:
    return tuple(sum(parts) for parts in zip(*ranks, strict=True))


@dataclass(frozen=True, slots=True)
class ToolJobs:
    """The stored evaluations of tool agents on the published rows, and the judges' jobs on them, newest first."""

    evaluations: tuple[ToolEvaluation, ...] = ()
    judged: tuple[JudgedEvaluation, ...] = ()

    @classmethod
    def of(cls, connection: Connection | None, evaluations: Iterable[StoredEvaluation]) -> ToolJobs:
        if connection is None:
            return cls()
        origins_by_job, evaluations = origins(connection, (RUNS, VERDICTS)), list(evaluations)
        published_runs = [
            evaluation
            for evaluation in _of(on_published_rows(evaluations), RUNS)
            if evaluation.job.id in origins_by_job
        ]
        runs = [
            ToolEvaluation(evaluation, origins_by_job[evaluation.job.id].retrieved) for evaluation in published_runs
        ]
        by_job = {run.job.id: run for run in runs}
        judged_evaluations = [
            JudgedEvaluation(evaluation, by_job[origin.judged], by_job.get(origin.against))
            for evaluation in _of(evaluations, VERDICTS)
            if (origin := origins_by_job.get(evaluation.job.id)) is not None and origin.judged in by_job
        ]
        return cls(tuple(runs), tuple(judged_evaluations))

    def find_evaluation(self, table: ToolTable, method: ToolMethod, subset: str) -> ToolEvaluation | None:
        """Return the evaluation that is closest to the published measurement; of equal ones, the newest."""
        candidates = [evaluation for evaluation in self.evaluations if evaluation.fits(method, subset)]
        return min(candidates, key=lambda evaluation: evaluation.rank(table, method), default=None)

    def find_pair(
        self, table: ToolTable, method: ToolMethod, against: ToolMethod, subset: str
    ) -> tuple[ToolEvaluation, ToolEvaluation] | None:
        """Return the closest pair of evaluations that a judge can compare: with equal rows and numbers of samples."""
        pairs = [
            (first, second)
            for first in self.evaluations
            if first.fits(method, subset)
            for second in self.evaluations
            if second.fits(against, subset) and _is_comparable(first, second)
        ]
        return min(
            pairs, key=lambda pair: _join([pair[0].rank(table, method), pair[1].rank(table, against)]), default=None
        )

    def find_judged(self, table: ToolTable, row: ToolRow, subset: str) -> JudgedEvaluation | None:
        candidates = [evaluation for evaluation in self.judged if evaluation.evaluation.fits(row.method, subset)]
        if (against := row.against) is not None:
            candidates = [
                evaluation
                for evaluation in candidates
                if evaluation.against is not None and evaluation.against.fits(against, subset)
            ]
        return min(candidates, key=lambda evaluation: evaluation.rank(table, row), default=None)


def _of(evaluations: Iterable[StoredEvaluation], benchmark: str) -> list[StoredEvaluation]:
    return [evaluation for evaluation in evaluations if evaluation.job.benchmark == benchmark]


def _is_comparable(first: ToolEvaluation, second: ToolEvaluation) -> bool:
    names = ("samples", "limit")
    return first.job.dataset == second.job.dataset and all(
        first.stored.infer.get(name) == second.stored.infer.get(name) for name in names
    )
