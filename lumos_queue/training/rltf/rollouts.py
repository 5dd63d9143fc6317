"""The rollouts that are sent to the training process: prompts, replies and rewards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lumos_queue.errors import SpecError


@dataclass(frozen=True, slots=True)
class RolloutAsk:
    """One model call of an episode."""

    prompt: str
    reply: str
    ended: bool  #: whether the model ended the reply; False: the limit of tokens did
    constraint: Mapping[str, Any] | None = None  #: PlanConstraint.as_json
    logprob: float | None = None  #: of the reply when it was decoded; None where the endpoint does not report it


@dataclass(frozen=True, slots=True)
class RolloutEpisode:
    """One episode: the calls of the trained roles, and one reward for all these calls."""

    asks: tuple[RolloutAsk, ...]
    reward: float
    feasible: bool | None = None  #: whether its plan could run; None where this is not judged


@dataclass(frozen=True, slots=True)
class RolloutBatch:
    """The episodes that one optimizer step learns from, in the order of their items in the rollouts' job."""

    job: str
    episodes: tuple[RolloutEpisode, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RolloutBatch:
        """Return the batch whose `as_json` is `value`. Raises SpecError for a reward that is not a finite number."""
        episodes = []
        for number, episode in enumerate(value["episodes"], start=1):
            if not math.isfinite(episode["reward"]):
                raise SpecError(f"The reward of episode {number} of job {value['job']} is {episode['reward']}.")
            asks = tuple(RolloutAsk(**ask) for ask in episode["asks"])
            episodes.append(RolloutEpisode(asks, episode["reward"], episode["feasible"]))
        return cls(value["job"], tuple(episodes))
