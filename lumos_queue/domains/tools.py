"""The domain of documented APIs. Tasks contain their own functions, which the prompts of tool formulations describe."""

from __future__ import annotations

from lumos_queue.domains.base import Domain
from lumos_queue.records import Role

DOMAIN = Domain(
    name="tools",
    interface="lumos_queue.actions.tools.interface:ToolActions",
    session="lumos_queue.actions.tools.interface:ToolSession",
    functions=True,
    option_roles={"answers=simulated": Role.SIMULATOR},
    calls=False,  # actions are a name and a JSON object, not `R1 = Name(…)`
    ends_by_action=True,  # Finish
)
