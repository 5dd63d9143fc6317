"""The roles other than planner, grounder and solver, and the sampling of each role."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.endpoints.base import Sampling
from lumos_queue.records import Role

_SHORT = Sampling(max_tokens=100, stop=())  #: as for the original's question answering tool and judge

#: Roles of actions, judges and captions. They are greedy, because only the agent is evaluated.
TOOL_ROLES: dict[str, Sampling] = {
    Role.QA: _SHORT,
    Role.VQA: _SHORT,
    Role.JUDGE: _SHORT,
    Role.PARSER: _SHORT,
    Role.CAPTIONER: Sampling(max_tokens=512, stop=()),
    Role.SIMULATOR: Sampling(max_tokens=1024, stop=()),
    # experts that a chat model plays (experts/backends/chat.py)
    "expert-sentiment-analysis": Sampling(max_tokens=16, stop=()),
    "expert-text-summarization": Sampling(max_tokens=200, stop=()),
    "expert-machine-translation": Sampling(max_tokens=512, stop=()),
    "expert-fill-mask": Sampling(max_tokens=32, stop=()),
    "expert-question-answering": Sampling(max_tokens=64, stop=()),
    "expert-text-generation": Sampling(max_tokens=100, stop=()),
    "expert-image-captioning": Sampling(max_tokens=64, stop=()),
    "expert-visual-question-answering": Sampling(max_tokens=32, stop=()),
}


def choose_sampling(role: str, samplings: Mapping[str, Sampling], common: Sampling) -> Sampling:
    """Return the sampling of a role: its entry in `samplings`, else its entry in TOOL_ROLES, else `common`."""
    return samplings.get(role) or TOOL_ROLES.get(role, common)
