"""The domain of functions that run locally. Tasks contain their documents. Prompts are as in the domain `tools`."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="local_tools",
    interface="lumos_queue.actions.local.interface:LocalToolActions",
    session="lumos_queue.actions.local.interface:LocalToolSession",
    functions=True,
    calls=False,  # actions are a name and a JSON object, not `R1 = Name(…)`
    ends_by_action=True,  # Finish
)
