"""Report models that reasoned but gave no reply, with the remedy."""

from __future__ import annotations

from collections.abc import Collection

from db.engine.connection import Connection
from db.queries.empty_replies import EmptyReplies, count_empty_replies
from db.queue.stored_jobs import StoredJob
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.records import Role
from lumos_queue.reports.episode_figures import Problem


def empty_reply_problems(connection: Connection, job: StoredJob) -> list[Problem]:
    """Return, for each role with empty replies, a problem with the numbers of episodes and of empty replies.

    Its `ending` is '', because an empty reply is not a separate ending.
    """
    spec = job.spec.get("infer", job.spec)
    samplings = spec.get("agent", {}).get("samplings", {})
    return [
        Problem("", _describe(empty, samplings), empty.episodes, empty.replies)
        for empty in count_empty_replies(connection, job.id)
    ]


def _describe(empty: EmptyReplies, roles: Collection[str]) -> str:
    role = empty.role
    vote = ": no vote is stored" if role == Role.JUDGE else ""
    if not empty.is_cut:
        return f"the reply of the {role} ended within its reasoning{vote}"
    # --max-tokens applies to the agent's own roles only.
    option = f"--request {role}.max_tokens=N" if role in TOOL_ROLES and role not in roles else "--max-tokens"
    return f"all tokens of the reply of the {role} were reasoning{vote}; raise {option}"
