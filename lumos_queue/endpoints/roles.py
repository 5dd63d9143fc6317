"""The roles beside planner, grounder and solver, and how each is sampled."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.endpoints.base import Sampling

JUDGE = "judge"  #: says whether an answer is right; may be left out
_SHORT = Sampling(max_tokens=100, stop=())  #: as the original asked its question answering tool and its judge

#: Roles that actions, judges and captions need: never sampled at random, as only the agent is evaluated.
TOOL_ROLES = {
    "qa": _SHORT,
    "vqa": _SHORT,
    JUDGE: _SHORT,
    "captioner": Sampling(max_tokens=512, stop=()),
    "simulator": Sampling(max_tokens=1024, stop=()),  # plays an API (actions/tools/simulator.py)
}


def choose_sampling(role: str, samplings: Mapping[str, Sampling], common: Sampling) -> Sampling:
    """Return how a role is sampled: as its own entry in `samplings` says, as roles of tools are, or as all others."""
    return samplings.get(role) or TOOL_ROLES.get(role, common)
