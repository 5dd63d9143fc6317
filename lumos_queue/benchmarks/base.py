"""What every benchmark offers, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Action, Annotation, Execution, Score, Task


@dataclass(frozen=True, slots=True)
class Tried:
    """What an episode left behind, as far as it can be judged."""

    answer: str | None = None  #: the one that is judged; None where none is (limit.py)
    ending: str = "answered"
    seen: Sequence[tuple[Action, Execution]] = ()  #: its actions, in order; only where the answer alone is not judged
    vote: str | None = None  #: the judge's reply; '' where a judge is there and there was no answer to show
    tools: Mapping[str, str] = field(default_factory=dict)  #: the agent's tool options: where databases and shops lie


class Benchmark:
    """A set of tasks, the domain whose actions solve them, and a score. A new one is a subclass and `benchmark = …()`.

    Workers see stored tasks, not the file: what `score` and `gold` need is in the task.
    """

    name: str
    domain: str  #: the action interface and dialogue domain, e.g. 'maths'
    licence: str  #: of the data, as an SPDX id where there is one
    splits: tuple[str, ...]  #: the splits this benchmark can make or read; files come as one split, named by the user
    needs_data: bool = True  #: whether `read` needs a path
    metrics: tuple[str, ...] = ("accuracy",)  #: that `score` gives; the first is the main one (records.MAIN_METRICS)
    options: Mapping[str, str] = {}  #: what `read` can be told with --option NAME=VALUE, and what it means
    formulations: tuple[str, ...] = ()  #: that it can be tried with, none of which acts; empty: any
    slow: bool = False  #: whether `score` runs queries or reads files: it is then called in a thread
    by_answer: bool = True  #: whether the answer alone is judged, and not what was done
    yes_no: bool = False  #: whether every answer is yes or no
    artifacts: Mapping[str, Path] = {}  #: after `read`: sha256 of the images that its tasks name, and where they lie
    notes: Sequence[str] = ()  #: after `read`: what a person should know, e.g. how many rows have no image
    unjudged: str = (
        ""  #: after `read`: why its rows can be inferred on but not evaluated, e.g. a test set without answers
    )

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """The tasks in file order, or the reason why a row is none. Tasks come with `dataset=''`: the job fills it in.

        Raises SpecError when the file as a whole cannot be read (missing, not this format: the first difference named).
        """
        raise NotImplementedError

    def gold(self, task: Task) -> Annotation:
        """The gold solution in LUMOS form. Raises SpecError with a short named reason when the row states none."""
        raise SpecError(f"The benchmark '{self.name}' has no gold solutions in LUMOS form.")

    def score(self, task: Task, tried: Tried) -> Sequence[Score]:
        """Judge an episode: a score for each of `metrics`, in that order. In a thread where that is `slow`."""
        raise NotImplementedError

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        """What rules without a model get right: rule name to one verdict per task, or per trial of `Score.of`.

        A verdict may be a score from 0 to 1.
        """
        return {}

    def judge_prompt(self, task: Task, answer: str) -> str | None:
        """What the role `judge` is asked about an answer; None where no judge is needed. The reply is `Tried.vote`."""
        return None
