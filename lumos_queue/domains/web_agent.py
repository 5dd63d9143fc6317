"""Tasks on recorded web pages."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="web_agent",
    interface="lumos_queue.actions.web.interface:WebActions",
    session="lumos_queue.actions.web.interface:WebSession",
    action_names=("CLICK", "TYPE", "SELECT"),
    reports="done",
    max_subgoals=20,
    # spec/lumos.md 1.4, verbatim
    published_actions=(
        "The available action list is 'CLICK', 'TYPE', 'SELECT'.\n"
        "CLICK(Env, Query): Click the relevant html region in Env according to Query; "
        "TYPE(Env, Query, Text): Type Text into the relevant html region in Env according to Query; "
        "SELECT(Env, Query, Text): Select the value Text of the relevant selection box in Env according to Query.\n\n"
    ),
)
