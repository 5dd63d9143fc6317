"""The base class of benchmarks. A benchmark reads rows, scores episodes, and gives gold solutions and rationales.

Some benchmarks, such as ScienceQA, only test models: they have no rationales. Others, such as PRM800K, only provide
training data: they have no scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.prompts.agent import Agent
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import (
    LEVELS,
    Action,
    AnnotatedSubgoal,
    Annotation,
    Completion,
    Ending,
    Execution,
    Outcome,
    Score,
    Task,
)
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.judge import METRIC
from lumos_queue.scoring.limit import select_judged_answer


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """The part of an episode that a benchmark judges.

    >>> import lumos_queue as lq
    >>> lq.EpisodeResult("145").ending
    'answered'
    """

    answer: str | None = None  #: the answer to judge, or None (scoring/limit.py)
    ending: str = Ending.ANSWERED
    seen: Sequence[tuple[Action, Execution]] = ()  #: the actions, in order; empty if the benchmark judges `by_answer`
    #: The judge's reply; '' if there was no answer to judge; None without a judge or without a vote.
    vote: str | None = None
    #: the agent's tool options, such as the paths of databases and shops
    tools: Mapping[str, str] = field(default_factory=dict)
    #: Loads the bytes of an artifact of the task or the actions by its sha256. Raises EpisodeError.
    artifact: Callable[[str], bytes] | None = None
    approved: str = ""  #: the text that a person approved last
    readings: Sequence[
        tuple[str, str | None]
    ] = ()  #: pairs of a reader's name and the answer that it reads from the reply
    #: All replies of the judge: first `Benchmark.judge_votes` replies, then the replies to repeated requests.
    votes: Sequence[Completion] = ()
    settings: Mapping[str, str] = field(default_factory=dict)  #: those of the formulation that the agent chose

    @classmethod
    def of(
        cls,
        outcome: Outcome,
        agent: Agent,
        actions: Sequence[tuple[Action, Execution]],
        vote: str | None,
        artifact: Callable[[str], bytes],
        approved_text: str,
        votes: Sequence[Completion] = (),
    ) -> EpisodeResult:
        """Return the result of an episode with this outcome."""
        answer = select_judged_answer(outcome.ending, outcome.answer, agent.at_limit)
        return cls(
            answer,
            outcome.ending,
            actions,
            vote,
            agent.tools,
            artifact,
            approved_text,
            outcome.readings,
            votes,
            agent.settings,
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """The programs that compute a row's answer from its numbers, for the check `perturbed`.

    `programs` has a program for each plausible reading of the gold solution. If their results differ for some numbers,
    the answer for these numbers is unknown.
    """

    programs: tuple[tuple[Action, ...], ...]


@dataclass(frozen=True, slots=True)
class RuleReview:
    """The doubts about an annotation that a rule made from a row."""

    doubts: tuple[str, ...] = ()  #: why the row must wait: no evidence decides, or a number has no source
    evidence: tuple[str, ...] = ()  #: what decides the link of each operand that has several sources


@dataclass(frozen=True, slots=True)
class RowReader:
    """A way to read a benchmark's rows: a function, with the splits and the options that it takes."""

    splits: tuple[str, ...]
    options: Mapping[str, str]
    read: Callable[..., Iterator[Task | BadRow]]  #: has the arguments and the results of Benchmark.read


class FormulationFacts(Protocol):
    """The facts about a formulation (formulations/base.py) by which a benchmark accepts it."""

    @property
    def name(self) -> str: ...
    @property
    def approved(self) -> bool: ...
    @property
    def judges_runs(self) -> bool: ...
    @property
    def reasons(self) -> bool: ...
    @property
    def answers_alone(self) -> bool: ...


class Benchmark:
    """A data set. To add a benchmark, write a package with a subclass and `benchmark = …()`, and register it.

    Workers load stored tasks and never the file, so a task must contain everything that the methods below need.

    >>> import lumos_queue as lq
    >>> class Doubles(lq.Benchmark):
    ...     name, domain, licence, needs_data, metrics = "doubles", "maths", "CC0-1.0", False, ("accuracy",)
    ...     def read(self, path, split, **options):
    ...         for number in range(1, 4):
    ...             yield lq.Task(self.name, "", str(number), f"Twice {number}?", gold={"answer": 2 * number})
    ...     def score(self, task, result):
    ...         return [lq.Score("accuracy", float(result.answer == self.gold_answer(task)))]
    >>> job = lq.evaluate(Doubles(), formulation="direct", solver=lambda prompt: "4").wait()
    >>> [episode.scores["accuracy"] for episode in job.episodes()]
    [0.0, 1.0, 0.0]
    """

    name: str  #: also the `benchmark` of its tasks
    domain: str  #: the domain whose actions solve its tasks, e.g. 'maths'
    licence: str  #: the licence of the data, as an SPDX id where there is one

    # --- rows

    #: the splits that can be generated or read; for a file, the user names the split
    splits: tuple[str, ...] = (
        "train",
        "dev",
        "test",
    )
    #: The splits to test with: builds exclude their tasks. A split called 'test' is always a test split.
    test_splits: tuple[str, ...] = ("test",)
    #: The rows to test with, if a row is the same task in every split; None: the split of a task decides.
    test_rows: frozenset[str] | None = None
    needs_data: bool = True  #: whether `read` needs a path
    options: Mapping[str, str] = {}  #: option of `read` (--option NAME=VALUE) to its description
    #: After `read`: sha256 of each image that a task names to its file, or to its bytes if it is generated.
    artifacts: Mapping[str, Path | bytes] = {}
    notes: Sequence[str] = ()  #: after `read`: remarks for the user, e.g. how many rows have no image
    unjudged: str = ""  #: after `read`: why its rows cannot be evaluated, e.g. because a test set has no answers

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Yield a task for each row in file order, or a BadRow with the reason. Jobs set the `dataset` of tasks later.

        Raises SpecError if the file is missing or has another format; the message names the first difference.
        """
        raise NotImplementedError

    @property
    def teaching(self) -> RowReader:
        """The reader of the rows for training data. By default, it is `read`, which reads the rows for tests."""
        return RowReader(self.splits, self.options, self.read)

    # --- gold

    def gold(self, task: Task) -> Annotation:
        """Return the gold solution in LUMOS form, by rule. Raises NotConvertible with the reason if there is none."""
        raise NotConvertible("no_rule")

    def gold_answer(self, task: Task) -> str:
        """Return the gold answer as text."""
        return str(task.gold["answer"])

    # --- to test with

    reward: str = (
        ""  #: the score that is used as feedback by default: one of `metrics` or `overalls`; '': the main metric
    )
    metrics: tuple[str, ...] = ()  #: the metrics of `score`, the main metric first; empty: the benchmark only teaches
    groups: Mapping[
        str, Callable[[Task], str]
    ] = {}  #: grouping in reports to the function that returns the group of a task
    #: If tasks have different metrics: name of an overall score to the function that returns a task's metric, or ''.
    overalls: Mapping[str, Callable[[Task], str]] = {}
    slow: bool = False  #: whether `score` runs queries or reads files; it is then called in a thread
    scores_readings: bool = True  #: whether the main metric also judges the answers of other readers
    by_answer: bool = True  #: whether the answer alone is judged, not the actions
    answers: AnswerKind = AnswerKind.TEXT  #: the kind of all answers; for CHOICE, the question lists the choices

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return a score of an episode for each of `metrics`, in that order. It is called in a thread if `slow`."""
        raise NotImplementedError

    def accepts(self, formulation: FormulationFacts) -> bool:
        """Return whether a formulation can be used."""
        return True

    def metrics_of(self, task: Task) -> tuple[str, ...]:
        """Return the metrics that judge a task. A worker omits a metric whose model weights are not installed."""
        return self.metrics

    def remark_on_versions(self, versions: Mapping[str, Collection[str]]) -> list[str]:
        """Return remarks for reports on the versions of scores (metric to versions), one line each."""
        return []

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        """Return the verdicts of rules that need no model: rule name to a verdict for each task.

        If scores have several trials (`Score.of`), there is a verdict for each trial. A verdict may be a score from 0
        to 1. Each iteration over `tasks` reads them again, because the tasks of a large job do not fit into memory.
        """
        return {}

    def judge_prompt(self, task: Task, answer: str) -> str | None:
        """Return the prompt for the role `judge`; None if no judge is needed. The reply becomes the result's `vote`."""
        return None

    judge_votes: int = 1  #: number of replies to that prompt, requested together

    def remind_judge(self, prompt: str, vote: Completion) -> str | None:
        """Return the prompt that asks the judge again after an unreadable vote; None to accept the vote as it is."""
        return None

    @property
    def asks_judge(self) -> bool:
        """Whether an evaluation uses the role `judge`."""
        return METRIC in self.metrics

    # --- to teach with

    check_level: str = (
        ""  #: the strongest check (records.LEVELS) that its annotations can pass; '': the benchmark only tests
    )
    #: The teacher's prompt: maths, maths_code, qa, web, multimodal or sql; '': rows are converted by rule alone.
    teacher_prompt: str = ""
    #: The newest version of the rules of `gold`, `rationale` and `reference`. A conversion keeps the version with which
    #: it began, so rules of earlier versions stay.
    newest_rules: int = 1
    _rule_version: int = 0  # 0: the newest

    @property
    def rule_version(self) -> int:
        """The version of the rules that this object applies."""
        return self._rule_version or self.newest_rules

    def at_rules(self, version: int) -> Self:
        """Return a copy that applies the rules of a version. Raises SpecError for a version that is not known here."""
        if not 1 <= version <= self.newest_rules:
            raise SpecError(
                f"The rules of '{self.name}' have the versions 1 to {self.newest_rules}, not {version}: a later "
                "release of lumos-queue has begun this conversion. Continue it with that release."
            )
        benchmark = copy(self)
        benchmark._rule_version = version
        return benchmark

    def rationale(self, task: Task) -> str:
        """Return the explanation of the answer, which is sent to the teacher model. Raises NotConvertible."""
        raise NotConvertible("no_rationale")

    def annotation(self, task: Task) -> Annotation:
        """Return the annotation that a rule makes from a row; by default, the gold solution. Raises NotConvertible."""
        return self.gold(task)

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether an annotation's answer is the gold answer. By default, case, spaces and a final dot are ignored."""
        return answer is not None and _plain(answer) == _plain(self.gold_answer(task))

    def facts(self, task: Task) -> str:
        """Return the text that must contain each result that a teacher extracts; '' if there is no such text."""
        return ""

    def reference(self, task: Task) -> Reference | None:
        """Return the programs that compute the answer from changed numbers; None if no program can be determined.

        By default, the program is the actions of `gold`, if they can be executed.
        """
        if self.check_level not in LEVELS[LEVELS.index("executed") :]:
            return None
        try:
            gold = self.gold(task)
        except NotConvertible:
            return None
        return Reference((tuple(action for step in gold.steps for action in step.actions),))

    def review(self, task: Task) -> RuleReview:
        """Return the doubts about the annotation that a rule makes. With doubts, a conversion by rule rejects it."""
        return RuleReview()

    def review_steps(self, task: Task, steps: Sequence[AnnotatedSubgoal]) -> RuleReview:
        """Return the doubts about an annotation that a teacher wrote, as `review` does for that of a rule."""
        return RuleReview()

    def count_ambiguous(self, task: Task) -> int:
        """Count the operands of `gold` whose link to an earlier result may be wrong: it rests on equal values alone."""
        return 0


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")
