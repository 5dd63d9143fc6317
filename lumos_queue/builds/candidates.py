"""Decide whether a build can use a stored episode: return its candidate, or the reason for its exclusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.registry import is_test_task, knows_test_rows
from lumos_queue.builds.annotations import (
    annotation_of,
    annotation_of_runs,
    count_failed_actions,
    one_pass_annotation_of,
    planner_only,
)
from lumos_queue.builds.calls import examine_calls, is_tool_agent
from lumos_queue.builds.contamination import TestSplits, normalise, task_key, text_key
from lumos_queue.builds.database_facts import DatabaseFacts
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.licences import strictness
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.solver_replies import has_marks_of_turns, read_reply
from lumos_queue.builds.staging_database import hash_of
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.execution.prefill import source_row
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import strip_label, write_actions
from lumos_queue.records import LEVELS, MODULES, Annotation, Completion, FinishReason, Level, Origin, Role
from lumos_queue.scoring.annotation_strata import name_rule
from lumos_queue.scoring.limit import is_judged

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode

_NO_SUBGOAL_OF_ACTIONS = "its steps do not say which action belongs to which subgoal"
_NO_RESULTS = "its steps do not say what their actions gave"
NOT_ASKED_FOR = "whose rows are not asked for"  #: follows a formulation's name in the reasons of exclusions
RUNS = (Origin.RUN, Origin.DERIVED)  #: the origins of episodes in which models planned or grounded

#: A further check of an annotation of a domain. It returns '' when the annotation passes, else the reason.
Check = Callable[["StoredEpisode", str, Annotation], str]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by which a build accepts or excludes episodes."""

    options: BuildOptions
    sources: KnownBenchmarks
    splits: TestSplits
    checks: Sequence[Check] = ()
    facts: DatabaseFacts = field(default_factory=DatabaseFacts)
    labels_asked: bool = False  #: whether the query itself selects by labels


@dataclass(frozen=True, slots=True)
class BuildCandidate:
    """An episode that can become rows."""

    episode: StoredEpisode
    domain: str
    annotation: Annotation
    one_pass_only: str  #: why only one-pass conversations can be made of it; '' when all can
    modules: tuple[str, ...]  #: those without a rejecting verdict
    level: str  #: check level of its actions; of a derived episode see also `prefilled_roles`
    reply: str = ""  #: the text of its row, where one model answered alone (solver_replies.py)

    def columns(self, content: str, good: bool = True) -> dict[str, Any]:
        """Return the candidate's row for the staging database.

        `content`: the JSON text of all rows made from the candidate; `good`: whether its episode succeeded.
        """
        episode, solution = self.episode, self.solution()
        return {
            "episode": episode.id,
            "name": episode.name,
            "job": episode.job,
            "benchmark": episode.task.benchmark,
            "dataset": episode.task.dataset,
            "domain": self.domain,
            "row": source_row(episode.task),
            "origin": episode.origin,
            "licence": episode.licence,
            "level": self.level,
            "checked": rank(self.level),
            "subgoals": len(self.annotation.steps),
            "score": sum(episode.scores.values()) / len(episode.scores) if episode.scores else 0.0,
            "finished_at": episode.finished_at,
            "parent": episode.parent,
            "good": good,
            "completeness": self.completeness,
            "task": hash_of(normalise(episode.task.question)),
            "source": hash_of(task_key(episode.task.question)),
            "solution": solution,
            "text": hash_of(normalise(solution)),
            "content": hash_of(content),
            "strict": strictness(episode.licence),
            "given": " ".join(self.find_prefilled_roles()),
            "rule": "" if episode.origin in RUNS else name_rule(episode.origin, episode.spec),
            "gold": episode.task.inputs.get("from", {}).get("gold", ""),
        }

    def find_prefilled_roles(self) -> list[str]:
        """Return the roles with prefilled replies: the models of these roles did not succeed alone."""
        steps = self.episode.steps
        replies = [(step.role, step.result) for step in steps if isinstance(step.result, Completion)]
        return sorted({role for role, reply in replies if reply.finish_reason == FinishReason.GIVEN})

    def solution(self) -> str:
        """Return question, subgoals and actions. Two episodes with the same text are duplicates in a training set."""
        steps = self.annotation.steps
        subgoals = [strip_label(step.subgoal.text) for step in steps]
        actions = write_actions(action for step in steps for action in step.actions)
        return "\n".join([self.episode.task.question, *subgoals, actions, *filter(None, [self.reply])])

    @property
    def completeness(self) -> int:
        """How widely the candidate can be used: 2 for each module, and 1 if every conversation can be made of it.

        Of equal solutions under the same licence, the most complete candidate stays.
        """
        return 2 * len(self.modules) + (not self.one_pass_only)


def rank(level: str) -> int:
    """Return the rank of a check level, 1 for the weakest; 0 without a level."""
    return LEVELS.index(level) + 1 if level in LEVELS else 0


def examine(episode: StoredEpisode, rules: Rules) -> BuildCandidate | str:
    """Return the candidate made from an episode, or the reason for its exclusion."""
    if reason := task_exclusion(episode, rules) or failure_reason(episode) or label_exclusion(episode, rules):
        return reason
    if is_tool_agent(episode.formulation):
        return _audit_exclusion(episode, rules) or _examine_tool_agent(episode, rules)
    formulation = FORMULATIONS.find(episode.formulation)
    if formulation is not None and formulation.answers_alone and episode.origin in RUNS:
        return _audit_exclusion(episode, rules) or _examine_solver(episode, rules)
    options = rules.options
    rejections = {verdict.module: verdict.name for verdict in episode.verdicts if verdict.rejects}
    modules = tuple(module for module in MODULES if module not in rejections)
    if not modules:
        return f"rejected: {rejections[MODULES[0]]}"
    # The tools of a run gave the right answer.
    level = episode.level or (Level.EXECUTED if episode.origin in RUNS else "")
    if not level:
        return "no accepted annotation"
    if options.perturbed:
        level = LEVELS[-1]  # episodes below this level fail the checks below
    if options.level and rank(level) < rank(options.level):
        return f"checked less than {options.level}"
    if reason := _audit_exclusion(episode, rules):
        return reason
    answer = episode.answer or ""
    is_plan_of_experts = formulation is not None and formulation.experts  # in any notation of the reply
    annotation = (annotation_of_runs if is_plan_of_experts else annotation_of)(episode.steps, answer)
    loose = one_pass_annotation_of(episode.steps, answer) if annotation is None else None
    row_annotation = annotation or loose
    if row_annotation is None:
        return "no annotation in its steps"
    if count_failed_actions(episode.steps):
        # The planner was sent the results that the annotation states, not those of the actions: its row may be right.
        if Role.GROUNDER in modules or annotation is None or not all(step.results[-1] for step in annotation.steps):
            return "an action failed"
        row_annotation = planner_only(annotation)
    try:
        domain = rules.sources.domain(episode)
    except LookupError:
        return "unknown domain"
    for check in rules.checks:
        if reason := check(episode, domain, row_annotation):
            return reason
    only = _NO_RESULTS if _lacks_results(domain, row_annotation) else ""
    return BuildCandidate(
        episode, domain, row_annotation, _NO_SUBGOAL_OF_ACTIONS if annotation is None else only, modules, level
    )


def _examine_tool_agent(episode: StoredEpisode, rules: Rules) -> BuildCandidate | str:
    """Return the candidate made from an episode of a tool agent; its calls become rows (calls.py)."""
    if episode.formulation not in rules.options.formulations:
        return f"made by {episode.formulation}, {NOT_ASKED_FOR}"
    if isinstance(annotation := examine_calls(episode), str):
        return annotation
    try:
        domain = rules.sources.of_episode(episode).domain
    except SpecError:
        return "unknown domain"
    level = episode.level or (Level.EXECUTED if episode.origin in RUNS else Level.FORMAT)
    return BuildCandidate(episode, domain, annotation, _NO_SUBGOAL_OF_ACTIONS, MODULES, level)


def _examine_solver(episode: StoredEpisode, rules: Rules) -> BuildCandidate | str:
    """Return the candidate made from a run in which one model answered alone; its reply becomes a row."""
    options = rules.options
    if episode.formulation not in options.formulations:
        return f"made by {episode.formulation}, {NOT_ASKED_FOR}"
    if options.reexecute or options.perturbed or rank(options.level) > rank(Level.FORMAT):
        return "it has no actions that could be checked"
    try:
        domain = rules.sources.domain_of_run(episode)
    except (LookupError, SpecError):
        return "unknown domain"
    reply = read_reply(episode, domain)
    if not reply:
        return "it has no reply"
    if has_marks_of_turns(reply):
        return "its reply has marks of turns"
    return BuildCandidate(episode, domain, Annotation((), episode.answer or ""), "", MODULES, Level.FORMAT, reply)


def _audit_exclusion(episode: StoredEpisode, rules: Rules) -> str:
    """Return the reason if the build requires a precision that no audit has measured for the episode, otherwise ''."""
    return rules.facts.audited.exclusion(episode.id) if rules.facts.audited else ""


def _lacks_results(domain: str, annotation: Annotation) -> bool:
    """Whether a subgoal's result, which an iterative planner is sent, is empty, as in ReWOO's data."""
    definition = DOMAINS.load(domain)
    sends_results = (
        definition.reports == "result" and definition.calls
    )  # where actions are not calls, the text is the result
    return sends_results and any(step.results and not step.results[-1] for step in annotation.steps)


def task_exclusion(episode: StoredEpisode, rules: Rules) -> str:
    """Return the reason why this task must not be trained on; '' when it may be."""
    options, question = rules.options, episode.task.question
    if is_test_task(episode.task, episode.split) and not options.allow_test:
        return "of a test split"
    test_texts = frozenset() if knows_test_rows(episode.task.benchmark) else rules.facts.tests
    if test_texts and not options.allow_test and text_key(question) in test_texts:
        return "of a test split stored here"
    match = None if options.allow_contaminated else rules.splits.find(question)
    return f"stands in {match[0]}: {match[1]}" if match else ""


def label_exclusion(episode: StoredEpisode, rules: Rules) -> str:
    """Return the reason if a person's label excludes the episode, otherwise ''.

    No label excludes an episode if the query itself selects by labels.
    """
    wrong = episode.id in rules.facts.wrong and not rules.labels_asked
    return "labelled wrong by a person" if wrong else ""


def failure_reason(episode: StoredEpisode) -> str:
    """Return the reason why a run was not successful; '' for a successful run, and for every annotation."""
    if episode.origin not in RUNS:
        return ""
    if not is_judged(episode.ending, episode.at_limit):
        return f"ended {episode.ending}"
    score = episode.scores.get(episode.main_metric)
    if score is None:
        return "not scored"
    return "" if score == 1 else "wrong answer"
