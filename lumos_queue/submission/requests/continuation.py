"""The requests that continue stored episodes: `lumos rollouts`, `lumos blame` and `lumos reground`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lumos_queue.records import Role
from lumos_queue.submission.requests import shared_options as shared
from lumos_queue.submission.requests.option import Option

Where = Annotated[str, Option("Which episodes: as for lumos episodes (docs/queries.md).", metavar="FILTER")]


@dataclass(frozen=True, slots=True)
class RolloutsRequest:
    """The request of `lumos rollouts`."""

    where: Where = ""
    at: Annotated[str, Option("each: from every prefix; last: from all subgoals.")] = "each"
    unsettled: Annotated[bool, Option("Only prefixes not yet right by gold.")] = False
    agent: shared.AgentName = ""
    planner: shared.Planner = ""
    grounder: shared.Grounder = ""
    samples: shared.Samples = 4
    seed: shared.Seed = 0
    temperature: shared.Temperature = 0.7
    top_p: shared.TopP = 1.0
    max_tokens: shared.MaxTokens = 512
    max_subgoals: shared.MaxSubgoals = 0
    framing: shared.Framing = "train"
    roles: shared.Roles = ()
    tools: shared.ToolOptions = ()
    at_limit: shared.AtLimit = ""

    @property
    def models(self) -> dict[str, str]:
        """The endpoint of each role that the formulation asks; '' for none."""
        return {Role.PLANNER: self.planner, Role.GROUNDER: self.grounder}


@dataclass(frozen=True, slots=True)
class BlameRequest:
    """The request of `lumos blame`."""

    where: Where = ""
    agent: shared.AgentName = ""
    planner: shared.Planner = ""
    grounder: shared.Grounder = ""
    samples: shared.Samples = 1
    seed: shared.Seed = 0
    temperature: shared.Temperature = 0.0
    top_p: shared.TopP = 1.0
    max_tokens: shared.MaxTokens = 512
    max_subgoals: shared.MaxSubgoals = 0
    framing: shared.Framing = "train"
    roles: shared.Roles = ()
    tools: shared.ToolOptions = ()
    at_limit: shared.AtLimit = ""

    @property
    def models(self) -> dict[str, str]:
        """The endpoint of each role that the formulation asks; '' for none."""
        return {Role.PLANNER: self.planner, Role.GROUNDER: self.grounder}


@dataclass(frozen=True, slots=True)
class RegroundRequest:
    """The request of `lumos reground`."""

    where: Where = ""
    agent: shared.AgentName = ""
    grounder: shared.Grounder = ""
    samples: shared.Samples = 1
    seed: shared.Seed = 0
    temperature: shared.Temperature = 0.0
    top_p: shared.TopP = 1.0
    max_tokens: shared.MaxTokens = 512
    max_subgoals: shared.MaxSubgoals = 0
    framing: shared.Framing = "train"
    roles: shared.Roles = ()
    tools: shared.ToolOptions = ()
    at_limit: shared.AtLimit = ""

    @property
    def models(self) -> dict[str, str]:
        """The endpoint of each role that the formulation asks; '' for none."""
        return {Role.GROUNDER: self.grounder}


ContinuationRequest = RolloutsRequest | BlameRequest | RegroundRequest
