"""What every action interface offers, on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lumos_queue.records import Action, Execution


class ActionInterface(Protocol):
    """The actions of one domain. Stateless: an episode's variables are handed in with every call."""

    domain: str  #: names the dialogue's domain, e.g. 'maths'

    async def execute(self, action: Action, variables: Mapping[str, Mapping[str, Any]]) -> Execution:
        """Run one action. `variables` maps `R1` to the JSON value of the execution that set it.

        Never raises on account of the action's text: what the model did wrong is in the execution's status.
        """
        ...

    async def close(self) -> None:
        """End the helper processes this interface started."""
        ...
