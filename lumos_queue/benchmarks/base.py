"""What a benchmark is: rows, gold solutions, a score to test with, rationales to teach with. One object for a data set.

Some benchmarks only test (ScienceQA): they have no rationale. Some only teach (PRM800K): they have no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lumos_queue.errors import BadRow
from lumos_queue.prompts.agent import Agent
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import LEVELS, Action, Annotation, Completion, Execution, Outcome, Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.judge import METRIC
from lumos_queue.scoring.limit import judged_answer


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """What an episode left behind, as far as it can be judged.

    >>> import lumos_queue as lq
    >>> lq.EpisodeResult("145").ending
    'answered'
    """

    answer: str | None = None  #: the one that is judged; None where none is (limit.py)
    ending: str = "answered"
    seen: Sequence[tuple[Action, Execution]] = ()  #: its actions, in order; only where the answer alone is not judged
    #: The judge's reply; '' where there was no answer to show; None without a judge, or where there is no vote.
    vote: str | None = None
    tools: Mapping[str, str] = field(default_factory=dict)  #: the agent's tool options: where databases and shops are
    #: The bytes of the artifact with that sha256, of those that the task and the actions name. Raises EpisodeError.
    artifact: Callable[[str], bytes] | None = None
    approved: str = ""  #: what a person approved last, as it was shown
    readings: Sequence[tuple[str, str | None]] = ()  #: the answers that other readers see in the reply, by reader
    #: All replies of the judge in order: `Benchmark.judge_votes` of them, then those to votes that were asked again.
    votes: Sequence[Completion] = ()

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
        """Return what an agent's episode that ended so left behind."""
        answer = judged_answer(outcome.ending, outcome.answer, agent.at_limit)
        return cls(answer, outcome.ending, actions, vote, agent.tools, artifact, approved_text, outcome.readings, votes)


@dataclass(frozen=True, slots=True)
class Reference:
    """What says how a row's answer follows from its numbers, for the check `perturbed`.

    `programs` are the readings of the gold solution that are equally plausible: where they disagree, nothing is known.
    """

    programs: tuple[tuple[Action, ...], ...]


@dataclass(frozen=True, slots=True)
class RowReader:
    """One way to read a benchmark's rows: which splits there are, what `read` can be told, and `read` itself."""

    splits: tuple[str, ...]
    options: Mapping[str, str]
    read: Callable[..., Iterator[Task | BadRow]]  #: as Benchmark.read


class Benchmark:
    """A data set. A new one is a folder with a subclass and `benchmark = …()`, and a line of the registry.

    Workers see stored tasks, not the file: what the methods below need is in the task.

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
    domain: str  #: whose actions solve its tasks, e.g. 'maths'
    licence: str  #: of the data, as an SPDX id where there is one

    # --- rows

    splits: tuple[str, ...] = (
        "train",
        "dev",
        "test",
    )  #: that can be made or read; of a file the user says which it is
    #: Of them, those to test with: builds leave their tasks out. A split called 'test' is one, whatever is said here.
    test_splits: tuple[str, ...] = ("test",)
    #: The rows to test with, where a row is the same task in every split; None: its split alone says whether it is one.
    test_rows: frozenset[str] | None = None
    needs_data: bool = True  #: whether `read` needs a path
    options: Mapping[str, str] = {}  #: what `read` can be told with --option NAME=VALUE, and what it means
    #: After `read`: sha256 of the images that its tasks name, and their files; of generated ones, their bytes.
    artifacts: Mapping[str, Path | bytes] = {}
    notes: Sequence[str] = ()  #: after `read`: what a person should know, e.g. how many rows have no image
    unjudged: str = ""  #: after `read`: why its rows cannot be evaluated, e.g. those of a test set without answers

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """The tasks in file order, or the reason why a row is not one. `dataset=''`: the job fills it in.

        Raises SpecError when the file as a whole cannot be read (missing, not this format: the first difference named).
        """
        raise NotImplementedError

    @property
    def teaching(self) -> RowReader:
        """How rows are read to teach with: as they are to test with, where nothing else is said."""
        return RowReader(self.splits, self.options, self.read)

    # --- gold

    def gold(self, task: Task) -> Annotation:
        """The gold solution in LUMOS form, by rule. Raises NotConvertible with the reason when there is none."""
        raise NotConvertible("no_rule")

    def gold_answer(self, task: Task) -> str:
        """The gold answer as text."""
        return str(task.gold["answer"])

    # --- to test with

    reward: str = (
        ""  #: the score that feedback is, unless another is asked for: of `metrics` or `overalls`; '': the main one
    )
    metrics: tuple[str, ...] = ()  #: that `score` gives, the main one first; none: only teaches
    groups: Mapping[str, Callable[[Task], str]] = {}  #: what a report splits scores by, and the group of a task
    #: Where tasks are judged by different metrics: name of an overall score to a task's metric, or '' for none.
    overalls: Mapping[str, Callable[[Task], str]] = {}
    formulations: tuple[str, ...] = ()  #: that it can be tried with, none of which acts; empty: any
    slow: bool = False  #: whether `score` runs queries or reads files: it is then called in a thread
    scores_readings: bool = True  #: whether the main metric also judges what other readers see in a reply
    by_answer: bool = True  #: whether the answer alone is judged, and not what was done
    answers: AnswerKind = AnswerKind.TEXT  #: what every answer is; of CHOICE, the question lists the choices

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Judge an episode: a score for each of `metrics`, in that order. In a thread where that is `slow`."""
        raise NotImplementedError

    def metrics_of(self, task: Task) -> tuple[str, ...]:
        """Those of `metrics` that judge a task; a worker without their weights leaves some of them out."""
        return self.metrics

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        """What rules without a model get right: rule name to one verdict per task, or per trial of `Score.of`.

        A verdict may be a score from 0 to 1. Tasks are read while they are gone over, many times if need be: a large
        job's do not fit into memory.
        """
        return {}

    def judge_prompt(self, task: Task, answer: str) -> str | None:
        """What the role `judge` is asked about an answer; None where no judge is needed. The reply is the `vote`."""
        return None

    judge_votes: int = 1  #: replies to that prompt that are asked for, all at once

    def remind_judge(self, prompt: str, vote: Completion) -> str | None:
        """What is asked in place of a vote that cannot be read, once; None where the vote counts as it is."""
        return None

    @property
    def asks_judge(self) -> bool:
        """Whether the role `judge` has a use in an evaluation."""
        return METRIC in self.metrics

    # --- to teach with

    check_level: str = ""  #: the strongest check (records.LEVELS) that its annotations can reach; '': it only tests
    #: Which of the teacher's prompts fits: maths, maths_code, qa, web, multimodal or sql; '': none, by rule alone.
    teacher_prompt: str = ""

    def rationale(self, task: Task) -> str:
        """How the answer is found, in words, as the teacher is shown it. Raises NotConvertible."""
        raise NotConvertible("no_rationale")

    def annotation(self, task: Task) -> Annotation:
        """What a conversion by rule makes of a row: by default its gold solution. Raises NotConvertible."""
        return self.gold(task)

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether an annotation's answer is the gold one. By default as text, without case, spaces and a final dot."""
        return answer is not None and _plain(answer) == _plain(self.gold_answer(task))

    def facts(self, task: Task) -> str:
        """The text in which each result that a teacher extracts must be found; '' when nothing states them."""
        return ""

    def reference(self, task: Task) -> Reference | None:
        """The program that the answer must follow when numbers change; None where nothing determines one.

        By default the actions of `gold`, where they can be executed.
        """
        if self.check_level not in LEVELS[LEVELS.index("executed") :]:
            return None
        try:
            gold = self.gold(task)
        except NotConvertible:
            return None
        return Reference((tuple(action for step in gold.steps for action in step.actions),))

    def count_ambiguous(self, task: Task) -> int:
        """Operands of `gold` that were linked to an earlier result by their value alone, and might be another value."""
        return 0


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")
