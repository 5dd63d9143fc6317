"""Calls of external tools, artifacts, and scores that are a mean over several trials.

Revision 0005, after 0004.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON()

_EPISODES = """
        SELECT e.id AS episode_id, e.job || '-' || i.ordinal AS episode, e.job, i.ordinal, j.kind, j.benchmark, e.split,
            j.project, e.task AS task_id, t.row AS task_row, t.question, t.gold ->> 'answer' AS gold, e.sample,
            e.formulation, e.agent, e.origin, e.parent, e.level, e.licence, e.ending, e.answer, e.message,
            (SELECT s.value FROM score s WHERE s.episode = e.id AND s.metric IN ({metrics})
             ORDER BY s.metric, s.version {c} DESC LIMIT 1) AS score,
            (SELECT count(*) FROM subgoal g WHERE g.episode = e.id AND g.attempt = e.attempt) AS subgoals,
            e.calls, e.prompt_tokens, e.completion_tokens, e.seconds, e.finished_at
        FROM episode e
        LEFT JOIN item i ON i.id = e.id LEFT JOIN job j ON j.id = e.job LEFT JOIN task t ON t.id = e.task
        WHERE e.ending <> ''"""
_SCORES = """
        SELECT s.episode AS episode_id, s.metric, s.version, s.value, {trials}s.detail
        FROM score s
        WHERE NOT EXISTS (
            SELECT 1 FROM score l WHERE l.episode = s.episode AND l.metric = s.metric AND l.version {c} > s.version)"""
_TOOL_CALLS = """
        SELECT s.episode AS episode_id, e.job, s.position, s.branch, s.tool, s.arguments, s.status, s.result,
            s.result_block, s.message, s.seconds
        FROM tool_call s JOIN episode e ON e.id = s.episode AND e.attempt = s.attempt
        WHERE e.ending <> ''"""
_BEFORE, _NOW = (
    "'accepted', 'accuracy', 'executed'",
    "'accepted', 'accuracy', 'exact_match', 'executed', 'reward', 'step_success', 'success'",
)


def upgrade() -> None:
    op.create_table(
        "tool_call",
        sa.Column("episode", KEY, autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("branch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("arguments", JSON, nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("result_block", sa.String(), nullable=True),
        sa.Column("outputs", JSON, nullable=True),
        sa.Column("outputs_block", sa.String(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("tool_call_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "attempt", "position", "branch", name=op.f("tool_call_pkey")),
    )
    op.create_index("tool_call_command_index", "tool_call", ["command"])
    op.create_table(
        "artifact",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("artifact_pkey")),
    )
    op.add_column("score", sa.Column("trials", sa.Integer(), nullable=False, server_default="1"))
    _views(_NOW, "s.trials, ")
    op.execute(sa.text(f"CREATE VIEW v_tool_calls AS {_TOOL_CALLS}"))


def downgrade() -> None:
    op.execute(sa.text("DROP VIEW v_tool_calls"))
    _views(_BEFORE, "")
    op.drop_column("score", "trials")
    op.drop_table("artifact")
    op.drop_index("tool_call_command_index", "tool_call")
    op.drop_table("tool_call")


def _views(metrics: str, trials: str) -> None:
    c = 'COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else ""
    for name, query in (("v_episodes", _EPISODES), ("v_scores", _SCORES)):
        op.execute(sa.text(f"DROP VIEW {name}"))
        op.execute(sa.text(f"CREATE VIEW {name} AS {query.format(c=c, metrics=metrics, trials=trials)}"))
