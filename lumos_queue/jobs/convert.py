"""Conversion: a rule or a teacher turns the gold rationale of a row into an annotated episode with verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from lumos_queue.actions.base import StatelessActions
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.definition import FileDefinition
from lumos_queue.benchmarks.registry import find_registered_name, open_source
from lumos_queue.conversion.check import AnnotationCheck
from lumos_queue.conversion.demos import LOW
from lumos_queue.conversion.drafts import Draft
from lumos_queue.conversion.lengths import load_token_counter
from lumos_queue.conversion.low_level import to_low_level
from lumos_queue.conversion.oracle import StatedResults
from lumos_queue.conversion.perturbation import perturbation
from lumos_queue.conversion.samples import TeacherSamples
from lumos_queue.conversion.teacher import TeacherReply, draft_prompt, first_prompt, prompt_head
from lumos_queue.conversion.verdicts import (
    acceptance_score,
    make_verdicts,
    merge_verdicts,
    reason_verdicts,
)
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.base import RULES, Endpoint, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.episode import Generate, Journal, run_episode
from lumos_queue.errors import SpecError
from lumos_queue.execution.executor import Executor
from lumos_queue.formulations.annotation import act_out_annotation, teach, teach_samples
from lumos_queue.jobs.base import Identity, ItemResult, Work
from lumos_queue.jobs.budget import Meter
from lumos_queue.jobs.drafts import load_drafts
from lumos_queue.jobs.images import Images
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import LEVELS, Annotation, Ending, Level, Outcome, Role, Task, Verdict

TEACHING = Sampling(max_tokens=800, stop=())
#: The forms in which a teacher can be sent a row's image, with descriptions. A caption is part of the task's text.
TAUGHT_BY = {"image": "the image", "caption": "the row's caption in its place", "none": "nothing of it"}
#: The prompts of stored jobs that name none, so that their calls stay the same.
_EARLIER_PROMPTS = {"prm800k": "maths"}
_EARLIER_RULES = 2  #: the rules of stored jobs that name none
#: The newest version of the checks of a teacher's replies. 0: form and results; 1: also Benchmark.review_steps.
TEACHER_CHECKS = 1
#: Fields that are stored only with another value than that of earlier jobs, which lack them.
_OPTIONAL: dict[str, Any] = {
    "published": False,
    "rule_version": 1,
    "teacher_checks": 0,
    "samples": 1,
    "waiting": "",
    "drafts": "",
    "waiting_prompt": 0,
}


@dataclass(frozen=True, slots=True)
class ConvertContext:
    """The objects that a slice of conversion needs."""

    source: Benchmark
    actions: StatelessActions
    executor: Executor
    head: str  #: the beginning of every prompt for the teacher
    meter: Meter | None
    identities: tuple[Identity, ...]
    traffic: Mapping[str, AdmissionControl]  #: of the endpoint that can have a cap, by URL
    drafts: Mapping[str, Draft] = field(default_factory=dict[str, Draft])  #: of waiting rows, by row


@dataclass(frozen=True, slots=True)
class Convert:
    """A job that converts rows to LUMOS annotations, runs their actions if the source allows that, and checks them."""

    source: str  #: as benchmarks/registry.py names it
    dataset: str  #: digest of the rows
    split: str
    limit: int = 0  #: only the first rows; 0: all
    teacher: str = ""  #: URL of the teacher's endpoint; empty: by rule
    subgoals: str = "high"  #: or low: one action for each subgoal
    reasks: int = 1  #: further calls for a row whose annotation is rejected
    sampling: Sampling = TEACHING
    prompt_price: float = 0.0  #: USD for a million tokens
    completion_price: float = 0.0  #: USD for a million tokens
    budget: float = 0.0  #: USD after which the job is paused; 0: none
    seed: int = 0
    perturbations: int = 3  #: changes of the numbers with which an executed annotation must stay right; 0: not checked
    most_tokens: int = 1024  #: of a module's conversation
    tokenizer: str = ""  #: folder of the tokenizer for these; empty: an estimate
    duplicates: tuple[int, ...] = ()  #: ordinals of rows whose task is also in an earlier row
    prompt: str = ""  #: type of the teacher's prompt (conversion/demos); empty: the source's
    vision: str = ""  #: the form of a row's image for the teacher (TAUGHT_BY); empty: rows have none
    rules: int = RULES  #: the version of the formulations whose rules read the teacher's replies
    rule_version: int = 1  #: the version of the source's rules (Benchmark.at_rules)
    definition: FileDefinition | None = None  #: of a source whose rows are in a person's own file
    published: bool = False  #: whether the person stated that the rows are the published rows
    teacher_checks: int = 0  #: the version of the checks of a teacher's replies (TEACHER_CHECKS)
    samples: int = 1  #: of the teacher for each row, at most (conversion/samples.py)
    waiting: str = ""  #: the conversion by rule whose waiting rows these are; empty: all rows of a source
    drafts: str = ""  #: sha256 of the artifact with the drafts of these rows (conversion/drafts.py)
    waiting_prompt: int = 0  #: the version of the prompt for waiting rows (conversion/teacher.py)

    kind = JobKind.CONVERT
    ordered = False
    concurrency = 0

    @property
    def pool(self) -> Pool:
        return Pool.LLM if self.teacher else Pool.CPU

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values |= {"sampling": self.sampling.as_json(), "duplicates": list(self.duplicates)}
        # The source of a job from before plug-ins is a module, whose dataset has the name of its benchmark.
        former = find_registered_name(self.source) != self.source
        values["benchmark"] = open_source(self.source).name if former else self.source
        for name, default in _OPTIONAL.items():
            if values[name] == default:
                del values[name]
        if self.definition is None:
            del values["definition"]  # jobs of registered sources have no such key
        else:
            values["definition"] = self.definition.as_json()
        return values

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Convert:
        fields: dict[str, Any] = {name: field_value for name, field_value in value.items() if name != "benchmark"}
        fields.setdefault("prompt", _EARLIER_PROMPTS.get(fields["source"], ""))
        fields.setdefault("rules", _EARLIER_RULES)
        if fields.get("definition"):
            fields["definition"] = FileDefinition.from_json(fields["definition"])
        fields |= {"sampling": Sampling.from_json(fields["sampling"]), "duplicates": tuple(fields["duplicates"])}
        return cls(**fields)

    def open_source(self) -> Benchmark:
        """Return the benchmark whose rows are converted, with the conversion's version of the rules.

        Raises SpecError if this process does not have the benchmark or this version.
        """
        return open_source(self.source, self.definition).at_rules(self.rule_version)

    def prompt_prefixes(self) -> dict[str, str]:
        if not self.teacher:
            return {}
        prompt = self.prompt or self.open_source().teacher_prompt
        return {Role.TEACHER: prompt_head(prompt, self.subgoals, self.vision == "image")}

    @asynccontextmanager
    async def open(self, deployment: Deployment) -> AsyncGenerator[ConvertContext, None]:
        source = self.open_source()
        async with AsyncExitStack() as stack:
            runs_actions = LEVELS.index(source.check_level) >= LEVELS.index(Level.EXECUTED)
            actions: StatelessActions = (
                DOMAINS.load(source.domain).open_stateless() if runs_actions else StatedResults(source.domain)
            )
            stack.push_async_callback(actions.close)
            endpoints: dict[str, Endpoint] = {}
            identities: tuple[Identity, ...] = ()
            traffic: dict[str, AdmissionControl] = {}
            meter = None
            if self.teacher:
                teacher = endpoints[Role.TEACHER] = open_endpoint(self.teacher, deployment.settings)
                stack.push_async_callback(teacher.close)
                identities = ((Role.TEACHER, self.teacher, await teacher.identity()),)
                traffic = {self.teacher: teacher.admission} if teacher.admission else {}
            if self.teacher and self.budget:
                meter = Meter(deployment.database, self.prompt_price, self.completion_price, self.budget)
            images = Images(deployment)
            executor = Executor(endpoints, actions, self.sampling, self.seed, image=images.load, rules=self.rules)
            drafts = await asyncio.to_thread(load_drafts, deployment.database, self.drafts) if self.drafts else {}
            yield ConvertContext(
                source,
                actions,
                executor,
                self.prompt_prefixes().get(Role.TEACHER, ""),
                meter,
                identities,
                traffic,
                drafts,
            )

    async def run(self, work: Work, journal: Journal, context: ConvertContext) -> ItemResult:
        """Convert a row. Its score `executed` (`accepted` without execution) is 1 if no verdict rejects it, else 0."""
        assert work.task is not None
        task, source = work.task, context.source
        duplicate_verdicts = make_verdicts("duplicate") if work.ordinal in self.duplicates else []
        try:
            judge, formulation = self._begin(context, task)
        except SpecError as error:
            reason = error.reason if isinstance(error, NotConvertible) else "unreadable"
            verdicts = [*reason_verdicts(reason, str(error)), *duplicate_verdicts]
            return _result(source, Outcome(None, Ending.UNREADABLE, str(error)), verdicts, "")
        async with context.executor.for_episode(task, work.sample) as perform:
            if context.meter:
                perform = context.meter.limit(perform, getattr(journal, "episode", 0))
            run = await run_episode(formulation, task, judge, journal, perform)
        if run.outcome.ending == Ending.INFRA_ERROR:
            return ItemResult(run.outcome)
        check = judge.selected if isinstance(judge, TeacherSamples) else judge
        if run.outcome.ending == Ending.LIMIT:  # the teacher's context is full: there is no further annotation
            check.verdicts += make_verdicts("refused", run.outcome.message)
        check.verdicts += duplicate_verdicts
        self._note_review(source, task, check)
        level = check.compute_level()
        if level == Level.EXECUTED and self.perturbations:
            actions = [action for step in check.steps for action in step.actions]
            finding = await perturbation(source, task, actions, context.actions, self.perturbations)
            level = Level.PERTURBED if finding.passed else level
            check.verdicts += make_verdicts("differs when perturbed", finding.differs) if finding.differs else []
        return _result(source, run.outcome, check.verdicts, level)

    def _begin(self, context: ConvertContext, task: Task) -> tuple[Any, Generate[Any]]:
        """Return the judge of a row's annotation, and the formulation that acts the annotation out.

        Raises SpecError if the row has no rationale, or no rule converts it.
        """
        source, count_tokens = context.source, load_token_counter(self.tokenizer)
        if not self.teacher:
            check = AnnotationCheck(source, task, self.most_tokens, count_tokens)
            check.check(TeacherReply(self.make_annotation(source, task).steps))
            return check, act_out_annotation
        rationale = source.rationale(task)
        if self.waiting_prompt:
            if task.row not in context.drafts:
                raise SpecError(f"Row {task.row} has no stored draft.")
            prompt = draft_prompt(context.head, task, rationale, context.drafts[task.row])
        else:
            prompt = first_prompt(context.head, task, rationale)
        new_check = partial(
            AnnotationCheck,
            source,
            task,
            self.most_tokens,
            count_tokens,
            prompt,
            self._images(task),
            self.reasks,
            reviews_replies=self.teacher_checks > 0,
        )
        return (TeacherSamples(new_check, self.samples), teach_samples) if self.samples > 1 else (new_check(), teach)

    def _note_review(self, source: Benchmark, task: Task, check: AnnotationCheck) -> None:
        """Add the verdicts on doubtful and ambiguous links. The doubts about a teacher's reply are already known."""
        if not self.teacher:
            review = source.review(task)
            check.note_doubts(review.doubts)
            check.note_links(source.count_ambiguous(task), review.evidence)
        elif self.teacher_checks and (evidence := source.review_steps(task, check.steps).evidence):
            check.note_links(len(evidence), evidence)
        else:
            check.note_links(None)

    def make_annotation(self, source: Benchmark, task: Task) -> Annotation:
        """Return the annotation that rules make. Raises SpecError if they make none, or none with such subgoals."""
        gold = source.annotation(task)
        if self.subgoals != LOW:
            return gold
        try:
            return to_low_level(gold)
        except SpecError:
            raise NotConvertible("not_low_level") from None

    def _images(self, task: Task) -> tuple[str, ...]:
        """Return the images for the teacher. Raises NotConvertible if the image or caption is missing."""
        if self.vision in ("image", "caption") and not task.inputs.get(self.vision):
            raise NotConvertible(f"no_{self.vision}")
        return (task.inputs["image"],) if self.vision == "image" else ()


def _result(source: Benchmark, outcome: Outcome, verdicts: list[Verdict], level: str) -> ItemResult:
    merged_verdicts = merge_verdicts(verdicts)
    return ItemResult(
        outcome, (acceptance_score(source.check_level, merged_verdicts),), verdicts=merged_verdicts, level=level
    )
