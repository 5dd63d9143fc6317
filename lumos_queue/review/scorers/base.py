"""Scorers: functions that judge a stored episode, with a name, a version and metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from db.queries.trajectories import StoredEpisode
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError
from lumos_queue.records import Score

_METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
#: A number from 0 to 1 (also True and False) is the score by the scorer's first metric; a mapping has scores by
#: metric; None means that the scorer does not apply to the episode.
Judgement = float | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer, which judges stored episodes by metrics.

    >>> import lumos_queue as lq
    >>> short = lq.Scorer("short", lambda episode: len(episode.answer or "") < 20)
    >>> job = lq.infer("wordmath", formulation="direct", solver=lambda prompt: "7", limit=5).wait()
    >>> job.score(short).episodes
    5
    """

    name: str
    judge: Callable[[StoredEpisode], Judgement]
    version: str = "1"  #: changes with the code: of several versions of a metric, the newest counts
    metrics: tuple[str, ...] = ()  #: names of its metrics; (): the name of the scorer
    for_job: Callable[[StoredJob], Scorer] | None = None  #: returns the scorer of a job, if it depends on the job
    is_remade: bool = False  #: whether the run may have stored its metrics in an earlier version

    def __post_init__(self) -> None:
        """Raise SpecError for a name that filters cannot contain, and for a version that cannot be compared."""
        if isinstance(self.metrics, str):
            raise SpecError(f"The metrics of a scorer are '{self.metrics[:80]}': expected a tuple of names.")
        if not isinstance(self.version, str) or not self.version.isprintable():
            raise SpecError(f"The version of a scorer is {self.version!r:.80}: expected a text such as '1'.")
        for metric in self.names:
            if not _METRIC.fullmatch(metric):
                raise SpecError(f"The metric '{metric[:80]}' of a scorer is expected to be a name such as exact_match.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scorer's metrics."""
        return self.metrics or (self.name,)

    def __call__(self, episode: StoredEpisode) -> Judgement:
        return self.judge(episode)

    def score(self, episode: StoredEpisode) -> tuple[Score, ...]:
        """Return the scores of an episode; () if the scorer does not apply. Raises SpecError if the scorer fails."""
        try:
            judgement = self.judge(episode)
            if judgement is None:
                return ()
            values = judgement if isinstance(judgement, Mapping) else {self.names[0]: judgement}
            if unknown := values.keys() - set(self.names):
                raise ValueError(f"the metric '{min(unknown)}' is not one of {', '.join(self.names)}")
            return tuple(Score(name, float(value), self.version) for name, value in values.items())
        except Exception as error:  # third-party code can raise any exception
            problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise SpecError(f"The scorer '{self.name}' failed on episode {episode.name}: {problem}") from error


def scorer(
    name: str = "", *, version: str = "1", metrics: tuple[str, ...] = ()
) -> Callable[[Callable[[StoredEpisode], Judgement]], Scorer]:
    """Return a decorator that turns a function of a stored episode into a scorer, by default with the function's name.

    >>> import lumos_queue as lq
    >>> @lq.scorer(version="1")
    ... def short(episode):
    ...     return len(episode.answer or "") < 20
    >>> short.names
    ('short',)
    """

    def make(judge: Callable[[StoredEpisode], Judgement]) -> Scorer:
        return Scorer(name or judge.__name__, judge, version, metrics)

    return make
