"""The figures of episodes that all jobs except training have: endings, versions, calls, tokens, seconds, problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queries.results import messages
from db.queue.figures import calls_by_ending, code_versions, latency_by_role, prompt_heads, seconds_by_phase, totals
from lumos_queue.reports.json_values import MERGED, OPTIONAL
from lumos_queue.reports.totals import ModelUse, measure_use


@dataclass(frozen=True, slots=True)
class CodeVersion:
    """A version of the code, and the number of finished episodes that began with it."""

    code_version: str
    episodes: int


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """The digest of the first text of prompts, and the number of finished episodes with it."""

    prefix: str
    episodes: int


@dataclass(frozen=True, slots=True)
class CallSeconds:
    """Where the time of a mean model call goes, in seconds."""

    waited: float  #: in the worker
    lost: float  #: in failed tries
    seconds: float  #: at the server, with the time in its queue
    queued: float  #: in the server's queue


@dataclass(frozen=True, slots=True)
class EndedEpisodes:
    """The number of finished episodes with the same ending, subgoals and model calls."""

    ending: str
    subgoals: int
    calls: int
    episodes: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A message with which episodes ended, or which their replies gave rise to."""

    ending: str  #: '' for any ending
    message: str
    episodes: int
    replies: int | None = field(default=None, metadata=OPTIONAL)  #: empty replies; None for other problems


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """The figures of a job's finished episodes."""

    endings: Mapping[str, int]
    code_versions: Sequence[CodeVersion]  #: the most frequent first
    prompts: Mapping[str, Sequence[PromptVersion]]  #: by role, the most frequent first
    use: ModelUse = field(metadata=MERGED)  #: without what the job adopted
    phases: Mapping[str, float]  #: seconds by role, and those of actions
    latency: Mapping[str, CallSeconds]  #: by role
    calls_by_ending: Sequence[EndedEpisodes]
    problems: Sequence[Problem]


def measure_episodes(connection: Connection, job: str, endings: Mapping[str, int]) -> EpisodeFigures:
    """Return the figures of a job's episodes. `endings` are the counts of its episodes by ending."""
    latency = {role: means for role, _, means in latency_by_role(connection, job)}
    return EpisodeFigures(
        endings=endings,
        code_versions=[CodeVersion(*row) for row in code_versions(connection, job)],
        prompts={
            role: [PromptVersion(*head) for head in heads] for role, heads in prompt_heads(connection, job).items()
        },
        use=measure_use(totals(connection, job).totals),
        phases={name: round(seconds, 3) for name, seconds in seconds_by_phase(connection, job).items()},
        latency={
            role: CallSeconds(**{name: round(seconds, 6) for name, seconds in means.items()})
            for role, means in latency.items()
        },
        calls_by_ending=[EndedEpisodes(*row) for row in calls_by_ending(connection, job)],
        problems=[Problem(*row) for row in messages(connection, job)],
    )
