"""The values of a job's report. A part that only some jobs have is None for other jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lumos_queue.records import Ending
from lumos_queue.reports.completeness import Completeness
from lumos_queue.reports.json_values import MERGED, OPTIONAL

if TYPE_CHECKING:
    from db.queries.reply_endings import ReplyEndings
    from lumos_queue.reports.adopted_figures import AdoptedFigures
    from lumos_queue.reports.calls_check import CallsCheck
    from lumos_queue.reports.conversion import ConversionFigures
    from lumos_queue.reports.cost import ModelCost
    from lumos_queue.reports.episode_figures import EpisodeFigures
    from lumos_queue.reports.expert_backends import ExpertBackend
    from lumos_queue.reports.expert_runs import ExpertRuns, PlanSteps
    from lumos_queue.reports.failures import FailureClass
    from lumos_queue.reports.human_feedback import PlanAnswers, Ratings
    from lumos_queue.reports.judge import JudgeFigures
    from lumos_queue.reports.plan_feasibility import PlanFeasibility
    from lumos_queue.reports.provenance import ClassScores, ToolCalls
    from lumos_queue.reports.row_facts import RowFacts
    from lumos_queue.reports.samples import SampleFigures
    from lumos_queue.reports.score_values import (
        FieldGroupScores,
        GroupScores,
        JobScores,
        Mean,
        Metric,
        Overall,
    )
    from lumos_queue.reports.scorers import AddedScore, Scorers
    from lumos_queue.reports.state_manager import RouterCounts, VerdictFigures
    from lumos_queue.reports.task_choice import TaskChoice
    from lumos_queue.reports.tool_rules import RuleFigures
    from lumos_queue.reports.training import TrainingFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """The report of a job. The denominator of rates is the number of all items."""

    job: str  #: its id
    kind: str
    state: str
    waiting: str  #: why it waits; '' if it does not
    benchmark: str
    split: str
    formulation: str
    n: int  #: items
    finished: int  #: items that are done
    items: Mapping[str, int]  #: by state
    seconds: float | None  #: wall time; None before it began
    code_version: str  #: with which it was submitted
    plugins: Sequence[Mapping[str, Any]]  #: as stored
    seed: int
    row_origin: RowFacts | None = field(default=None, metadata=OPTIONAL)
    completeness: Completeness = field(metadata=MERGED)  #: without regard to a judge's grades
    parent: str | None = field(default=None, metadata=OPTIONAL)  #: the job that it was made from
    chosen: TaskChoice | None = field(default=None, metadata=OPTIONAL)
    training: TrainingFigures | None = field(default=None, metadata=MERGED)  #: of a training
    # What follows is about episodes. Some of it is only about runs of an agent:
    formulation_version: int | None = field(default=None, metadata=OPTIONAL)
    requests: Mapping[str, str] | None = field(default=None, metadata=OPTIONAL)  #: settings of requests, by name
    reader: str | None = field(default=None, metadata=OPTIONAL)  #: the answer reader
    descriptions: str | None = field(default=None, metadata=OPTIONAL)  #: whether a tool agent is shown descriptions
    reply_endings: Mapping[str, ReplyEndings] | None = field(default=None, metadata=OPTIONAL)  #: by role
    cost: ModelCost | None = field(default=None, metadata=OPTIONAL)
    episodes: EpisodeFigures | None = field(default=None, metadata=MERGED)  #: None for a training
    adopted: AdoptedFigures | None = field(default=None, metadata=OPTIONAL)
    failures: Sequence[FailureClass] | None = field(default=None, metadata=OPTIONAL)  #: the most frequent first
    expert_runs: ExpertRuns | None = field(default=None, metadata=OPTIONAL)
    plan_steps: PlanSteps | None = field(default=None, metadata=OPTIONAL)
    plan_feasibility: PlanFeasibility | None = field(default=None, metadata=OPTIONAL)
    experts: Mapping[str, ExpertBackend] | None = field(default=None, metadata=OPTIONAL)  #: by name
    plans: PlanAnswers | None = field(default=None, metadata=OPTIONAL)
    ratings: Ratings | None = field(default=None, metadata=OPTIONAL)
    calls_as_expected: CallsCheck | None = field(default=None, metadata=OPTIONAL)
    tool_calls: Sequence[ToolCalls] | None = field(default=None, metadata=OPTIONAL)
    router: RouterCounts | None = field(default=None, metadata=OPTIONAL)
    state_manager: VerdictFigures | None = field(default=None, metadata=OPTIONAL)
    scores: JobScores | None = field(default=None, metadata=MERGED)
    conversion: ConversionFigures | None = field(default=None, metadata=MERGED)  #: of a conversion
    samples: SampleFigures | None = field(default=None, metadata=OPTIONAL)  #: of a job with several samples of a task
    #: by the name of the benchmark's grouping, and of the group
    groups: Mapping[str, Mapping[str, GroupScores]] | None = field(default=None, metadata=OPTIONAL)
    overall: Mapping[str, Overall] | None = field(default=None, metadata=OPTIONAL)  #: the benchmark's overall scores
    judge: JudgeFigures | None = field(default=None, metadata=OPTIONAL)
    ungraded: Completeness | None = field(default=None, metadata=MERGED)  #: with the answers that lack a judge's grade
    scoring: Scorers | None = field(default=None, metadata=OPTIONAL)
    tools: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)  #: stored settings that scores depend on
    scorings: Sequence[AddedScore] | None = field(default=None, metadata=OPTIONAL)
    baselines: Mapping[str, Mean] | None = field(default=None, metadata=OPTIONAL)  #: rules without a model, by name
    rules: Mapping[str, RuleFigures] | None = field(default=None, metadata=OPTIONAL)  #: of a judge's job, by rule
    #: by the provenance of the least real answer of an episode
    by_provenance: Mapping[str, ClassScores] | None = field(default=None, metadata=OPTIONAL)
    by: Mapping[str, Sequence[FieldGroupScores]] | None = field(default=None, metadata=OPTIONAL)  #: by field of tasks
    # The command `lumos report` adds what is about a job among others:
    name: str | None = field(default=None, metadata=OPTIONAL)
    differs: Mapping[str, str] | None = field(default=None, metadata=OPTIONAL)  #: facts that differ between the jobs
    real_state: str | None = field(default=None, metadata=OPTIONAL)

    @property
    def result(self) -> Completeness:
        """Whether the job is complete; answers that lack a grade make it incomplete."""
        return self.ungraded or self.completeness

    @property
    def results(self) -> int:
        """Items with a result. Those that ended with infra_error, or that have no grade, have none."""
        failed = self.episodes.endings.get(Ending.INFRA_ERROR, 0) if self.episodes else 0
        return self.finished - failed - (self.judge.ungraded if self.judge else 0)

    @property
    def missing(self) -> int:
        """Items without a result."""
        return self.n - self.results

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """All metrics; empty without scores."""
        return self.scores.metrics if self.scores else {}

    @property
    def price(self) -> ModelCost | None:
        """What the model calls cost: those of the run, or those of a conversion's teacher."""
        return self.cost or (self.conversion.cost if self.conversion else None)
