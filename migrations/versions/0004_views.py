"""Views for people's own queries (docs/queries.md).

A later revision that alters one of these tables in place (SQLite copies and renames it) drops the views first.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

#: In the order of their creation: later views read earlier ones. The database can skip a LEFT JOIN to rows that always
#: exist, or a subquery in place of a join, in a query that uses none of its columns.
VIEWS = {
    "v_models": """
        SELECT o.job, o.role, o.url, coalesce(o.identity ->> 'model', o.identity ->> 'model_id', o.url) AS model
        FROM job_endpoint o
        WHERE NOT EXISTS (SELECT 1 FROM job_endpoint l WHERE l.job = o.job AND l.role = o.role AND l.id > o.id)""",
    "v_scores": """
        SELECT s.episode AS episode_id, s.metric, s.version, s.value, s.detail
        FROM score s
        WHERE NOT EXISTS (
            SELECT 1 FROM score l WHERE l.episode = s.episode AND l.metric = s.metric AND l.version {c} > s.version)""",
    "v_episodes": """
        SELECT e.id AS episode_id, e.job || '-' || i.ordinal AS episode, e.job, i.ordinal, j.kind, j.benchmark, e.split,
            j.project, e.task AS task_id, t.row AS task_row, t.question, t.gold ->> 'answer' AS gold, e.sample,
            e.formulation, e.agent, e.origin, e.parent, e.level, e.licence, e.ending, e.answer, e.message,
            (SELECT s.value FROM score s WHERE s.episode = e.id AND s.metric IN ('accepted', 'accuracy', 'executed')
             ORDER BY s.metric, s.version {c} DESC LIMIT 1) AS score,
            (SELECT count(*) FROM subgoal g WHERE g.episode = e.id AND g.attempt = e.attempt) AS subgoals,
            e.calls, e.prompt_tokens, e.completion_tokens, e.seconds, e.finished_at
        FROM episode e
        LEFT JOIN item i ON i.id = e.id LEFT JOIN job j ON j.id = e.job LEFT JOIN task t ON t.id = e.task
        WHERE e.ending <> ''""",
    "v_subgoals": """
        SELECT s.episode AS episode_id, e.job, s.position, s.number, s.text
        FROM subgoal s JOIN episode e ON e.id = s.episode AND e.attempt = s.attempt
        WHERE e.ending <> ''""",
    "v_actions": """
        SELECT s.episode AS episode_id, e.job, s.position, s.branch, s.name, s.arguments, s.status, s.result,
            s.result_block, s.message, s.seconds
        FROM execution s JOIN episode e ON e.id = s.episode AND e.attempt = s.attempt
        WHERE e.ending <> ''""",
    "v_calls": """
        SELECT s.episode AS episode_id, e.job, s.attempt, CASE WHEN s.attempt = e.attempt THEN 1 ELSE 0 END AS accepted,
            s.position, s.branch, s.role, s.reply, s.finish_reason, s.prompt_tokens, s.completion_tokens, s.retries,
            s.seconds, s.waited, s.lost, s.queued
        FROM completion s JOIN episode e ON e.id = s.episode""",
    "v_steps": """
        SELECT episode_id, job, position, 0 AS branch, 'subgoal' AS kind, '' AS name, text, '' AS status, '' AS result
        FROM v_subgoals
        UNION ALL
        SELECT episode_id, job, position, branch, 'action', name, arguments, status, result FROM v_actions
        UNION ALL
        SELECT episode_id, job, position, branch, 'call', role, reply, finish_reason, '' FROM v_calls
        WHERE accepted = 1""",
    "v_verdicts": """
        SELECT episode AS episode_id, module, name, CASE WHEN rejects THEN 1 ELSE 0 END AS rejects, detail
        FROM verdict""",
    "v_labels": """
        SELECT n.episode AS episode_id, n.position, n.branch, n.value, n.note, n.labeller, n.audit, n.labelled_at
        FROM label n
        WHERE NOT EXISTS (
            SELECT 1 FROM label l
            WHERE l.episode = n.episode AND l.labeller = n.labeller AND l.id > n.id
                AND coalesce(l.position, -1) = coalesce(n.position, -1)
                AND coalesce(l.branch, -1) = coalesce(n.branch, -1)
        )""",
}


def upgrade() -> None:
    # Versions are compared byte by byte, as SQLite does by default.
    c = 'COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else ""
    for name, query in VIEWS.items():
        op.execute(sa.text(f"CREATE VIEW {name} AS {query.replace('{c}', c)}"))


def downgrade() -> None:
    for name in reversed(VIEWS):
        op.execute(sa.text(f"DROP VIEW {name}"))
